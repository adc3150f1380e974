import errno
import os
import resource

import awkward as ak
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import uproot

from unsculpt.files import create, scan

ALL = ["a.root", "a.parquet", "a.pq", "a.arrow", "a.feather", "a.h5", "a.hdf5", "a.csv", "a.npz"]


def read(*names, columns=None):
    return pa.concat_tables(scan(*names).chunks(columns))


def same(one, two):
    """Equal names and values; text may have long or short offsets, as formats have it."""
    assert one.column_names == two.column_names
    assert one.to_pylist() == two.to_pylist()


@pytest.mark.parametrize("name", ALL)
def test_what_is_written_is_read(name, flat, save):
    path = save(flat, name)
    back = read(path).select(flat.column_names)
    if name.endswith(".csv"):  # digits tell values, not types
        back = back.cast(flat.schema)
    same(back, flat)
    for column in ("mass", "tagger", "label", "event", "good"):
        assert back.schema.field(column).type == flat.schema.field(column).type
    assert scan(path).rows in (None, 10)


@pytest.mark.parametrize("name", ["a:b.parquet", "a:b.csv", "a:b.arrow"])
def test_a_name_with_a_colon_is_no_url(name, flat, save, tmp_path, monkeypatch):
    save(flat, name)
    monkeypatch.chdir(tmp_path)
    assert len(read(name)) == 10


@pytest.mark.parametrize("name", ALL)
def test_only_some_columns_in_the_order_asked_for(name, flat, save):
    back = read(save(flat, name), columns=["name", "mass"])
    same(back, flat.select(["name", "mass"]))


@pytest.mark.parametrize("name", ALL)
def test_no_events(name, flat, save):
    path = save(flat[:0], name)
    stream = scan(path)
    assert sorted(stream.columns) == sorted(flat.column_names)
    assert sum(map(len, stream.chunks())) == 0


@pytest.mark.parametrize("name", ["a.root", "a.parquet", "a.arrow"])
def test_lists_are_written_and_read(name, jets, save):
    back = read(save(jets, name))
    same(back.select(jets.column_names), jets)


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.h5"])
def test_lists_are_refused_where_there_is_no_room(name, jets, save, tmp_path):
    with pytest.raises(ValueError, match="no room for lists, which mass, tagger are; write ROOT"):
        save(jets, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.npz", "a.h5", "a.parquet", "a.arrow", "a.root"])
def test_vectors_of_fixed_length(name, save):
    from unsculpt.files.arrays import to_arrow, to_numpy

    features = np.arange(30, dtype="f4").reshape(10, 3)
    back = read(save(pa.table({"features": to_arrow(features)}), name))
    np.testing.assert_array_equal(to_numpy(back["features"]), features)


def test_csv_has_no_room_for_vectors(save, tmp_path):
    vectors = pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2))
    with pytest.raises(ValueError, match="CSV has no room for lists, which features is"):
        save(pa.table({"features": vectors}), "a.csv")
    assert not list(tmp_path.iterdir())


def test_a_missing_vector_is_an_error(save, tmp_path):
    vectors = pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2))
    with pytest.raises(ValueError, match=r"1 of 2 arrays of one column.* missing; repair them"):
        save(pa.table({"features": vectors}), "a.npz")
    assert not list(tmp_path.iterdir())


def test_maps_are_refused(save, tmp_path):
    maps = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    with pytest.raises(ValueError, match="awkward cannot hold a column of map"):
        save(pa.table({"weights": maps}), "a.root")
    assert not list(tmp_path.iterdir())


class TestOthersRead:
    """Files that somebody else reads."""

    def test_csv(self, flat, save):
        pd.testing.assert_frame_equal(
            pd.read_csv(save(flat, "a.csv")), flat.to_pandas(), check_dtype=False
        )

    def test_feather(self, flat, save):
        pd.testing.assert_frame_equal(pd.read_feather(save(flat, "a.feather")), flat.to_pandas())

    def test_npz(self, flat, save):
        with np.load(save(flat, "a.npz")) as arrays:
            assert set(arrays) == set(flat.column_names)
            for name in arrays:
                np.testing.assert_array_equal(arrays[name], flat[name].to_pylist())
            assert arrays["tagger"].dtype == np.float32

    def test_hdf5(self, flat, save):
        with h5py.File(save(flat, "a.h5:jets/all")) as file:
            np.testing.assert_array_equal(file["jets/all/mass"], flat["mass"])
            assert file["jets/all/name"].asstr()[2] == "events xx"

    def test_root_tree(self, flat, save):
        with uproot.open(save(flat, "a.root:Jets")) as file:
            assert file.classnames() == {"Jets;1": "TTree"}
            assert file["Jets"].arrays().to_list() == flat.to_pylist()


