import numpy as np
import pyarrow as pa
import pytest

from unsculpt.files import read_sample, scan, scan_samples

SOURCE = {"score": ["tagger"], "protected": ["mass"]}
SOURCE |= {"background": "label == 0", "signal": "label == 1"}
ALL = {"background": None, "signal": None}


@pytest.fixture
def events(flat, save):
    return scan(save(flat, "a.parquet"))


def test_background_and_signal(events, flat):
    sample = read_sample(events, SOURCE)
    np.testing.assert_array_equal(sample.label, flat["label"])
    np.testing.assert_array_equal(sample.scores, flat["tagger"])
    np.testing.assert_array_equal(sample.protected["mass"], flat["mass"])
    assert (sample.weight, sample.rows, sample.dropped) == (None, 10, 0)


def test_expressions_weights_and_a_third_class(events, flat):
    source = {
        "score": ["log(tagger)", "tagger"],
        "protected": ["mass / 1000", "label"],
        "background": "mass < 100",
        "signal": "mass > 200",
        "weight": "tagger + 1",
    }
    sample = read_sample(events, source)
    mass, tagger = flat["mass"].to_numpy(), flat["tagger"].to_numpy().astype(float)
    kept = (mass < 100) | (mass > 200)
    np.testing.assert_array_equal(sample.scores, np.column_stack([np.log(tagger), tagger])[kept])
    assert sample.protected.columns == ["mass / 1000", "label"]
    np.testing.assert_array_equal(sample.protected["mass / 1000"], mass[kept] / 1000)
    np.testing.assert_array_equal(sample.label, mass[kept] > 200)
    np.testing.assert_array_equal(sample.weight, tagger[kept] + 1)
    some = sample[sample.label == 0]
    np.testing.assert_array_equal(some.protected["mass / 1000"], mass[mass < 100] / 1000)
    assert len(some.weight) == len(some.scores)


def test_only_what_is_named_is_signal(events, flat):
    sample = read_sample(events, SOURCE | {"signal": None})
    background = int(np.sum(flat["label"].to_numpy() == 0))
    assert (sample.label.tolist(), sample.others) == ([0] * background, 10 - background)
    with pytest.raises(ValueError, match="signal is named but background is not"):
        read_sample(events, SOURCE | {"background": None})


def test_a_selection_holds_for_all(events, flat):
    sample = read_sample(events, SOURCE | {"selection": "mass > 150"})
    heavy = flat["mass"].to_numpy() > 150
    np.testing.assert_array_equal(sample.label, flat["label"].to_numpy()[heavy])
    assert sample.others == np.sum(~heavy)


def test_samples_by_file(flat, save, tmp_path):
    files = [save(flat[: 2 + i], f"{name}.parquet") for i, name in enumerate(("qcd", "w", "top"))]
    source = SOURCE | ALL | {"background_files": [files[0]], "signal_files": [f"{tmp_path}/w.*"]}
    sample = read_sample(scan(*files), source)
    assert (sample.label.tolist(), sample.others) == ([0] * 2 + [1] * 3, 4)
    by_name = {"background": "file == 'qcd.parquet'", "signal": "file in ('w.parquet', 'x')"}
    again = read_sample(scan(*files), SOURCE | by_name)
    assert again.scores.tolist() == sample.scores.tolist()
    assert again.label.tolist() == sample.label.tolist()
    # A condition holds in its files alone.
    both = source | {"background": "label == 0", "signal": "label == label"}
    label = flat["label"].to_numpy()
    assert (read_sample(scan(*files), both).label == 0).sum() == np.sum(label[:2] == 0)


def test_a_column_called_file_is_that_column(save):
    table = pa.table({"tagger": [0.1, 0.2], "mass": [1.0, 2.0], "file": [0, 1]})
    events = scan(save(table, "a.parquet"))
    assert read_sample(events, SOURCE | ALL | {"background": "file == 1"}).others == 1


