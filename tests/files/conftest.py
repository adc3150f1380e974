import re
import threading
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pytest

from unsculpt.decorrelators.base import Decorrelator
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.files import create
from unsculpt.inputs import Columns, score_columns


class Product(Decorrelator):
    """Not a decorrelator, but its numbers are known: score times the first attribute, clipped."""

    n_scores_ = 1

    def fit(self, scores, protected, *, sample_weight=None):
        weight = np.ones(len(scores))
        self.source_ = {"score": ["tagger"], "protected": ["mass"]}
        self.attributes_ = ProtectedAttributes.learn(protected, weight, (), by_range=1.0)
        return self

    def transform(self, scores, protected):
        self.attributes_.features(protected, "clip")
        first = protected[self.attributes_.names[0]]
        return (score_columns(scores, "scores") * first[:, None]).reshape(np.shape(scores))

    def _state(self):
        raise NotImplementedError

    def _restore(self, arrays, about):
        raise NotImplementedError


@pytest.fixture
def product():
    return Product().fit([0.0, 1.0], Columns(mass=np.array([50.0, 300.0])))


@pytest.fixture
def flat():
    """Ten events with every kind of column that all formats have."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "mass": rng.uniform(50, 300, 10),
            "tagger": rng.uniform(size=10).astype("f4"),
            "label": rng.integers(0, 2, 10).astype("i4"),
            "event": np.arange(2**60, 2**60 + 10),
            "good": rng.uniform(size=10) > 0.5,
            "name": [f"events {'x' * i}" for i in range(10)],
        }
    )


@pytest.fixture
def jets():
    """Five events of none to three jets."""
    return pa.table(
        {
            "run": pa.array([1, 1, 2, 2, 2], pa.int32()),
            "mass": pa.array([[80.0, 90.0], [], [100.0], [60.0, 70.0, 110.0], []]),
            "tagger": pa.array([[0.5, 0.25], [], [0.125], [0.5, 1.0, 0.75], []]),
        }
    )


@pytest.fixture
def save(tmp_path):
    def write(table, name):
        with create(tmp_path / name, table.schema) as put:
            for start in range(0, max(len(table), 1), 4):
                put(table[start : start + 4])
        return tmp_path / name.partition(":")[0]

    return write


class Ranges(SimpleHTTPRequestHandler):
    """Python's own server, which also sends parts of files."""

    def send_head(self):
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not asked:
            return super().send_head()
        with open(self.translate_path(self.path), "rb") as file:
            content = file.read()
        first, last = int(asked[1]), int(asked[2] or len(content) - 1)
        part = content[first : last + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(part)))
        self.send_header("Content-Range", f"bytes {first}-{first + len(part) - 1}/{len(content)}")
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        self.wfile.write(part)
        return None

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(folder, kind):
    handler = partial(kind, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


@pytest.fixture
def serve():
    """Serve a folder until the test ends; give its URL."""
    pytest.importorskip("aiohttp")
    with ExitStack() as servers:
        yield lambda folder, kind=Ranges: servers.enter_context(serving(folder, kind))