class TestOthersWrote:
    """Files that somebody else wrote."""

    def test_csv_with_gaps(self, tmp_path):
        (tmp_path / "a.csv").write_text("mass,name\n80.5,w\n,\n")
        table = read(tmp_path / "a.csv")
        assert table["mass"].to_pylist() == [80.5, None]

    def test_csv_that_changes_its_mind(self, tmp_path, monkeypatch):
        monkeypatch.setattr("unsculpt.files.csv.BLOCK", 2**20)
        (tmp_path / "a.csv").write_text("mass\n" + "1\n" * 2**20 + "1.5\n")
        with pytest.raises(ValueError, match=r"a.csv: .*write whole numbers as 1\.0"):
            read(tmp_path / "a.csv")

    @pytest.mark.parametrize(
        ("first", "row", "message"),
        [
            (9_999, "7,-,8", r"mass in row 10,000: .* '-'"),
            (9_999, "7,8", "in row 10,000: Expected 3 columns, got 2: 7,8"),
            (3, "7,8", "in row 4: Expected 3 columns, got 2: 7,8"),
        ],
    )
    def test_csv_with_a_stray_row(self, first, row, message, tmp_path, monkeypatch):
        monkeypatch.setattr("unsculpt.files.csv.BLOCK", 2**12)
        rows = ["n,mass,score", *["1,80.5,0.5"] * first, row, "1,80.5,0.5\n"]
        (tmp_path / "a.csv").write_text("\n".join(rows))
        with pytest.raises(ValueError, match=rf"a\.csv: {message}"):
            list(scan(tmp_path / "a.csv").chunks(["score", "mass"]))

    def test_views_of_text_as_polars_writes_them(self, tmp_path, save):
        text = pa.array(["mu", None, "el"], pa.string_view())
        of_places = pa.DictionaryArray.from_arrays([0, 1, 0], pa.array(["a", "b"]))
        kind = pa.dictionary(pa.int64(), pa.string_view())
        table = pa.table({"channel": text, "era": of_places.cast(kind)})
        pyarrow.feather.write_feather(table, tmp_path / "a.arrow", compression="uncompressed")
        back = read(save(read(tmp_path / "a.arrow"), "b.h5"))
        assert back.to_pydict() == {"channel": ["mu", "", "el"], "era": ["a", "b", "a"]}

    def test_npz(self, tmp_path):
        np.savez_compressed(
            tmp_path / "a.npz", mass=np.arange(5.0), label=np.arange(5, dtype=">i2")
        )
        assert read(tmp_path / "a.npz").to_pydict() == {
            "mass": [0.0, 1.0, 2.0, 3.0, 4.0],
            "label": [0, 1, 2, 3, 4],
        }

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"a": np.zeros(3), "b": np.zeros(4)}, "these differ: a 3, b 4"),
            ({"a": np.array([{}, {}], object)}, "has no array with a row for each event"),
            ({"a": np.array(1.0)}, "has no array with a row for each event"),
            ({}, "has no array with a row for each event"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:.*left out")
    def test_npz_that_is_no_table(self, arrays, message, tmp_path):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            scan(tmp_path / "a.npz")

    def test_npz_of_bytes_is_text(self, tmp_path):
        np.savez(
            tmp_path / "a.npz", name=np.array(["w", "größer"]).astype("U6"), tag=[b"w", b"qcd"]
        )
        assert read(tmp_path / "a.npz").to_pydict() == {
            "name": ["w", "größer"],
            "tag": ["w", "qcd"],
        }

    def test_odd_arrays_of_npz_are_left_out(self, tmp_path):
        np.savez(
            tmp_path / "a.npz",
            mass=[1.0, 2.0],
            luminosity=59.7,
            objects=np.array([None, None]),
            long=np.zeros(2, "c16"),
            records=np.zeros(2, [("x", "f4")]),
            by_column=np.zeros((2, 3), order="F"),
        )
        with pytest.warns(UserWarning, match="luminosity, objects, long, records, by_column"):
            assert read(tmp_path / "a.npz").to_pydict() == {"mass": [1.0, 2.0]}

    @pytest.mark.parametrize(
        "text",
        [
            "mass;tag\n80,5;0,5\n",
            "mass;tag\n80;1\n",
            "mass\ttag\n80\t1\n",
            "# mine\na,b\n1,2\n",
            "",
        ],
    )
    def test_csv_of_other_kinds(self, text, tmp_path):
        (tmp_path / "a.csv").write_text(text)
        with pytest.raises(ValueError, match=r"a\.csv.*; expected .* separated by commas"):
            scan(tmp_path / "a.csv")

    def test_hdf5_table_in_folders(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["a/b/mass"] = [1.0, 2.0]
        with h5py.File(tmp_path / "b.h5", "w") as file:
            file["a/jets"] = np.array([(1.0,), (2.0,)], [("mass", "f8")])
        for name in ("a.h5", "b.h5"):
            assert read(tmp_path / name).to_pydict() == {"mass": [1.0, 2.0]}

    def test_hdf5_records(self, tmp_path):
        records = np.array(
            [(1.5, 2, b"w"), (2.5, 3, b"q")], [("m", "f4"), ("n", "i8"), ("s", "S1")]
        )
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["jets"] = records
            file["other"] = np.zeros(7)
        table = read(f"{tmp_path}/a.h5:jets")
        assert table.to_pydict() == {"m": [1.5, 2.5], "n": [2, 3], "s": ["w", "q"]}

    def test_hdf5_that_is_no_table(self, tmp_path):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["mass"], file["pt"] = np.zeros(3), np.zeros(4)
            file["group/x"] = np.zeros(3)
        with pytest.raises(ValueError, match=r"not mass 3, pt 4; name another place.*: group"):
            scan(tmp_path / "a.h5")
        with pytest.raises(ValueError, match="has no 'Jets'; it has group"):
            scan(f"{tmp_path}/a.h5:Jets")
        with pytest.raises(ValueError, match="is one array; expected records or a group"):
            scan(f"{tmp_path}/a.h5:mass")

    def test_ntuple_stays_an_ntuple(self, jets, tmp_path):
        with uproot.recreate(tmp_path / "a.root") as file:
            file.mkrntuple("Jets", ak.from_arrow(jets))
        stream = scan(tmp_path / "a.root")
        table = pa.concat_tables(stream.chunks())
        assert table.to_pylist() == jets.to_pylist()
        with create(tmp_path / "b.root", stream.schema()) as put:
            put(table)
        with uproot.open(tmp_path / "b.root") as file:
            assert file.classnames() == {"Jets;1": "ROOT::RNTuple"}
            assert file["Jets"].arrays().to_list() == jets.to_pylist()

    def test_collections_keep_their_counters(self, tmp_path):
        jets = ak.zip({"pt": [[1.0, 2.0], [], [3.0]], "mass": [[5.0, 6.0], [], [7.0]]})
        with uproot.recreate(tmp_path / "a.root") as file:
            arrays = {"Jet": jets, "run": ak.Array([1, 2, 3]), "hits": ak.Array([[1], [2, 3], []])}
            arrays["Jet_part"] = ak.zip({"pt": [[4.0], [5.0, 6.0], []]})  # begins like Jet's own
            tree = file.mktree("Events", {name: a.type.content for name, a in arrays.items()})
            tree.extend(arrays)
        stream = scan(tmp_path / "a.root")
        with create(tmp_path / "b.root", stream.schema()) as put:
            for chunk in stream.chunks():
                put(chunk)
        trees = [uproot.open(tmp_path / name)["Events"] for name in ("a.root", "b.root")]
        assert set(trees[0].keys()) == set(trees[1].keys())
        assert trees[0].typenames() == trees[1].typenames()
        for name in trees[0].keys():  # noqa: SIM118
            assert trees[0][name].array().to_list() == trees[1][name].array().to_list()

    def test_types_of_records_without_reading_them(self, tmp_path, monkeypatch):
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file["jets"] = np.zeros(5, [("mass", "f4"), ("label", "i4")])
        get, asked = h5py.Dataset.__getitem__, []
        monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda d, i: asked.append(i) or get(d, i))
        schema = scan(tmp_path / "a.h5").schema()
        assert schema.types == [pa.float32(), pa.int32()]
        assert asked == [slice(None, 0)]


class TestBadFiles:
    @pytest.mark.parametrize("name", ["a.root", "a.parquet", "a.arrow", "a.npz"])
    def test_damage_in_the_middle_is_told_of_the_file(self, name, save):
        path = save(pa.table({"mass": np.random.default_rng(0).normal(size=5000)}), name)
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 4)
            file.write(b"\xff" * (os.path.getsize(path) // 2))
        with pytest.raises(ValueError, match=rf"{name}.* cannot be read: .*; is it whole\?"):
            read(path)

    def test_damage_in_a_root_file_of_zlib(self, tmp_path):
        path = tmp_path / "a.root"
        with uproot.recreate(path, compression=uproot.ZLIB(1)) as file:
            tree = file.mktree("Events", {"mass": "f8"})
            tree.extend({"mass": np.arange(5000.0)})
        whole = path.read_bytes()
        start = whole.index(b"ZL\x08") + 50
        path.write_bytes(whole[:start] + b"\xff" * 500 + whole[start + 500 :])
        with pytest.raises(ValueError, match=r"a.root cannot be read: .*; is it whole\?"):
            read(path)

    def test_missing_tree(self, flat, save):
        path = save(flat, "a.root:Jets")
        with pytest.raises(ValueError, match=r"a.root has no tree 'Events'; it has Jets"):
            scan(f"{path}:Events")

    def test_which_tree(self, tmp_path):
        with uproot.recreate(tmp_path / "a.root") as file:
            file.mktree("one", {"x": "f8"})
            file.mkrntuple("two", ak.Array({"x": [1.0]}))
        with pytest.raises(ValueError, match=r"has 2 trees \(one, two\); name one after a colon"):
            scan(tmp_path / "a.root")

    @pytest.mark.parametrize("name", [name for name in ALL if not name.endswith(".csv")])
    def test_cut_short(self, name, flat, save):
        path = save(flat, name)
        path.write_bytes(path.read_bytes()[:50])
        with pytest.raises(ValueError, match=f"{name} cannot be read: .*; is it whole"):
            scan(path)

    def test_unknown_ending(self, tmp_path):
        (tmp_path / "a.txt").touch()
        with pytest.raises(ValueError, match=r"a.txt should end in one of .root, .parquet"):
            scan(tmp_path / "a.txt")

    def test_no_tree(self, tmp_path):
        with uproot.recreate(tmp_path / "a.root") as file:
            file["spectrum"] = np.histogram([1.0])
        with pytest.raises(ValueError, match=r"a\.root has no trees"):
            scan(tmp_path / "a.root")

    def test_folder(self, tmp_path):
        with pytest.raises(ValueError, match=r"is a folder; name its files, as '.*/\*\.root'"):
            scan(tmp_path)

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"there is no file .*a.root"):
            scan(tmp_path / "a.root")

    def test_half_precision_does_not_go_into_root(self, tmp_path):
        with (
            pytest.raises(ValueError, match="ROOT cannot hold"),
            create(tmp_path / "a.root", pa.schema({"mass": pa.float16()})),
        ):
            pass
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.h5", pa.timestamp("s")),
        ("a.h5", pa.binary()),
        ("a.npz", pa.time32("s")),
        ("a.npz", pa.binary()),
        ("a.root", pa.date32()),
    ],
)
def test_kinds_that_a_format_has_no_room_for(name, kind, tmp_path):
    refused = pytest.raises(ValueError, match=rf"{name} cannot hold when, a column of .*; write")
    with refused, create(tmp_path / name, pa.schema({"when": kind})):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.h5", "a.root"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3]),
        pa.array([True, False, None]),
        pa.array([[1, 2], [], [None]]),
        pa.array([1, None, 3]).dictionary_encode(),
    ],
)
def test_missing_whole_numbers_do_not_become_others(name, column, tmp_path, save):
    with pytest.raises(ValueError, match=r"with missing values; write Parquet|has no room for"):
        save(pa.table({"n": column}), name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [b"TTree", b"ROOT::RNTuple"])