def test_each_file_once_and_in_one_sample(flat, save):
    qcd, w, top = (save(flat, f"{name}.parquet") for name in ("qcd", "w", "top"))
    assert scan_samples([qcd, w], [], [w]).rows == 20
    assert scan_samples([], [qcd], [w]).rows == 20
    with pytest.raises(ValueError, match=r"w.parquet is named as a file of background as well"):
        scan_samples([], [qcd, w], [w])
    with pytest.raises(ValueError, match=r"top.parquet is named neither .* patterns in quotes"):
        scan_samples([top], [qcd], [w])
    with pytest.raises(ValueError, match="no file is named"):
        scan_samples([])


@pytest.mark.parametrize("kind", ["numbers", "text", "conditions"])
def test_a_missing_label_is_neither_signal_nor_background(kind, save):
    labels, conditions = {
        "numbers": ([0, 1, None, 0], ("label != 1", "not label == 0")),
        "text": (["b", "s", None, "b"], ("label not in ('s', 't')", "label != 'b'")),
        "conditions": ([True, False, None, True], ("label", "not label")),
    }[kind]
    table = pa.table({"tagger": [0.1, 0.2, 0.3, 0.4], "mass": [1.0] * 4, "label": labels})
    events = scan(save(table, "a.parquet"))
    source = SOURCE | dict(zip(("background", "signal"), conditions, strict=True))
    with pytest.raises(ValueError, match=r"is not known in 1 events, .* in row 3 of .*a.parquet"):
        read_sample(events, source)
    sample = read_sample(events, source, nan="drop")
    assert (sample.label.tolist(), sample.dropped) == ([0, 1, 0], 1)
    # Who is not selected need not be known.
    assert read_sample(events, source | {"selection": "tagger != 0.3"}).others == 1


def test_stray_text_in_a_column_of_numbers(tmp_path):
    rows = [f"0.{i},{i}" for i in range(1, 100)]
    rows[41] = "0.5,-"
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["tagger,mass", *rows, ""]))
    with pytest.raises(ValueError, match=r"mass is '-' in row 42 of .*a.csv, a number in most"):
        read_sample(scan(path), SOURCE | ALL)
    with pytest.raises(ValueError, match=r"mass is '-' in row 42 of .*a.csv"):
        read_sample(scan(path), SOURCE | ALL | {"score": ["mass"], "protected": ["tagger"]})
    with pytest.raises(ValueError, match=r"'mass / 2' cannot be .* '-' in row 42 of a.csv, a num"):
        read_sample(scan(path), SOURCE | ALL | {"protected": ["mass / 2"]})
    with pytest.raises(ValueError, match=r"compared with a number; mass is '-' in row 42 of a"):
        read_sample(scan(path), SOURCE | ALL | {"protected": ["tagger"], "selection": "mass > 2"})


def test_text_has_few_values(save):
    table = pa.table({"tagger": np.arange(60.0), "mass": [f"m{i}" for i in range(60)]})
    events = scan(save(table, "a.parquet"))
    with pytest.raises(
        ValueError, match=r"more than 50 values, 'm50' in row 51 of .*--categorical"
    ):
        read_sample(events, SOURCE | ALL)
    chosen = read_sample(events, SOURCE | ALL | {"categorical": ["mass"]})
    assert len(set(chosen.protected["mass"])) == 60


def test_beyond_all_numbers(save):
    table = pa.table({"tagger": [0.1, 0.2, 0.3], "mass": [1.0, 1e200, 2.0]})
    events = scan(save(table, "a.parquet"))
    with pytest.raises(ValueError, match=r"mass is NaN or infinite in 1 of 3 .*1e\+150"):
        read_sample(events, SOURCE | ALL)
    assert read_sample(events, SOURCE | ALL, nan="drop").dropped == 1


