import io
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from unsculpt.study import PRESETS, grid
from unsculpt.study.evaluation import evaluate
from unsculpt.study.finished import finished
from unsculpt.study.sample import splits
from unsculpt.study.store import Part
from unsculpt.study.tasks import tasks


def test_every_model_has_a_row_before_and_after_each_flow(folder, tiny):
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    for family, alpha in (
        ("vDNN", 0),
        ("DNN (cf-inputs)", 0),
        ("DisCo", 200),
        ("MoDe", 200),
        ("adversary", 100),
        ("published DisCo", 100),
    ):
        for step in ("classifier", "paper flow", "our flow"):
            found = [r for r in rows if (r["family"], r["step"]) == (family, step)]
            assert sorted((r["alpha"], r["seed"]) for r in found) == [(alpha, 0), (alpha, 1)]
            assert all(np.isfinite(r["inverse_jsd50"]) and r["ideal"] > 0 for r in found)


def test_numbers_of_a_row_are_those_of_its_scores(folder):
    run = finished(folder)
    (row,) = run.results.where(step="classifier", family="vDNN", seed=0).rows
    numbers = evaluate(
        run.score(("vDNN", 0.0, 0), "classifier"), run.jets.test.label, run.jets.test.mass
    )
    assert numbers == pytest.approx({name: row[name] for name in numbers})


def test_a_second_run_computes_nothing(folder, tiny, monkeypatch):
    monkeypatch.setattr(grid, "perform", None)  # whoever calls it fails
    before = (folder / "results.parquet").read_bytes()
    said = io.StringIO()
    grid.run(tiny, folder, console=Console(file=said))
    assert "done" in said.getvalue()
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
    plan = tasks(tiny, splits(None, tiny.jets).fingerprint)
    assert [task for task in performed if task] == plan
    assert pq.read_table(tmp_path / "results.parquet").num_rows == len(plan)


@pytest.mark.parametrize("before", [{"unsculpt": "0.0.1"}, {}])
def test_a_folder_of_another_version_is_left_alone(tiny, tmp_path, before):
    about = json.dumps({"preset": {}, "data": None, **before})
    (tmp_path / "run.json").write_text(about)
    begun_by = before.get("unsculpt", "of unknown version")
    with pytest.raises(ValueError, match=f"was begun by unsculpt {begun_by}.*another folder"):
        grid.run(tiny, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    assert (tmp_path / "run.json").read_text() == about


def test_the_plan_comes_first(tiny, tmp_path, monkeypatch):
    said = io.StringIO()

    def perform(task, jets, scores):
        assert "MoDe" in said.getvalue()
        assert "GB of memory" in said.getvalue()
        raise KeyboardInterrupt

    monkeypatch.setattr(grid, "perform", perform)
    with pytest.raises(KeyboardInterrupt):
        grid.run(tiny, tmp_path, console=Console(file=said))


def test_the_paper_s_grid():
    plan = tasks(PRESETS["paper"], "")
    for family in ("DisCo", "MoDe"):
        (task,) = (t for t in plan if (t.family, t.step) == (family, "classifier"))
        assert len(task.models) == 130
        assert {alpha for _, alpha, _ in task.models} == set(range(0, 301, 25))
        assert task.epochs == 100


def test_flows_are_trained_in_as_many_programs_as_asked_for(tiny):
    together, apart = (tasks(replace(tiny, together=n), "") for n in (100, 5))
    for plan, programs in ((together, 1), (apart, 3)):
        flows = [task for task in plan if task.step == "our flow"]
        assert len(flows) == programs
        assert len({model for task in flows for model in task.models}) == 12
        assert [task.options for task in flows] == [(2,), (0,), (0,)][:programs]


def test_other_settings_are_other_tasks(tiny):
    names = [task.name for preset in (tiny, PRESETS["quick"]) for task in tasks(preset, "jets")]
    names += [task.name for task in tasks(tiny, "other jets")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("alphas", "chosen"), [((0, 100, 200, 300), 200), ((0, 50), 50)])
def test_the_paper_s_strength_is_looked_at_or_the_strongest(tiny, alphas, chosen):
    plan = tasks(replace(tiny, alphas=alphas), "")
    (cuts,) = (task for task in plan if task.step == "cuts")
    assert cuts.models == (("DisCo", chosen, 0),)


def test_the_processes_that_judge_models_do_not_start_jax():
    code = "import sys, unsculpt.study.evaluation; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
