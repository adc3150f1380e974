import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys
from unsculpt.decorrelators.spline.axes import Smoothness, terms_of
from unsculpt.decorrelators.spline.distribution import noise_in, score_curves_at
from unsculpt.decorrelators.spline.link import LOGIT
from unsculpt.decorrelators.spline.surface import CLOSE, Problem, fit_surface, with_prior


@pytest.fixture(scope="module")
def posed():
    toy = toys.smooth(1_500, 0, seed=2)
    spline = SplineDecorrelator().fit(toy.score, toy.protected)
    (counts,), (sizes,), axes = spline.counts_, spline.sizes_, spline._axes
    levels = spline._levels(spline.coordinates_[0])
    terms = terms_of(axes, Smoothness(curves=16, regions=4, order=2))
    along = score_curves_at(levels, 4)
    problem = Problem.pose(counts, noise_in(counts, sizes), levels, axes, LOGIT, along, terms)
    with threadpool_limits(1, "blas"):  # as in a fit: the matrices are small
        yield problem, terms


@pytest.mark.parametrize("iterations", [100, 3])
def test_a_stiffer_surface_has_less_freedom_at_the_same_strengths(posed, iterations):
    plain, stiffer = (fit_surface(*posed, iterations=iterations, stiffness=s) for s in (1.0, 4.0))
    assert np.array_equal(plain.penalties.strengths, stiffer.penalties.strengths)
    assert stiffer.freedom < plain.freedom - 0.5
    assert np.abs(stiffer.theta - plain.theta).max() > 1e-3


def test_a_stiffer_surface_is_where_its_penalised_likelihood_is_largest(posed):
    problem, _ = posed
    found = fit_surface(*posed, stiffness=4.0)
    gradient, information, _ = problem.at(found.theta)
    prior = found.penalties.prior(4.0)
    pulled = (gradient / found.dispersion - np.einsum("jkl,jl->jk", prior, found.theta)).ravel()
    root, lower = with_prior(information, found.dispersion, prior)
    step = np.linalg.solve(np.triu(root).T @ np.triu(root), pulled)
    assert not lower
    assert step @ pulled < CLOSE