def test_lists_that_could_miss_values_keep_their_type_in_root(kind, save):
    lists = {
        "counts": pa.array([[1, 2], [], [3]], pa.list_(pa.int32())),
        "ids": pa.array([[2**64 - 1], [], []], pa.list_(pa.uint64())),
        "good": pa.array([[True], None, [False]]),
        "pt": pa.array([[0.5, None], None, [2.0]], pa.list_(pa.float32())),
    }
    path = save(pa.table(lists).replace_schema_metadata({b"unsculpt.kind": kind}), "a.root")
    back = uproot.open(path)["Events"].arrays(list(lists))
    kinds = {name: back[name].type.content.content.primitive for name in lists}
    assert kinds == {"counts": "int32", "ids": "uint64", "good": "bool", "pt": "float32"}
    assert back["ids"].tolist() == [[2**64 - 1], [], []]


@pytest.mark.parametrize("kind", [b"TTree", b"ROOT::RNTuple"])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1]], pa.list_(pa.timestamp("s"))),
        pa.array([[b"a"]]),
        pa.array([["a"]]).cast(pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        pa.array([{"a": [1]}]),
    ],
)
def test_what_root_cannot_hold_is_said(kind, column, save):
    table = pa.table({"odd": column}).replace_schema_metadata({b"unsculpt.kind": kind})
    with pytest.raises(ValueError, match=r"ROOT cannot hold|not compatible"):
        save(table, "a.root")


