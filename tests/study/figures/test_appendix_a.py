import pytest

from unsculpt import metrics
from unsculpt.datasets import toys
from unsculpt.study.figures.appendix_a import (
    MAPS,
    appendix_a_dataset,
    appendix_a_representations,
)


@pytest.fixture(scope="module")
def toy():
    return toys.appendix_a(2_000, 1_000, seed=1)


def test_the_data_have_a_panel_for_each_value_of_m(toy):
    assert [axes.get_title() for axes in appendix_a_dataset(toy).axes] == ["m = 0", "m = 1"]


def test_the_representations_say_the_area_of_their_ratio(toy):
    titles = [axes.get_title() for axes in appendix_a_representations(toy).axes[1::2]]
    for title, (name, mirrored) in zip(titles, MAPS.items(), strict=True):
        _, ratio = toys.appendix_a_decorrelated(toy, mirrored=mirrored)
        assert title == f"{name}, AUC {metrics.auc(ratio, toy.label):.3f}"
