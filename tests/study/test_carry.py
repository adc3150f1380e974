import numpy as np

from unsculpt.study import carry
from unsculpt.study.finished import finished


def test_what_figures_and_studies_need_is_carried(folder, tmp_path):
    here, there = finished(folder), finished(carry(folder, tmp_path / "home"))
    assert there.results == here.results
    for model in (("vDNN", 0.0, 0), ("DisCo", 200.0, 0)):
        for step in ("classifier", "paper flow", "our flow"):
            np.testing.assert_array_equal(there.score(model, step), here.score(model, step))
    assert not there.score(("MoDe", 200.0, 0), "classifier").any()
    assert all(there.store.has(task) == here.store.has(task) for task in here.tasks)
    np.testing.assert_array_equal(there.arrays("cuts")["random"], here.arrays("cuts")["random"])
