import numpy as np
import pytest
from scipy.stats import kstest

from unsculpt.decorrelators.transport.coordinates import (
    VectorCoordinates,
    from_normal,
    on_simplex,
    to_normal,
)


@pytest.mark.parametrize("dimensions", [1, 2, 4])
@pytest.mark.parametrize("base", ["ball", "cube"])
class TestBases:
    def test_a_normal_fills_the_base_evenly(self, base, dimensions):
        normal = np.random.default_rng(1).normal(size=(20_000, dimensions))
        even = from_normal(normal, base)
        if base == "cube":
            assert all(kstest(column, "uniform").pvalue > 1e-3 for column in even.T)
        else:
            radius = np.linalg.norm(even, axis=1)
            assert kstest(radius**dimensions, "uniform").pvalue > 1e-3
            np.testing.assert_allclose(even / radius[:, None], normal / norms(normal), atol=1e-12)

    def test_the_way_back_leads_back(self, base, dimensions):
        normal = np.random.default_rng(2).normal(size=(1000, dimensions))
        np.testing.assert_allclose(to_normal(from_normal(normal, base), base), normal, atol=1e-7)

    def test_centre_and_edge_are_finite(self, base, dimensions):
        points = np.array([[0.0] * dimensions, [100.0] * dimensions])
        even = from_normal(points, base)
        assert np.isfinite(even).all()
        assert np.isfinite(to_normal(even, base)).all()


def norms(vectors):
    return np.linalg.norm(vectors, axis=1, keepdims=True)


def test_no_class_is_special():
    """Renaming the classes turns the plane; it changes no distance."""
    scores = np.random.default_rng(3).dirichlet([1, 2, 3, 4], size=100)
    plane, renamed = (VectorCoordinates.measure(s)(s) for s in (scores, scores[:, [2, 0, 3, 1]]))
    np.testing.assert_allclose(norms(plane - plane[0]), norms(renamed - renamed[0]), atol=1e-9)


def test_the_inverse_leads_back_to_the_probabilities():
    scores = np.random.default_rng(4).dirichlet([1, 2, 3], size=100)
    coordinates = VectorCoordinates.measure(scores)
    assert coordinates.simplex
    assert coordinates(scores).shape == (100, 2)
    np.testing.assert_allclose(coordinates.inverse(coordinates(scores)), scores, atol=1e-12)


def test_other_scores_are_scaled_each_by_itself():
    scores = np.random.default_rng(5).normal(size=(100, 2)) * [1, 1000] + 5
    coordinates = VectorCoordinates.measure(scores)
    assert not coordinates.simplex
    np.testing.assert_allclose(coordinates(scores).std(axis=0), 1)
    np.testing.assert_allclose(coordinates.inverse(coordinates(scores)), scores)
    np.testing.assert_allclose(coordinates.log_volume(scores), -np.log(scores.std(axis=0)).sum())


def test_rows_that_sum_to_one_are_on_the_simplex():
    assert on_simplex(np.array([[0.2, 0.8], [1.0, 0.0]]))
    assert on_simplex(np.array([[0.2, 0.8]], "f4").astype(float))
    assert not on_simplex(np.array([[0.2, 0.8], [0.2, 0.7]]))
    assert not on_simplex(np.array([[-0.2, 1.2]]))


@pytest.mark.parametrize("base", ["ball", "cube"])
def test_what_is_outside_the_base_is_counted(base):
    with pytest.raises(ValueError, match=f"outside the unit {base} in 1 of 2 events"):
        to_normal(np.array([[0.5, 0.5], [0.9, 1.1]]), base)
