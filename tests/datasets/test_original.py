import http.server
import threading

import numpy as np
import pytest

from unsculpt.datasets import VARIABLES, load_w_high_level, original


@pytest.fixture
def archive(tmp_path):
    """A file with the layout of the original, small and with known rows."""
    rng = np.random.default_rng(0)
    splits = {}
    for number, name in enumerate(("train", "val", "test")):
        rows = rng.random((4 + number, 12))
        rows[:, -1] = np.arange(len(rows)) % 2
        splits[name] = rows
    path = tmp_path / "W_high_level.npz"
    np.savez(path, **splits)
    return path, splits


def test_reads_labels_masses_and_names(archive):
    path, splits = archive
    jets = load_w_high_level(path, "val")
    assert jets.names == VARIABLES
    assert jets.mass == pytest.approx(50 + 250 * splits["val"][:, 0])
    assert jets.label.tolist() == [1, 0, 1, 0, 1]
    assert jets.features == pytest.approx(splits["val"][:, 1:11])
    assert jets.weight.tolist() == [1] * 5


def test_all_splits_in_order(archive):
    path, splits = archive
    jets = load_w_high_level(str(path))
    assert len(jets) == 15
    assert jets.mass[:4] == pytest.approx(50 + 250 * splits["train"][:, 0])


def test_unknown_split(archive):
    with pytest.raises(ValueError, match="'valid', expected train, val, test"):
        load_w_high_level(archive[0], "valid")


def test_another_file_is_told_apart(tmp_path):
    np.savez(tmp_path / "a.npz", train=np.zeros((3, 12)))
    with pytest.raises(ValueError, match="no array val, test"):
        load_w_high_level(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", train=np.zeros((3, 4)), val=np.zeros(1), test=np.zeros(1))
    with pytest.raises(ValueError, match=r"\(3, 4\), expected \(n, 12\)"):
        load_w_high_level(tmp_path / "b.npz", "train")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setattr("pooch.os_cache", lambda name: folder / name)
    return folder / "unsculpt" / "W_high_level.npz"


@pytest.fixture
def server(archive, monkeypatch):
    """The file behind a web server on this machine."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args):
            super().__init__(*args, directory=archive[0].parent)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever).start()
        monkeypatch.setattr(original, "URL", f"http://127.0.0.1:{web.server_port}/W_high_level.npz")
        yield web
        web.shutdown()


def test_downloads_once(archive, server, cache, monkeypatch):
    monkeypatch.setattr(original, "SIZE", archive[0].stat().st_size)
    assert len(load_w_high_level(split="train")) == 4
    monkeypatch.setattr(original, "URL", "http://127.0.0.1:9/gone")
    assert len(load_w_high_level(split="train")) == 4


def test_download_of_the_wrong_size(server, cache):
    with pytest.raises(OSError, match="expected 155,520,682"):
        load_w_high_level()


def test_offline_says_what_to_fetch_and_where_to_put_it(cache, monkeypatch):
    monkeypatch.setattr(original, "URL", "http://127.0.0.1:9/W_high_level.npz")
    with pytest.raises(ConnectionError) as failure:
        load_w_high_level()
    assert "http://127.0.0.1:9/W_high_level.npz (155,520,682 bytes)" in str(failure.value)
    assert str(cache) in str(failure.value)
