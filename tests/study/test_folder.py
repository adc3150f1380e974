import numpy as np
import pytest

from unsculpt.study.evaluation import evaluate
from unsculpt.study.folder import Folder


@pytest.mark.parametrize("step", ["classifier", "paper flow", "ours"])
def test_numbers_of_a_row_are_those_of_its_scores(folder, step):
    run = Folder.open(folder)
    (row,) = run.results.where(step=step, family="DisCo", alpha=200.0, seed=0).rows
    numbers = evaluate(
        run.score(("DisCo", 200.0, 0), step), run.jets.test.label, run.jets.test.mass
    )
    # Scores are kept in single precision.
    assert numbers == pytest.approx({name: row[name] for name in numbers}, rel=1e-4)


def test_a_run_is_opened_as_it_was_begun(folder, tiny):
    run = Folder.open(folder)
    assert run.preset == tiny
    assert all(run.has(task) for task in run.tasks if task.step != "search")
    assert len(run.jets.test) == 4000


def test_flows_of_several_trainings_on_one_classifier_are_kept_for_the_cuts(folder):
    run = Folder.open(folder)
    (flow,) = (task for task in run.tasks if task.step == "paper flow")
    runs = run.arrays(flow)["runs"]
    assert runs.shape == (2, np.sum(run.jets.test.label == 0))
    # The stand-ins have no random weights, so all trainings are that of the grid.
    score = run.score(("DisCo", 200.0, 0), "paper flow")[run.jets.test.label == 0]
    np.testing.assert_array_equal(runs, [score, score])
