import pytest

from unsculpt import metrics, plots
from unsculpt.datasets import toys


@pytest.fixture(scope="module")
def toy():
    return toys.appendix_a(2_000, 1_000, seed=1)


def test_the_data_have_a_panel_for_each_value_of_m(toy):
    figure = plots.appendix_a_dataset(toy.score, toy.protected, toy.label)
    assert [axes.get_title() for axes in figure.axes] == ["m = 0", "m = 1"]


def test_the_representations_say_the_area_of_their_ratio(toy):
    exact = {
        name: toys.appendix_a_decorrelated(toy, mirrored=flip)
        for name, flip in (("f1", False), ("f2", True))
    }
    figure = plots.appendix_a_representations(exact, toy.label)
    titles = [axes.get_title() for axes in figure.axes[1::2]]
    for title, (name, (_, ratio)) in zip(titles, exact.items(), strict=True):
        assert title == f"{name}, AUC {metrics.auc(ratio, toy.label):.3f}"
