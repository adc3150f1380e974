import io
import json
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from unsculpt.study import grid
from unsculpt.study.folder import Part
from unsculpt.study.sample import splits
from unsculpt.study.tasks import trainings


def test_every_model_has_a_row_before_and_after_each_decorrelation(folder):
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    for family, *alphas in (
        ("vDNN", 0),
        ("DNN (cf-inputs)", 0),
        ("DisCo", 100, 200),
        ("MoDe", 100, 200),
        ("adversary", 100),
        ("published DisCo", 100),
    ):
        for step in ("classifier", "paper flow", "ours"):
            found = [r for r in rows if (r["family"], r["step"]) == (family, step)]
            models = sorted((r["alpha"], r["seed"]) for r in found)
            assert models == [(alpha, seed) for alpha in alphas for seed in (0, 1)]
            assert all(np.isfinite(r["inverse_jsd50"]) and r["ideal"] > 0 for r in found)


def test_a_decorrelation_sculpts_less(folder):
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    for step in ("paper flow", "ours"):
        before, after = (
            np.mean([r["inverse_jsd50"] for r in rows if (r["step"], r["family"]) == (s, "vDNN")])
            for s in ("classifier", step)
        )
        assert after > 2 * before


def test_a_second_run_computes_nothing(folder, tiny, monkeypatch):
    monkeypatch.setattr(grid, "perform", None)  # whoever calls it fails
    before = (folder / "results.parquet").read_bytes()
    said = io.StringIO()
    grid.run(tiny, folder, console=Console(file=said))
    grid.study(folder, console=Console(file=said))
    assert said.getvalue().count("done") == len(trainings(tiny, ""))
    assert (folder / "results.parquet").read_bytes() == before


def test_an_interrupted_run_goes_on_where_it_stopped(tiny, tmp_path, monkeypatch):
    performed = []

    def perform(task, jets, scores):
        if len(performed) == 3:
            performed.append(None)
            raise KeyboardInterrupt
        performed.append(task)
        return Part([{"task": task.name}], {"test": np.zeros(3)})

    monkeypatch.setattr(grid, "perform", perform)
    with pytest.raises(KeyboardInterrupt):
        grid.run(tiny, tmp_path)
    assert not (tmp_path / "results.parquet").exists()
    grid.run(tiny, tmp_path)
    plan = trainings(tiny, splits(None, tiny.jets).fingerprint)
    assert [task for task in performed if task] == plan
    assert pq.read_table(tmp_path / "results.parquet").num_rows == len(plan)


@pytest.mark.parametrize("before", [{"unsculpt": "0.0.1"}, {}])
def test_a_folder_of_another_version_is_left_alone(tiny, tmp_path, before):
    description = json.dumps({"preset": {}, "data": None, **before})
    (tmp_path / "run.json").write_text(description)
    begun_by = before.get("unsculpt", "of unknown version")
    with pytest.raises(ValueError, match=f"was begun by unsculpt {begun_by}.*another folder"):
        grid.run(tiny, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == description


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="run the study into it first"):
        grid.study(tmp_path)


def test_without_the_libraries_of_the_bump_hunt_it_is_left_out(folder, tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(grid, "find_spec", lambda name: None)
    monkeypatch.setattr(grid.Folder, "has", lambda self, task: False)
    monkeypatch.setattr(grid.Folder, "merge", lambda self: tmp_path)
    monkeypatch.setattr(grid, "_complete", lambda todo, *others: done.extend(todo))
    said = io.StringIO()
    grid.study(folder, console=Console(file=said))
    assert "unsculpt[search]" in said.getvalue()
    assert "methods" in {task.step for task in done}
    assert "search" not in {task.step for task in done}


def test_the_plan_comes_first(tiny, tmp_path, monkeypatch):
    said = io.StringIO()

    def perform(task, jets, scores):
        assert "MoDe" in said.getvalue()
        assert "4,000 jets to train" in said.getvalue()
        raise KeyboardInterrupt

    monkeypatch.setattr(grid, "perform", perform)
    with pytest.raises(KeyboardInterrupt):
        grid.run(tiny, tmp_path, console=Console(file=said))


def test_the_plan_leaves_all_cores_to_the_fits(folder, tiny, monkeypatch):
    calls, device = [], SimpleNamespace(device_kind="cpu")
    monkeypatch.setattr(grid, "cores_as_devices", lambda: calls.append("cores as devices"))
    monkeypatch.setattr(grid.jax, "devices", lambda: calls.append("JAX starts") or [device])
    grid.run(tiny, folder, console=Console(file=io.StringIO()))
    assert calls == ["cores as devices", "JAX starts"]


def test_lanes_give_the_same_results(folder, tiny, tmp_path, stand_ins, monkeypatch):
    stand_ins(monkeypatch)
    # Any accelerator; the stand-ins need none.
    monkeypatch.setattr(grid.jax, "default_backend", lambda: "gpu")
    grid.run(tiny, tmp_path, console=Console(file=io.StringIO()))
    there, here = (
        pq.read_table(place / "results.parquet").drop_columns(["seconds"]).to_pylist()
        for place in (tmp_path, folder)
    )
    assert there == [{column: row[column] for column in there[0]} for row in here[: len(there)]]


def test_a_task_in_a_lane_waits_for_what_it_needs_and_an_error_ends_all(tiny):
    done = []

    def complete(task):
        assert {other.name for other in task.needs} <= {other.name for other in done}
        if task.step == "paper flow":
            raise ValueError("no flow today")
        done.append(task)

    with pytest.raises(ValueError, match="no flow today"):
        grid._in_lanes(complete, trainings(tiny, ""), 3)
    assert "classifier" in {task.step for task in done}
    assert "cuts" not in {task.step for task in done}
