import os

import numpy as np
import pyarrow as pa
import pytest

from unsculpt.files import scan
from unsculpt.files.location import Location, locate
from unsculpt.files.prefetch import prefetch


@pytest.mark.parametrize(
    ("text", "path", "inside"),
    [
        ("a.root", "a.root", ""),
        ("a.root:Events", "a.root", "Events"),
        ("data/a.root:dir/Events", "data/a.root", "dir/Events"),
        ("run*.root:Events", "run*.root", "Events"),
        ("folder:with/colon", "folder:with/colon", ""),
    ],
)
def test_names(text, path, inside):
    location = Location.parse(text)
    assert (str(location.path), location.inside) == (path, inside)
    assert str(location) == text


def test_a_file_may_have_a_colon_in_its_name(tmp_path):
    (tmp_path / "a.root:1").touch()
    assert Location.parse(tmp_path / "a.root:1").inside == ""


def test_patterns_are_sorted_and_order_is_kept(tmp_path):
    for name in ("b.csv", "a.csv", "z.csv", "c[1].csv"):
        (tmp_path / name).touch()
    found = locate(tmp_path / "z.csv", tmp_path / "[ab].csv", tmp_path / "c[1].csv")
    assert [location.path.name for location in found] == ["z.csv", "a.csv", "b.csv", "c[1].csv"]
    with pytest.raises(FileNotFoundError, match=r"no file matches .*x\*.csv"):
        locate(tmp_path / "x*.csv")
    with pytest.raises(ValueError, match="no file is named"):
        locate()


def test_a_file_counts_once(tmp_path):
    for name in ("a.root", "b.root"):
        (tmp_path / name).touch()
    (tmp_path / "link.root").symlink_to(tmp_path / "a.root")
    a, b = tmp_path / "a.root", tmp_path / "b.root"
    assert len(locate(a, b)) == len(locate(f"{a}:Jets", f"{a}:Events")) == 2
    for names in (
        (a, a),
        (tmp_path / "[ab].root", b),
        (a, tmp_path / "link.root"),
        (f"{a}:Events", f"{a}:Events"),
        (f"{a}:Events", a),
        (a, f"{a}:Events"),
    ):
        with pytest.raises(
            ValueError, match=r"\.root.* is named twice, and its events would count"
        ):
            locate(*names)


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"a.csv is a pipe or a device"):
        scan(tmp_path / "a.csv")


def test_many_files_are_one_stream(flat, save, tmp_path):
    save(flat[:3], "1.parquet"), save(flat[3:], "2.root"), save(flat, "3.npz")
    stream = scan(tmp_path / "1.parquet", tmp_path / "2.root", tmp_path / "3.npz")
    assert stream.rows == 20
    table = pa.concat_tables(stream.chunks(["mass", "event"]))
    assert table.to_pylist() == [*flat.select(["mass", "event"]).to_pylist()] * 2


def test_numbers_of_different_kinds_fit_together(save, tmp_path):
    save(pa.table({"x": pa.array([1, 2], pa.int32())}), "1.parquet")
    save(pa.table({"x": pa.array([0.5])}), "2.parquet")
    table = pa.concat_tables(scan(tmp_path / "*.parquet").chunks())
    assert table["x"].to_pylist() == [1.0, 2.0, 0.5]


def test_files_that_differ(flat, save, tmp_path):
    save(flat, "1.parquet"), save(flat.drop_columns(["mass"]), "2.parquet")
    stream = scan(tmp_path / "*.parquet")
    with pytest.raises(ValueError, match=r"2.parquet has no mass, unlike .*1.parquet"):
        list(stream.chunks())
    assert sum(map(len, stream.chunks(["tagger"]))) == 20
    stream = scan(tmp_path / "2.parquet", tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=r"1.parquet alone has mass, unlike .*2.parquet"):
        list(stream.chunks())
    save(pa.table({"tagger": ["text"]}), "3.parquet")
    with pytest.raises(ValueError, match=r"the files do not fit together: .*tagger"):
        list(scan(tmp_path / "1.parquet", tmp_path / "3.parquet").chunks(["tagger"]))


def test_chunks_are_bounded(save, tmp_path, monkeypatch):
    monkeypatch.setattr("unsculpt.files.stream.CHUNK_ROWS", 1024)
    table = pa.table({"x": range(3000)})
    for name in ("a.parquet", "a.arrow", "a.root", "a.h5", "a.npz", "a.csv"):
        sizes = [len(chunk) for chunk in scan(save(table, name)).chunks()]
        assert max(sizes) <= 1024
        assert sum(sizes) == 3000


def test_reading_ahead_keeps_order_and_errors():
    def items():
        yield from range(5)
        raise OSError("torn")

    stream = prefetch(items())
    assert [next(stream) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(OSError, match="torn"):
        next(stream)


def test_reading_ahead_is_not_far_ahead():
    made = []

    def items():
        for i in range(100):
            made.append(i)
            yield i

    stream = prefetch(items())
    next(stream)
    stream.close()
    assert len(made) <= 4


def test_paths_are_fine(flat, save):
    assert scan(os.fspath(save(flat, "a.csv"))).columns == flat.column_names


@pytest.mark.parametrize("name", ["a.root", "a.parquet", "a.arrow", "a.h5", "a.csv", "a.npz"])
def test_a_file_that_is_replaced_while_it_is_read(name, save, monkeypatch):
    monkeypatch.setattr("unsculpt.files.stream.CHUNK_BYTES", 8 * 4096)
    mass = np.random.default_rng(0).normal(size=20_000)
    chunks = scan(save(pa.table({"mass": mass}), name)).chunks()
    read = [next(chunks)]
    save(pa.table({"mass": mass[:100] + 1}), name)
    np.testing.assert_array_equal(pa.concat_tables([*read, *chunks])["mass"], mass)