def test_arrays_of_text_are_read_from_hdf5(save):
    kind = pa.list_(pa.string(), 2)
    back = read(save(pa.table({"names": pa.array([["a", "b"], ["c", "d"]], kind)}), "a.h5"))
    assert back["names"].to_pylist() == [["a", "b"], ["c", "d"]]


def test_large_whole_numbers_lose_no_digits(tmp_path, save):
    save(pa.table({"event": [2**53, None]}), "small.npz")
    with pytest.raises(ValueError, match=r"1 of 2 whole numbers of one column are missing"):
        save(pa.table({"event": [2**53 + 1, None]}), "large.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["small.npz"]


@pytest.mark.parametrize("name", ["a.npz", "a.h5", "a.root"])
def test_a_column_of_nothing_is_nan(name, save):
    back = read(save(pa.table({"mass": [1.0, 2.0], "nothing": [None, None]}), name))
    np.testing.assert_array_equal(back["nothing"], [np.nan, np.nan])


@pytest.mark.parametrize("name", ALL)
def test_a_full_disk_leaves_nothing(name, flat, tmp_path, save, monkeypatch):
    older = save(flat[:2], name).read_bytes()

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(flat, name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == older


@pytest.mark.parametrize("size", [0, 1000, 20_000, 45_000])
@pytest.mark.parametrize("name", ["tree.root", "ntuple.root", *ALL[1:]])
def test_no_room_at_any_size(name, size, tmp_path):
    kind = b"ROOT::RNTuple" if name == "ntuple.root" else b"TTree"
    table = pa.table({"mass": np.random.default_rng(0).normal(size=10_000)})
    table = table.replace_schema_metadata({b"unsculpt.kind": kind})

    def write(table, path):
        with create(path, table.schema) as put:
            for start in range(0, len(table), 2_500):
                put(table[start : start + 2_500])

    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(table, tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("ending", "name"),
    [("h5", "a/b"), ("h5", "a\0b"), ("h5", ""), ("npz", "a\0b"), ("root", "/a")],
)
def test_names_that_a_format_would_lose(ending, name, tmp_path):
    schema, path = pa.schema({name: pa.float64()}), tmp_path / f"a.{ending}"
    with pytest.raises(ValueError, match="cannot hold a column called"), create(path, schema):
        pass
    assert not path.exists()


def test_two_columns_of_one_name(tmp_path):
    (tmp_path / "a.csv").write_text("mass,mass\n1,2\n")
    with pytest.raises(ValueError, match="has more than one column 'mass'"):
        scan(tmp_path / "a.csv")


def test_a_name_that_is_no_text(tmp_path):
    path = tmp_path / "a.arrow"
    pa.feather.write_feather(pa.table({"mass": [1.0, 2.0]}), path)
    path.write_bytes(path.read_bytes().replace(b"mass", b"ma\xff\xfe"))
    with pytest.raises(ValueError, match=r"a\.arrow cannot be read: .*; is it whole"):
        scan(path)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_two_columns_of_one_name_that_others_wrote(name, tmp_path):
    table = pa.table([[1.0], [2.0]], names=["mass", "mass"])
    write = pq.write_table if name == "a.parquet" else pa.feather.write_feather
    write(table, tmp_path / name)
    with pytest.raises(ValueError, match="has more than one column 'mass'"):
        scan(tmp_path / name)


def test_odd_types_of_hdf5_are_left_out(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["mass"] = [1.0, 2.0]
        file["complex"] = np.zeros(2, complex)
        file.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("f4"))
        file.create_dataset("links", (2,), dtype=h5py.ref_dtype)
        file["opaque"] = np.zeros(2, "V4")
        file["records"] = np.zeros(2, [("a", "f4")])
    left = "neither number nor text: complex, links, lists, opaque, records"
    with pytest.warns(UserWarning, match=left):
        assert scan(tmp_path / "a.h5").columns == ["mass"]
