"""Files behind URLs: a server here, fsspec's memory, and packages that are missing."""

from http.server import SimpleHTTPRequestHandler

import fsspec
import numpy as np
import pyarrow as pa
import pytest
import uproot

from unsculpt import files
from unsculpt.files.location import Location, locate
from unsculpt.files.remote import Remote

ENDINGS = ["root", "parquet", "arrow", "h5", "csv", "npz"]


@pytest.fixture
def server(serve, tmp_path):
    """The URL of a folder of the test."""
    (tmp_path / "served").mkdir()
    return serve(tmp_path / "served")


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_reads_the_same_from_a_server(ending, server, flat, save, product, tmp_path):
    path = save(flat, f"served/events.{ending}")
    here, there = files.scan(path), files.scan(f"{server}/events.{ending}")
    assert there.rows == here.rows
    got, want = (pa.concat_tables(stream.chunks(["mass", "name"])) for stream in (there, here))
    assert got.equals(want)
    files.apply(product, here, tmp_path / "here.parquet")
    files.apply(product, there, tmp_path / "there.parquet")
    assert (tmp_path / "here.parquet").read_bytes() == (tmp_path / "there.parquet").read_bytes()


@pytest.fixture
def store(monkeypatch):
    """The URL of a bucket in a store of S3 that runs here."""
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    server = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION"):
        monkeypatch.setenv(f"AWS_{name}", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir("store")
    yield "s3://store"
    server.stop()


def test_every_format_reads_the_same_from_s3(store, flat, save):
    system = fsspec.filesystem("s3")
    for ending in ENDINGS:
        paths = [save(flat, f"run{i}.{ending}") for i in (0, 1)]
        for path in paths:
            system.put(str(path), f"store/{path.name}")
        here, there = files.scan(*paths), files.scan(f"{store}/run*.{ending}")
        assert there.rows == here.rows
        got, want = (pa.concat_tables(stream.chunks(["mass", "name"])) for stream in (there, here))
        assert got.equals(want)
    with pytest.raises(FileNotFoundError, match=r"there is no file s3://store/no\.root"):
        files.scan(f"{store}/no.root")


def test_a_tree_on_a_server(server, flat, save):
    save(flat, "served/events.root:Jets")
    stream = files.scan(f"{server}/events.root:Jets")
    assert stream.locations[0].inside == "Jets"
    with pytest.raises(ValueError, match="has no tree 'Muons'; it has Jets"):
        files.scan(f"{server}/events.root:Muons")


@pytest.mark.parametrize("trees", [1, 2])
def test_a_server_that_gives_whole_files_only(trees, serve, tmp_path):
    with uproot.recreate(tmp_path / "events.root") as file:
        for i in range(trees):
            file[f"tree{i}"] = {name: np.random.default_rng(i).normal(size=1000) for name in "abc"}
    with pytest.raises(ValueError, match=r"its server gives? (no )?parts of files"):
        files.scan(f"{serve(tmp_path, SimpleHTTPRequestHandler)}/events.root")


@pytest.mark.parametrize("ending", ["parquet", "root"])
def test_patterns_in_memory(ending, flat, save):
    system = fsspec.filesystem("memory")
    for name in ("run1", "run0", "other"):
        system.pipe(f"/store/{name}.{ending}", save(flat, f"{name}.{ending}").read_bytes())
    stream = files.scan(f"memory://store/run*.{ending}")
    assert [location.path.name for location in stream.locations] == [
        f"run{i}.{ending}" for i in (0, 1)
    ]
    assert stream.rows == 20
    assert len(pa.concat_tables(stream.chunks(["mass"]))) == 20
    with pytest.raises(ValueError, match="is named twice"):
        locate(f"memory://store/run0.{ending}", f"memory://store/run*.{ending}")


@pytest.mark.parametrize(
    ("text", "url", "inside"),
    [
        ("root://host:1094//store/a.root", "root://host:1094//store/a.root", ""),
        ("root://host:1094//store/a.root:Events", "root://host:1094//store/a.root", "Events"),
        ("https://127.0.0.1:80/a.root:dir/Tree", "https://127.0.0.1:80/a.root", "dir/Tree"),
        ("s3://bucket/a.parquet", "s3://bucket/a.parquet", ""),
    ],
)
def test_a_port_is_no_tree(text, url, inside):
    location = Location.parse(text)
    assert (location.path, location.inside) == (Remote(url), inside)
    assert str(location) == text


@pytest.mark.parametrize(("scheme", "extra"), [("s3", "s3"), ("root", "xrootd")])
def test_a_missing_package_is_named(scheme, extra, monkeypatch):
    def lacking(*_):
        raise ImportError("no such package")

    monkeypatch.setattr(fsspec.core, "url_to_fs", lacking)
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'unsculpt\[{extra}\]'"):
        files.scan(f"{scheme}://host/a.root")


def test_what_is_not_there(server):
    with pytest.raises(FileNotFoundError, match=r"there is no file http.*/no.parquet"):
        files.scan(f"{server}/no.parquet")
    with pytest.raises(ValueError, match="begins with gopher://, which fsspec does not know"):
        files.scan("gopher://host/a.parquet")


def test_a_damaged_file_is_named(server, tmp_path):
    (tmp_path / "served" / "a.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(ValueError, match=rf"{server}/a.parquet cannot be read: .*is it whole"):
        files.scan(f"{server}/a.parquet")


def test_nothing_is_written_to_a_url(flat, save, product):
    stream = files.scan(save(flat, "events.parquet"))
    for output in ("memory://a.parquet", "memory://folder/"):
        with pytest.raises(ValueError, match="is a URL, which can only be read"):
            files.apply(product, stream, output)


def test_numbers_do_not_depend_on_where_they_were_read(server, flat, save):
    save(flat, "served/a.parquet")
    source = {"score": ["tagger"], "protected": ["mass"], "background": "label == 0"}
    sample = files.read_sample(files.scan(f"{server}/a.parquet"), source)
    assert np.array_equal(sample.scores, flat["tagger"].to_numpy()[flat["label"].to_numpy() == 0])
