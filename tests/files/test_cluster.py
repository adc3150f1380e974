"""A real cluster of processes: same bytes as here, whatever dies on the way."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unsculpt as us
from unsculpt import files
from unsculpt.datasets import toys

pytest.importorskip("distributed")
from unsculpt.cli import app
from unsculpt.files import cluster

pytestmark = pytest.mark.filterwarnings("ignore:.*is outside the fitted:UserWarning")
SOURCE = {
    "score": ["tagger"],
    "protected": ["mass"],
    "background": "label == 0",
    "signal": None,
    "weight": "w",
}
FILES, EVENTS = 4, 10_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    rng = np.random.default_rng(0)
    for i in range(FILES):
        toy = toys.tagger(EVENTS, 100 if i else 0, seed=i)
        columns = {"tagger": toy.score, "mass": toy.protected, "label": toy.label}
        table = pd.DataFrame(columns | {"w": rng.uniform(0.1, 1, len(toy.score))})
        table.to_parquet(folder / f"run{i}.parquet")
    background = files.read_sample(files.scan(folder / "run0.parquet"), SOURCE)
    spline = us.SplineDecorrelator().fit(
        background.scores, background.protected, sample_weight=background.weight
    )
    spline.source_ = SOURCE
    spline.save(folder / "model.unsculpt")
    return folder


@pytest.fixture(scope="module")
def client():
    with cluster.connected(workers=2) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def stream(folder):
    return files.scan(folder / "run*.parquet")


def test_a_sample_is_that_of_one_machine(client, stream):
    rows = []
    there = cluster.read_sample(client, stream, SOURCE, advance=rows.append)
    here = files.read_sample(stream, SOURCE)
    np.testing.assert_array_equal(there.scores, here.scores)
    np.testing.assert_array_equal(there.protected["mass"], here.protected["mass"])
    np.testing.assert_array_equal(there.label, here.label)
    np.testing.assert_array_equal(there.weight, here.weight)
    assert there.rows == here.rows == sum(rows)


def test_workers_leave_ctrl_c_to_who_started_them(client):
    def deaf():
        import signal

        return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    assert list(client.run(deaf).values()) == [True, True]
    assert not deaf()


def test_histograms_add_up_to_those_of_one_machine(client, folder, stream):
    first = us.load(folder / "model.unsculpt")
    others = files.scan(*sorted(folder.glob("run[1-9].parquet")))
    there = cluster.fit_histograms(client, first, others, SOURCE)
    here = us.load(folder / "model.unsculpt")
    sample = files.read_sample(others, SOURCE)
    some = sample[sample.label == 0]
    here.partial_fit(some.scores, some.protected, sample_weight=some.weight)
    assert there.events_ == here.events_ == FILES * EVENTS
    np.testing.assert_allclose(there.counts_[0], here.counts_[0], atol=1e-9)


def test_a_file_without_background_that_is_a_number_adds_nothing(client, folder, tmp_path):
    first = us.load(folder / "model.unsculpt")
    table = pd.read_parquet(folder / "run1.parquet")
    table.loc[table["label"] == 0, "tagger"] = np.nan
    table.to_parquet(tmp_path / "nan.parquet")
    others = files.scan(tmp_path / "nan.parquet", folder / "run2.parquet")
    there = cluster.fit_histograms(client, first, others, SOURCE, nan="drop")
    assert there.events_ == 2 * EVENTS
    with pytest.raises(ValueError, match=r"tagger is NaN or infinite in 10,000 of"):
        cluster.fit_histograms(client, first, others, SOURCE)


def test_applying_writes_the_same_bytes(client, folder, stream, tmp_path):
    model = str(folder / "model.unsculpt")
    (tmp_path / "here").mkdir()
    want = files.apply(us.load(model), stream, tmp_path / "here")
    got = cluster.apply(client, model, stream, f"{tmp_path}/there/")
    assert (got.rows, got.scores, got.columns) == (want.rows, want.scores, want.columns)
    assert [Path(file).name for file in got.files] == [Path(file).name for file in want.files]
    for file in want.files:
        name = Path(file).name
        assert (tmp_path / "there" / name).read_bytes() == Path(file).read_bytes()


def test_workers_read_from_a_server(client, serve, folder, tmp_path):
    url, model = serve(folder), str(folder / "model.unsculpt")
    stream = files.scan(f"{url}/run[12].parquet")
    (tmp_path / "here").mkdir()
    want = files.apply(us.load(model), files.scan(folder / "run[12].parquet"), tmp_path / "here")
    cluster.apply(client, model, stream, f"{tmp_path}/there/")
    for file in want.files:
        assert (tmp_path / "there" / Path(file).name).read_bytes() == Path(file).read_bytes()
    source = SOURCE | {
        "signal_files": [f"{url}/run2.parquet"],
        "background_files": [f"{url}/run1.parquet"],
    }
    sample = cluster.read_sample(client, stream, source)
    assert (sample.label == 0).sum() == EVENTS


def test_a_killed_worker_loses_nothing(client, folder, stream, tmp_path):
    model = str(folder / "model.unsculpt")
    (tmp_path / "here").mkdir()
    want = files.apply(us.load(model), stream, tmp_path / "here")
    victim = next(iter(client.run(os.getpid).values()))
    killed = threading.Event()

    def kill_while_it_writes():
        while not list((tmp_path / "there").glob(".*")):
            time.sleep(0.001)
        os.kill(victim, signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill_while_it_writes, daemon=True)
    killer.start()
    cluster.apply(client, model, stream, f"{tmp_path}/there/")
    assert killed.wait(10)
    for file in want.files:
        name = Path(file).name
        assert (tmp_path / "there" / name).read_bytes() == Path(file).read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_tidies_up_behind_its_workers(number, folder, tmp_path):
    there = tmp_path / "there"
    for i in range(60):  # a few files might all be written before the signal is there
        shutil.copy(folder / "run1.parquet", tmp_path / f"{i}.parquet")
    command = [sys.executable, "-m", "unsculpt", "apply", folder / "model.unsculpt"]
    command += [tmp_path / "*.parquet", "-o", f"{there}/", "--workers", "2"]
    with subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE) as running:
        while not list(there.glob(".*")):
            assert running.poll() is None
            time.sleep(0.001)
        running.send_signal(number)
        assert running.stderr.read() == b"interrupted\n"
    assert running.returncode == 128 + number
    time.sleep(1)  # in which a worker that lives on would write
    assert not list(there.glob(".*"))


def test_what_is_wrong_with_a_file_is_said_here(client, folder, stream, tmp_path):
    with pytest.raises(ValueError, match="no column"):
        cluster.read_sample(client, stream, SOURCE | {"score": ["tager"]})


def test_one_file_for_all_is_refused(client, folder, stream, tmp_path):
    with pytest.raises(ValueError, match=r"out.parquet is one file, but on a cluster"):
        cluster.apply(client, str(folder / "model.unsculpt"), stream, str(tmp_path / "out.parquet"))


def test_a_worker_that_dies_as_it_starts(monkeypatch):
    def dies(**options):
        raise RuntimeError("Nanny failed to start")

    monkeypatch.setattr("distributed.LocalCluster", dies)
    with pytest.raises(OSError, match="workers did not start: Nanny"), cluster.connected(workers=1):
        pass


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    with (
        pytest.raises(ConnectionError, match=r"no scheduler answers at tcp://127.0.0.1:9"),
        cluster.connected(scheduler="tcp://127.0.0.1:9"),
    ):
        pass


def test_a_scheduler_that_goes_away(folder, stream, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    with LocalCluster(1, processes=False, dashboard_address=":0") as running:
        address = running.scheduler_address

        def gone(rows):
            running.close()

        with (
            pytest.raises(ConnectionError, match="the scheduler went away"),
            cluster.connected(scheduler=address) as client,
        ):
            cluster.read_sample(client, stream, SOURCE, advance=gone)


@pytest.fixture(scope="module")
def address(client):
    return client.scheduler.address


class TestCommands:
    """The options of the command line, on clusters of processes."""

    @staticmethod
    def unsculpt(*arguments):
        result = CliRunner(env={"COLUMNS": "120"}).invoke(app, [str(a) for a in arguments])
        assert result.exit_code == 0, result.output
        return result.output

    FIT = ("--score", "tagger", "--protect", "mass", "--background", "label == 0", "--weight", "w")

    def test_splines_count_on_the_workers(self, address, folder, tmp_path):
        said = self.unsculpt(
            "fit", *sorted(folder.glob("run*.parquet")), *self.FIT, "--method", "spline",
            "--hold-out", "0", "--scheduler", address, "-o", tmp_path / "w.unsculpt",
        )  # fmt: skip
        assert f"Counted the background of {FILES - 1} more on the cluster" in said
        assert us.load(tmp_path / "w.unsculpt").events_ == FILES * EVENTS

    def test_other_methods_gather_and_give_the_same_model(self, address, folder, tmp_path):
        fit = ("fit", folder / "run[12].parquet", *self.FIT, "--method", "knn")
        self.unsculpt(*fit, "-o", tmp_path / "here.unsculpt")
        self.unsculpt(*fit, "--scheduler", address, "-o", tmp_path / "there.unsculpt")
        here, there = ((tmp_path / f"{x}.unsculpt").read_bytes() for x in ("here", "there"))
        assert here == there

    @pytest.mark.slow
    def test_apply_on_processes_of_its_own(self, folder, tmp_path):
        arguments = ("apply", folder / "model.unsculpt", folder / "run[12].parquet")
        self.unsculpt(*arguments, "-o", f"{tmp_path}/here/")
        said = self.unsculpt(*arguments, "-o", f"{tmp_path}/there/", "--workers", "1")
        assert f"{2 * EVENTS + 200:,} rows" in said
        for name in ("run1.parquet", "run2.parquet"):
            here, there = ((tmp_path / x / name).read_bytes() for x in ("here", "there"))
            assert here == there
