"""Tolerances of files for correctionlib hold between the nodes, on shapes nothing was chosen on."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

correctionlib = pytest.importorskip("correctionlib")

import unsculpt as us
from unsculpt.export import to_correctionlib, to_working_points

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.* is outside the fitted")]
SHAPES = Path(__file__).parents[2] / "benchmarks" / "shapes.py"


@pytest.fixture(scope="module")
def shape():
    spec = importlib.util.spec_from_file_location("shapes_of_the_benchmarks", SHAPES)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module.shape


def fitted(shape, attributes):
    """A model, and events between its nodes: half as they come, half anywhere in the range."""
    score, protected = shape.sample(5_000, 1)
    fresh, _ = shape.sample(10_000, 2)
    rng = np.random.default_rng(0)
    anywhere = rng.uniform(protected.min(0), protected.max(0), (20_000, attributes))
    fresh = np.concatenate([fresh, rng.uniform(score.min(), score.max(), 10_000)])
    model = us.SplineDecorrelator().fit(score, protected if attributes > 1 else protected[:, 0])
    return model, fresh, anywhere if attributes > 1 else anywhere[:, 0]


@pytest.mark.parametrize(
    ("seed", "attributes", "tolerance"),
    [(1000, 1, 1e-3), (1004, 1, 1e-3), (1009, 1, 1e-3), (1000, 2, 1e-2), (1001, 2, 1e-2)],
)
def test_of_the_map(shape, seed, attributes, tolerance, tmp_path):
    model, score, protected = fitted(shape(seed, attributes), attributes)
    to_correctionlib(model, tmp_path / "map.json", tolerance=tolerance)
    flat = correctionlib.CorrectionSet.from_file(str(tmp_path / "map.json"))["flat"]
    found = flat.evaluate(score, *np.atleast_2d(protected.T))
    np.testing.assert_allclose(found, model.transform(score, protected), rtol=0, atol=tolerance)
    assert (tmp_path / "map.json").stat().st_size < 5e6


@pytest.mark.parametrize(
    ("seed", "attributes", "largest"), [(1000, 1, 1), (1003, 1, 1), (1009, 1, 1), (1001, 2, 5)]
)
def test_of_the_cuts(shape, seed, attributes, largest, tmp_path):
    model, _, protected = fitted(shape(seed, attributes), attributes)
    to_working_points(model, tmp_path / "cuts.json", [0.5, 0.1, 0.01])
    cuts = correctionlib.CorrectionSet.from_file(str(tmp_path / "cuts.json"))["cut"]
    for efficiency in (0.5, 0.1, 0.01):
        cut = cuts.evaluate(f"{efficiency:g}", *np.atleast_2d(protected.T))
        kept = 1 - model.transform(cut, protected)
        np.testing.assert_allclose(kept, efficiency, rtol=1e-2)
    assert (tmp_path / "cuts.json").stat().st_size < largest * 1e6
