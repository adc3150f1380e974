import numpy as np

from unsculpt.study.figures.tradeoff import IdealCurve, Line, draw_tradeoff


def test_filled_circles_have_a_flow_and_bands_hold_all_seeds():
    rejection = np.array([[20.0, 22.0], [10.0, 12.0]])
    inverse = np.array([[5.0, 7.0], [100.0, 300.0]])
    lines = [
        Line("DisCo", "#0072B2", False, rejection, inverse),
        Line("cf-DisCo", "#0072B2", True, rejection, 3 * inverse),
    ]
    curve = IdealCurve(*(np.array([1.0, 2.0, 3.0]) for _ in range(3)))
    for axes in draw_tradeoff([(lines, curve)] * 2).axes:
        drawn = {line.get_label(): line for line in axes.lines}
        assert drawn["DisCo"].get_markerfacecolor() == "white"
        assert drawn["cf-DisCo"].get_markerfacecolor() == "#0072B2"
        np.testing.assert_allclose(drawn["DisCo"].get_xydata(), [[21, 6], [11, 200]])
        corners = axes.collections[1].get_paths()[0].vertices[:, 1]
        assert (corners.min(), corners.max()) == (5, 300)
        assert axes.get_yscale() == "log"
