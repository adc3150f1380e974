"""Small random samples as nobody would wish for: a finite map, or a clear error."""

import traceback
import warnings

import numpy as np
import pytest
from contract import small, trains
from scipy.special import softmax

import unsculpt as us
from unsculpt.inputs import Columns


def strange(kind, seed, sizes):
    """A small sample as nobody would wish for."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice(sizes))

    def column():
        values = [
            lambda: rng.normal(size=n),
            lambda: rng.standard_cauchy(n),
            lambda: rng.pareto(0.5, n),
            lambda: rng.integers(0, rng.integers(2, 6), n).astype(float),
            lambda: np.round(rng.normal(size=n), int(rng.integers(0, 3))),
            lambda: np.where(rng.uniform(size=n) < 0.9, 1.0, rng.uniform(size=n)),
            lambda: 1 / (1 + np.exp(-30 * rng.normal(size=n))),
            lambda: np.full(n, 0.5) + (np.arange(n) == 0),
            lambda: np.sort(rng.exponential(size=n)),
        ]
        scale = 10.0 ** rng.choice([-150, -30, -3, 0, 0, 0, 3, 30, 100])
        with np.errstate(under="ignore"):
            return values[rng.integers(len(values))]() * scale + rng.choice([0, 0, scale, -1e6])

    attributes = 2 if rng.uniform() < 0.1 else 1
    protected = np.column_stack([column() for _ in range(attributes)])
    if rng.uniform() < 0.3:
        protected = np.abs(protected) + 1
    weights = [
        lambda: None,
        lambda: rng.choice([1.0, -1.0], n, p=[0.8, 0.2]),
        lambda: rng.normal(0.5, 1, n),
        lambda: 10.0 ** rng.uniform(-8, 8, n),
        lambda: rng.integers(0, 3, n).astype(float),
        lambda: np.full(n, 1e-120),
    ]
    scores, weight = column(), weights[rng.integers(6)]()
    if kind is us.OddsDecorrelator:
        logs = np.column_stack([scores, column(), column()])
        scores = softmax(np.clip(logs, -700, 700), axis=1)
    if kind is us.Morphing:
        return scores, Columns(sample=rng.integers(0, 2, n), mass=protected[:, 0]), weight
    return scores, protected[:, 0] if attributes == 1 else protected, weight


def check_strange(kind, seed, sizes):
    """A finite map, or an error that we have written."""
    scores, protected, weight = strange(kind, seed, sizes)
    model = small(kind, epochs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "scores has one component")
        warnings.filterwarnings("ignore", ".*is outside the fitted")  # events of weight zero
        warnings.simplefilter("default", DeprecationWarning)
        try:
            flat = model.fit(scores, protected, sample_weight=weight).transform(scores, protected)
        except ValueError as error:
            if "/unsculpt/" not in traceback.extract_tb(error.__traceback__)[-1].filename:
                raise AssertionError(f"seed {seed} ends in an error of somebody else") from error
            return
        except Exception as error:
            raise AssertionError(f"seed {seed} ends in another error") from error
    assert np.isfinite(flat).all(), f"seed {seed}"
    if kind is us.OddsDecorrelator:
        return
    different = np.unique(scores[:10])  # equal ones may be told apart by lot
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rising = model.transform(different, protected[np.zeros(len(different), int)])
    least = np.diff(rising).min(initial=0)
    assert least >= -1e-7 * max(1, np.abs(rising).max()), f"seed {seed}"


def some(kind, few, many):
    """So many where a fit takes long, seconds of networks or several splines; or else."""
    alone = us.DDTDecorrelator, us.KNNDecorrelator, us.SplineDecorrelator
    return many if kind in alone else few


def test_strange_samples(kind):
    sizes = [10, 200] if trains(kind) else range(10, 501)
    many = 10 if kind is us.SplineDecorrelator else 100
    for seed in range(some(kind, few=6, many=many)):
        check_strange(kind, seed, sizes)


@pytest.mark.slow
def test_many_strange_samples(kind):
    sizes = [10, 50, 200, 1000] if trains(kind) else np.geomspace(10, 1000, 100).astype(int)
    for seed in range(1000, 1000 + some(kind, few=24, many=1000)):
        check_strange(kind, seed, sizes)
