import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from unsculpt.datasets import toys
from unsculpt.plots import class_clouds


def test_each_ellipse_is_where_its_class_is():
    toy = toys.three_classes(3000, 1000, seed=1)
    exact = toy.undrifted(toy.score, toy.protected)
    slices = [(50, 80), (80, 300)]
    figure = class_clouds({"raw": toy.score, "exact": exact}, toy.label, toy.protected, slices)
    FigureCanvasAgg(figure).draw()
    for axes, scores in zip(figure.axes, (toy.score, exact), strict=True):
        log = np.log(scores)
        across = (log[:, 0] - log[:, 1]) / np.sqrt(2)
        lines = iter(axes.lines)
        for low, high in slices:
            for k in range(3):
                rows = (toy.protected >= low) & (toy.protected < high) & (toy.label == k)
                drawn = next(lines).get_xdata()
                middle, width = (drawn.max() + drawn.min()) / 2, (drawn.max() - drawn.min()) / 2
                np.testing.assert_allclose(middle, across[rows].mean(), atol=1e-3)
                np.testing.assert_allclose(width, across[rows].std(), rtol=2e-3)
    assert len(figure.legends[0].get_texts()) == 5
