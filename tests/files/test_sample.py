import numpy as np
import pyarrow as pa
import pytest

from unsculpt.files import read_sample, scan

SOURCE = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}


@pytest.fixture
def events(flat, save):
    return scan(save(flat, "a.parquet"))


def test_background_and_the_rest(events, flat):
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


def test_signal_alone_says_what_background_is(events, flat):
    sample = read_sample(events, SOURCE | {"background": None, "signal": "label == 1"})
    np.testing.assert_array_equal(sample.label, flat["label"])


def test_without_conditions_all_is_background(events):
    assert not read_sample(events, SOURCE | {"background": None}).label.any()


def test_lists_become_jets(jets, save):
    source = {"score": ["tagger"], "protected": ["mass", "run"], "background": "mass > 75"}
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
        ({"background": "label"}, "'label' gives int64; expected a condition such as label == 0"),
        ({"signal": "label < 1"}, "some events are background, 'label == 0', as well as signal"),
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
    source = SOURCE | {"background": None}
    with pytest.raises(
        ValueError, match=r"tagger is NaN or infinite in 2 of 4 events; .*--nan drop"
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
    with pytest.raises(ValueError, match="tagger holds text such as 'high'; expected numbers"):
        read_sample(events, SOURCE | {"background": None})


def test_lists_of_different_length(save):
    table = pa.table({"tagger": [[0.1, 0.2]], "mass": [[1.0]]})
    with pytest.raises(ValueError, match="the lists of an event differ in length"):
        read_sample(scan(save(table, "a.parquet")), SOURCE | {"background": None})


def test_lists_of_lists(save):
    table = pa.table({"tagger": [[[0.1, 0.2]]], "mass": [[[1.0, 2.0]]]})
    with pytest.raises(ValueError, match="a column holds records or lists of lists"):
        read_sample(scan(save(table, "a.parquet")), SOURCE | {"background": None})


def test_an_empty_file(flat, save):
    with pytest.raises(ValueError, match="no background is left of 0 rows"):
        read_sample(scan(save(flat[:0], "a.parquet")), SOURCE)
