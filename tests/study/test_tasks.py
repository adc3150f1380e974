from dataclasses import replace

import pytest

from unsculpt.study import PRESETS
from unsculpt.study.tasks import trainings


def test_the_paper_s_grid():
    plan = trainings(PRESETS["paper"], "")
    for family in ("DisCo", "MoDe"):
        (task,) = (t for t in plan if (t.family, t.step) == (family, "classifier"))
        assert len(task.models) == 130
        assert {alpha for _, alpha, _ in task.models} == set(range(0, 301, 25))
        assert task.epochs == 100


def test_flows_are_trained_in_as_many_programs_as_asked_for(tiny):
    together, apart = (trainings(replace(tiny, together=n), "") for n in (100, 6))
    for plan, programs in ((together, 1), (apart, 3)):
        flows = [task for task in plan if task.step == "paper flow"]
        assert len(flows) == programs
        assert len({model for task in flows for model in task.models}) == 16
        assert [task.options for task in flows] == [(2,), (0,), (0,)][:programs]


def test_other_settings_are_other_tasks(tiny):
    names = [t.name for preset in (tiny, PRESETS["quick"]) for t in trainings(preset, "jets")]
    names += [task.name for task in trainings(tiny, "other jets")]
    assert len(set(names)) == len(names)


def test_a_task_keeps_its_name():
    """Results are found by it, in folders that exist and in the table of the documentation."""
    vdnn = trainings(PRESETS["paper"], "0123456789ab")[0]
    assert vdnn.name == "vDNN-classifier-792cbfa1e484"


@pytest.mark.parametrize(("alphas", "chosen"), [((0, 100, 200, 300), 200), ((0, 50), 50)])
def test_the_paper_s_strength_is_looked_at_or_the_strongest(tiny, alphas, chosen):
    plan = trainings(replace(tiny, alphas=alphas), "")
    (cuts,) = (task for task in plan if task.step == "cuts")
    assert cuts.models == (("DisCo", chosen, 0),)


def test_splines_of_a_family_wait_for_its_classifiers_alone(tiny):
    plan = trainings(tiny, "")
    classifiers = [task for task in plan if task.step == "classifier"]
    ours = [task for task in plan if task.step == "ours"]
    assert [task.needs for task in ours] == [(task,) for task in classifiers]
    assert [task.models for task in ours] == [task.models for task in classifiers]