def test_a_missing_category_is_no_number(save):
    table = pa.table({"tagger": [0.1, 0.2, 0.3], "mass": ["ee", None, "mm"]})
    with pytest.raises(ValueError, match="mass is missing in 1 of 3 events; repair them"):
        read_sample(scan(save(table, "a.parquet")), SOURCE | ALL)


def test_without_conditions_all_is_background(events):
    assert not read_sample(events, SOURCE | ALL).label.any()


def test_lists_become_jets(jets, save):
    source = {"score": ["tagger"], "protected": ["mass", "run"], "background": "mass > 75"}
    source["signal"] = "mass <= 75"
    sample = read_sample(scan(save(jets, "a.root")), source)
    assert sample.protected["run"].tolist() == [1, 1, 2, 2, 2, 2]
    assert sample.protected["mass"].tolist() == [80, 90, 100, 60, 70, 110]
    assert sample.label.tolist() == [0, 0, 0, 1, 1, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"background": "label == 5"},
            "no background is left of 10 rows: 'label == 5' holds for none",
        ),
        (
            {"selection": "mass > 1e9"},
            "no background is left of 10 rows: 'label == 0' and 'mass > 1e9' hold for none",
        ),
        ({"background": "label"}, "'label' gives int64; expected a condition such as label == 0"),
        ({"signal": "label < 1"}, "are background as well as signal, by 'label == 0' and"),
        ({"score": ["taggr"]}, "no column 'taggr'; did you mean 'tagger'"),
        (
            {"weight": "log(mass - 1000)"},
            r"log\(mass - 1000\) is NaN or infinite in 10 of 10 events",
        ),
    ],
)
def test_mistakes(change, message, events):
    with pytest.raises(ValueError, match=message):
        read_sample(events, SOURCE | change)


def test_nan_is_counted(save):
    table = pa.table({"tagger": [0.1, np.nan, np.inf, 0.4], "mass": [1.0, 2.0, 3.0, np.nan]})
    events = scan(save(table, "a.parquet"))
    source = SOURCE | ALL
    with pytest.raises(
        ValueError, match=r"tagger is NaN or infinite in 2 of 4 events .*--nan drop"
    ):
        read_sample(events, source)
    sample = read_sample(events, source, nan="drop")
    assert sample.scores.tolist() == [0.1]
    assert sample.dropped == 3
    events = scan(save(table[1:], "b.parquet"))
    with pytest.raises(
        ValueError,
        match=r"no background is left of 3 rows: tagger or mass is NaN .* in all 3 of it",
    ):
        read_sample(events, source, nan="drop")


def test_text_is_no_score(save):
    events = scan(save(pa.table({"tagger": ["high"], "mass": [1.0]}), "a.parquet"))
    with pytest.raises(ValueError, match=r"tagger is 'high' in row 1 of .*; expected numbers"):
        read_sample(events, SOURCE | ALL)


def test_lists_of_different_length(save):
    table = pa.table({"tagger": [[0.1, 0.2]], "mass": [[1.0]]})
    with pytest.raises(ValueError, match="the lists of an event differ in length"):
        read_sample(scan(save(table, "a.parquet")), SOURCE | ALL)


def test_a_list_is_no_condition(jets, save):
    events = scan(save(jets, "a.root"))
    with pytest.raises(ValueError, match="'mass' gives records or lists; expected a condition"):
        read_sample(events, SOURCE | {"background": "mass", "signal": None})


def test_lists_of_lists(save):
    table = pa.table({"tagger": [[[0.1, 0.2]]], "mass": [[[1.0, 2.0]]]})
    with pytest.raises(ValueError, match="a column holds records or lists of lists"):
        read_sample(scan(save(table, "a.parquet")), SOURCE | ALL)


def test_an_empty_file(flat, save):
    with pytest.raises(ValueError, match="no background is left of 0 rows"):
        read_sample(scan(save(flat[:0], "a.parquet")), SOURCE)
