import warnings

import awkward as ak
import numpy as np
import pyarrow as pa
import pytest
import uproot

from unsculpt.files import apply, scan

ALL = ["a.root", "a.parquet", "a.arrow", "a.h5", "a.csv", "a.npz"]


def read(name):
    return pa.concat_tables(scan(name).chunks())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("output", ["b.root", "b.parquet", "b.npz"])
def test_adds_a_column_and_keeps_the_others(name, output, product, flat, save, tmp_path):
    done = apply(product, scan(save(flat, name)), tmp_path / output)
    table = read(tmp_path / output)
    for column in flat.column_names:
        if (name, column) == ("a.csv", "tagger"):  # digits of a float32
            np.testing.assert_allclose(table[column], flat[column], rtol=1e-7)
        else:
            assert table[column].to_pylist() == flat[column].to_pylist()
    expected = flat["tagger"].to_numpy().astype(float) * flat["mass"].to_numpy()
    np.testing.assert_allclose(table["tagger_flat"], expected, rtol=1e-7)
    assert (done.rows, done.scores, done.missing) == (10, 10, 0)
    assert done.columns == ["tagger_flat"]
    assert done.files == [str(tmp_path / output)]


def test_a_link_to_itself_is_replaced(product, flat, save, tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    apply(product, scan(save(flat, "a.csv")), tmp_path / "loop.csv")
    assert len(read(tmp_path / "loop.csv")) == 10


@pytest.mark.parametrize("name", ["a.root", "a.parquet", "a.arrow"])
def test_lists_come_back_with_their_offsets(name, product, jets, save, tmp_path):
    output = tmp_path / f"out-{name}"
    done = apply(product, scan(save(jets, name)), output)
    table = read(output)
    expected = ak.Array(jets["mass"].to_pylist()) * ak.Array(jets["tagger"].to_pylist())
    assert table["tagger_flat"].to_pylist() == expected.to_list()
    assert (done.rows, done.scores) == (5, 6)


def test_root_reads_the_lists(product, jets, save, tmp_path):
    apply(product, scan(save(jets, "a.parquet")), tmp_path / "b.root:Jets")
    tree = uproot.open(tmp_path / "b.root")["Jets"]
    assert tree["ntagger_flat"].array().to_list() == [2, 0, 1, 3, 0]
    assert tree["tagger_flat"].array()[3].tolist() == [30.0, 70.0, 82.5]


def test_many_files_into_one_and_into_a_folder(product, flat, save, tmp_path):
    save(flat[:4], "1.parquet"), save(flat[4:], "2.parquet")
    events = scan(tmp_path / "*.parquet")
    apply(product, events, tmp_path / "all.npz")
    assert read(tmp_path / "all.npz")["event"].to_pylist() == flat["event"].to_pylist()
    done = apply(product, events, f"{tmp_path}/folder/")
    assert done.files == [str(tmp_path / "folder" / f"{i}.parquet") for i in (1, 2)]
    assert read(tmp_path / "folder/2.parquet")["mass"].to_pylist() == flat["mass"][4:].to_pylist()
    assert done.rows == 10


def test_chunks_make_no_difference(product, save, tmp_path, monkeypatch):
    monkeypatch.setattr("unsculpt.files.stream.CHUNK_ROWS", 1024)
    rng = np.random.default_rng(0)
    table = pa.table({"tagger": rng.uniform(size=5000), "mass": rng.uniform(60, 290, 5000)})
    apply(product, scan(save(table, "a.parquet")), tmp_path / "b.parquet")
    out = read(tmp_path / "b.parquet")
    expected = table["tagger"].to_numpy() * table["mass"].to_numpy()
    np.testing.assert_array_equal(out["tagger_flat"], expected)
    np.testing.assert_array_equal(out["mass"], table["mass"])


def test_nan_policy(product, save, tmp_path):
    table = pa.table({"tagger": [0.5, np.nan, 0.25], "mass": [80.0, 90.0, np.inf]})
    events = scan(save(table, "a.parquet"))
    with pytest.raises(ValueError, match="tagger and mass are NaN or infinite in 2 of 3 events"):
        apply(product, events, tmp_path / "b.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    done = apply(product, events, tmp_path / "b.parquet", nan="keep")
    np.testing.assert_array_equal(read(tmp_path / "b.parquet")["tagger_flat"], [40, np.nan, np.nan])
    assert done.missing == 2


def test_outside_is_counted_over_all_chunks(product, save, tmp_path, monkeypatch):
    monkeypatch.setattr("unsculpt.files.stream.CHUNK_ROWS", 1024)
    table = pa.table({"tagger": np.full(3000, 0.5), "mass": np.linspace(60, 400, 3000)})
    events = scan(save(table, "a.parquet"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = apply(product, events, tmp_path / "b.parquet")
    assert done.outside == {"mass": int(np.sum(np.linspace(60, 400, 3000) > 300))}


def test_columns_called_otherwise_here(product, flat, save, tmp_path):
    table = flat.rename_columns({"mass": "m_jet", "tagger": "dnn"})
    events = scan(save(table, "a.parquet"))
    message = "takes tagger as score and mass as protected: in 'tagger': there is no column"
    with pytest.raises(ValueError, match=message):
        apply(product, events, tmp_path / "b.parquet")
    source = {"score": ["dnn"], "protected": ["m_jet"]}
    apply(product, events, tmp_path / "b.parquet", source=source, names=["flat"])
    np.testing.assert_allclose(
        read(tmp_path / "b.parquet")["flat"],
        flat["tagger"].to_numpy().astype(float) * flat["mass"].to_numpy(),
    )


def test_a_model_of_arrays_has_to_be_told(product, flat, save, tmp_path):
    product.source_ = None
    events = scan(save(flat, "a.parquet"))
    with pytest.raises(ValueError, match="the model was fitted on arrays and knows no columns"):
        apply(product, events, tmp_path / "b.parquet")
    apply(
        product, events, tmp_path / "b.parquet", source={"score": ["tagger"], "protected": ["mass"]}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": [""]}, "a new column has an empty name"),
        ({"names": ["mass"]}, "the events have a column mass already"),
        ({"names": ["a", "b"]}, "got the names a, b for 1 new column; expected as many"),
    ],
)
def test_names_that_do_not_fit(options, message, product, flat, save, tmp_path):
    with pytest.raises(ValueError, match=message):
        apply(product, scan(save(flat, "a.parquet")), tmp_path / "b.parquet", **options)


def test_never_over_its_input(product, flat, save, tmp_path):
    path = save(flat, "a.parquet")
    for output in (path, tmp_path):
        with pytest.raises(ValueError, match=r"a.parquet is read from; write to another"):
            apply(product, scan(path), output)


def test_a_mistake_is_in_a_file(product, flat, save, tmp_path):
    save(flat, "1.parquet")
    text = flat["tagger"].cast(pa.string())
    save(flat.set_column(flat.column_names.index("tagger"), "tagger", text), "2.parquet")
    with pytest.raises(ValueError, match=r"2\.parquet: tagger is text; expected numbers"):
        apply(product, scan(tmp_path / "*.parquet"), f"{tmp_path}/folder/")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["1.parquet"]


def test_text_among_numbers_is_shown_with_its_row(product, flat, save, tmp_path):
    for name in ("tagger", "mass"):
        words = flat[name].cast(pa.string()).to_pylist()
        stray = pa.array([*words[:6], "-", *words[7:]])
        path = save(flat.set_column(flat.column_names.index(name), name, stray), f"{name}.parquet")
        message = rf"{name} is text; .*; {name} is '-' in row 7 of {name}\.parquet, a number"
        with pytest.raises(ValueError, match=message):
            apply(product, scan(path), tmp_path / "b.parquet")
    # Who said so has categories of any text, "1" and "other" among them.
    product.source_ = product.source_ | {"categorical": ["mass"]}
    with pytest.raises(ValueError, match=r"mass\.parquet: (?!mass is text)"):
        apply(product, scan(path), tmp_path / "b.parquet")


def test_a_mistake_is_in_the_output(product, flat, save, tmp_path):
    with pytest.raises(ValueError, match=rf"^{tmp_path}/b\.xyz should end in"):
        apply(product, scan(save(flat, "a.parquet")), tmp_path / "b.xyz")


def test_two_files_of_one_name(product, flat, save, tmp_path):
    (tmp_path / "1").mkdir(), (tmp_path / "2").mkdir()
    names = save(flat, "1/a.parquet"), save(flat, "2/a.parquet")
    with pytest.raises(ValueError, match=r"2 of the files are called a.parquet"):
        apply(product, scan(*names), f"{tmp_path}/out/")


def test_an_error_on_the_way_leaves_nothing(product, flat, save, tmp_path, monkeypatch):
    def fail(self, scores, protected):
        raise RuntimeError("broken")

    path = save(flat, "a.parquet")
    monkeypatch.setattr(type(product), "transform", fail)
    with pytest.raises(RuntimeError, match="broken"):
        apply(product, scan(path), tmp_path / "b.root")
    assert list(tmp_path.iterdir()) == [path]
