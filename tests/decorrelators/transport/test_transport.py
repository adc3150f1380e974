from typing import NamedTuple

import jax
import numpy as np
import pytest
from scipy.linalg import helmert, sqrtm
from scipy.special import softmax
from scipy.stats import beta, kstest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt import TransportDecorrelator, metrics
from unsculpt.datasets import toys
from unsculpt.flows.convex import transport

PLANE = helmert(3).T
pytestmark = pytest.mark.filterwarnings("ignore:protected is outside")


class Fitted(NamedTuple):
    """A decorrelator, fresh events of three classes, and what it makes of them."""

    model: TransportDecorrelator
    toy: toys.ThreeClassToy
    moved: np.ndarray


@pytest.fixture(scope="module")
def train():
    return toys.three_classes(5_000, 0, seed=1)


SLOW = "source", "simplex", "source by transport"
OTHERS = (pytest.param(name, marks=pytest.mark.slow) for name in SLOW)


@pytest.fixture(scope="module", params=["normal", *OTHERS])
def fitted(request, train):
    toy = toys.three_classes(12_000, 2_000, seed=2)
    base, *by = request.param.split(" by ")
    model = TransportDecorrelator(base=base, loss=[*by, "likelihood"][0], members=2, epochs=12)
    model.fit(train.score, train.protected)
    return Fitted(model, toy, model.transform(toy.score, toy.protected))


@pytest.fixture(scope="module")
def with_density(fitted):
    if fitted.model.loss == "transport":
        pytest.skip("the dual of optimal transport gives no density")
    return fitted


@pytest.fixture(scope="module")
def quick():
    def fit(scores, protected, sample_weight=None, **settings):
        settings = {"members": 1, "epochs": 2, "batch_size": 100} | settings
        return TransportDecorrelator(**settings).fit(scores, protected, sample_weight=sample_weight)

    return fit


@pytest.fixture(scope="module")
def rough(quick, few):
    return quick(few.score, few.protected)


@pytest.fixture(scope="module")
def few():
    return toys.three_classes(500, 0, seed=4)


def plane(probabilities):
    return np.log(probabilities) @ PLANE


def test_probabilities_become_those_without_the_drift(fitted):
    """The exact answer is known, up to the centre and the width that the base has."""
    model, toy, moved = fitted
    exact = plane(toy.undrifted(toy.score, toy.protected))
    b = toy.background
    exact = (exact - exact[b].mean(axis=0)) / exact[b].std()
    moved = (plane(moved) - model.coordinates_.centre) / model.coordinates_.scale
    distance = np.linalg.norm(moved - exact, axis=1)
    if model.base == "normal":
        assert distance[b].mean() < 0.09
        assert distance[~b].mean() < 0.15
    else:  # the others are not normal
        assert distance[b].mean() > 0.2


@pytest.mark.slow
def test_the_map_between_gaussians_is_the_optimal_one(train):
    """Linear, by the inverse root of the covariance: from SciPy, in units of each score."""
    scores = plane(train.score) * [1, 1000]
    model = TransportDecorrelator(members=2, epochs=12).fit(scores, train.protected)
    step = np.array([[0.0, 0], [0.5, 0], [0, 500]])
    for mass in (60.0, 90, 150):
        _, stretch = toys._drift(np.array([mass]))
        units = np.diag([1, 1000]) / model.coordinates_.scale
        root = 1.5 * units @ stretch[0]
        exact = np.linalg.inv(sqrtm(root @ root.T))
        middle = scores[np.abs(train.protected - mass) < 5].mean(axis=0)
        moved = model.transform(middle + step, np.full(3, mass))
        found = (moved[1:] - moved[0]).T / 0.5 * model.coordinates_.scale / [1, 1000]
        np.testing.assert_allclose(found, exact, atol=0.12)


def test_the_jacobian_is_symmetric_and_positive_definite(fitted):
    """Differentiated in the log-ratios, all the way through the fitted ensemble."""
    model, toy, _ = fitted
    features, _ = model.attributes_.features(toy.protected, "clip")
    with jax.enable_x64(True):
        jacobian = jax.jit(
            jax.vmap(jax.jacfwd(lambda x, f: transport(model.map_.potentials, x, f)[0]))
        )(model.coordinates_(toy.score), features)
    np.testing.assert_allclose(jacobian, np.swapaxes(jacobian, 1, 2), rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(jacobian).min() > 0.02


def test_at_fixed_mass_no_move_is_turned_around(fitted):
    """Neither on the way to the normal nor, in one step, to the source."""
    model, toy, _ = fitted
    before = plane(toy.score)
    for mass in (55.0, 90, 250) if model.inclusive_ is None else ():
        moved = plane(model.transform(toy.score, np.full(len(before), mass)))
        products = ((before - before[::-1]) * (moved - moved[::-1])).sum(axis=1)
        assert products.min() >= 0


def test_probabilities_come_back_as_probabilities(fitted):
    _, toy, moved = fitted
    assert moved.shape == toy.score.shape
    assert moved.min() >= 0
    np.testing.assert_allclose(moved.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("of", [0, 1, 2])
def test_a_cut_on_any_class_no_longer_sculpts(fitted, of):
    """Half of the background passes the cut."""
    _, toy, moved = fitted
    b = toy.background
    edges = np.quantile(toy.protected[b], np.linspace(0, 1, 9))

    def divergence(p):
        passes = p[b, of] > np.median(p[b, of])
        mass = toy.protected[b]
        spectra = (np.histogram(mass[rows], edges)[0] for rows in (passes, ~passes))
        return metrics.jensen_shannon(*spectra)

    assert divergence(moved) < divergence(toy.score) / 8


def test_pairs_of_classes_stay_apart(fitted):
    """The drift costs separation; undoing it gives it back: 0.933 for each pair."""
    model, toy, moved = fitted
    log = np.log(moved)
    for one, other in ((1, 0), (2, 0), (1, 2)) if model.base == "normal" else ():
        rows = (toy.label == one) | (toy.label == other)
        area = metrics.auc((log[:, one] - log[:, other])[rows], toy.label[rows] == one)
        assert area == pytest.approx(0.933, abs=0.012)


def test_the_source_keeps_its_distribution(fitted):
    model, toy, moved = fitted
    b = toy.background
    statistics = [
        kstest(before, after).statistic
        for before, after in zip(plane(toy.score[b]).T, plane(moved[b]).T, strict=True)
    ]
    assert max(statistics) < 0.03 if model.base == "source" else max(statistics) > 0.03


def test_the_simplex_is_filled_evenly(fitted):
    """Each probability as the even distribution has it, and at each mass; of the inside too."""
    model, toy, moved = fitted
    if model.base != "simplex":
        pytest.skip("of the simplex")
    mass = toy.protected[toy.background]
    for part in (mass < 80, mass >= 80):
        here = moved[toy.background][part]
        for k in range(3):
            assert kstest(here[:, k], beta(1, 2).cdf).statistic < 0.05
            share = here[:, k] / (here[:, k] + here[:, k - 1])
            assert kstest(share, "uniform").statistic < 0.05


def test_the_way_back_leads_back(fitted):
    model, toy, moved = fitted
    np.testing.assert_allclose(model.inverse_transform(moved, toy.protected), toy.score, atol=1e-6)


def test_the_density_of_probabilities_is_normalised(with_density):
    """Summed over the log-ratios, with the volume of the softmax from JAX."""
    axis = np.linspace(-14, 14, 120)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    with jax.enable_x64(True):
        volume = jax.jit(jax.vmap(jax.jacfwd(lambda x: jax.nn.softmax(PLANE @ x)[:2])))(grid)
    density = np.exp(
        with_density.model.log_prob(softmax(grid @ PLANE.T, axis=1), np.full(len(grid), 150.0))
    )
    total = (density * np.linalg.det(volume)).sum() * (axis[1] - axis[0]) ** 2
    assert total == pytest.approx(1, abs=1e-3)


def test_samples_are_like_background(with_density):
    model, toy, _ = with_density
    b = toy.background
    drawn, seen = plane(model.sample(toy.protected, seed=1)[b]), plane(toy.score[b])
    for part in (toy.protected[b] < 80, toy.protected[b] >= 80):
        for x, y in zip(drawn[part].T, seen[part].T, strict=True):
            assert kstest(x, y).statistic < 0.05


@pytest.mark.slow
def test_probabilities_of_zero(quick, few):
    scores = few.score.copy()
    scores[:3] = np.eye(3)
    assert np.isfinite(quick(scores, few.protected).transform(scores, few.protected)).all()


def test_one_component_is_for_others(quick, few):
    with (
        pytest.warns(UserWarning, match="one component, which FlowDecorrelator and Spline"),
        pytest.raises(ValueError, match="protected is 1 in all"),  # before it is trained
    ):
        quick(few.score[:, 0], np.ones(500))


@pytest.mark.slow
def test_one_component_in_a_cube(quick, few):
    with pytest.warns(UserWarning, match="one component"):
        one = quick(few.score[:, 0], few.protected, base="cube")
    flat = one.transform(np.sort(few.score[:, 0]), np.full(500, 100.0))
    assert np.all(np.diff(flat) >= 0)
    assert flat.min() >= 0
    assert flat.max() <= 1


@pytest.mark.slow
def test_another_seed_gives_another_fit(quick, rough, few):
    one, other = rough, quick(few.score, few.protected, seed=1)
    one, other = (x.transform(few.score, few.protected) for x in (one, other))
    assert not np.array_equal(one, other)


def test_the_map_is_that_of_the_weighted_events(quick, few):
    """Weights that leave one half of the plane: its middle becomes the middle of the base."""
    vectors = plane(few.score)
    weight = np.where(vectors[:, 0] > 1, 1.0, 0.01)
    model = quick(vectors, few.protected, weight, epochs=30)
    moved = model.transform(vectors, few.protected)
    assert np.average(moved[:, 0], weights=weight) == pytest.approx(0, abs=0.15)
    assert moved[:, 0].mean() < -0.3


@pytest.mark.slow
def test_transport_moves_weighted_events_to_the_weighted_source(quick, train):
    """In each part of the mass, the mean and the width become those of all; not the density."""
    vectors, mass = plane(train.score), train.protected
    weight = np.where(vectors[:, 0] > 1, 1.0, 0.05)
    model = quick(vectors, mass, weight, base="source", loss="transport", epochs=10)
    moved = model.transform(vectors, mass)

    def mean_and_width(x, rows):
        mean = np.average(x[rows], weights=weight[rows], axis=0)
        square = np.average((x[rows] - mean) ** 2, weights=weight[rows], axis=0)
        return np.array([mean, np.sqrt(square)])

    with pytest.raises(ValueError, match="density of the scores is not known after a fit with"):
        model.log_prob(vectors, mass)
    with pytest.raises(ValueError, match="density of the scores is not known after a fit with"):
        model.sample(mass)

    of_all = mean_and_width(vectors, mass > 0)
    for rows in (mass < 70, (mass >= 70) & (mass < 110), mass >= 110):
        assert np.abs(mean_and_width(vectors, rows) - of_all).max() > 0.3
        np.testing.assert_allclose(mean_and_width(moved, rows), of_all, atol=0.15)


@pytest.mark.parametrize("loss", ["likelihood", "transport"])
def test_negative_weights_take_events_away(quick, few, loss):
    weight = np.where(np.arange(500) % 10, 1.0, -1.0)
    model = quick(few.score, few.protected, weight, loss=loss)
    assert np.isfinite(model.transform(few.score, few.protected)).all()
    assert np.isfinite(model.log_prob(few.score, few.protected)).all()
    assert model.training_["sum_of_weights"] == 400


def test_all_that_a_loaded_model_does_gives_the_same_bytes(fitted, tmp_path):
    model, toy, moved = fitted
    model.save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(toy.score, toy.protected), moved)
    if model.loss == "likelihood":
        densities = (x.log_prob(toy.score, toy.protected) for x in (model, loaded))
        np.testing.assert_array_equal(*densities)
    assert loaded.training_ == model.training_
    np.testing.assert_array_equal(loaded.history_["train_loss"], model.history_["train_loss"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "gauss"}, "base is 'gauss'; expected one of normal, source, simplex, ball, cube"),
        ({"base": "ball"}, "comes back as probabilities, which base='ball' has not"),
        ({"base": "simplex", "plane": True}, "base='simplex' is for probabilities, and scores"),
        ({"loss": "dual"}, "loss is 'dual'; expected one of likelihood, transport"),
        ({"base": "cube", "loss": "transport"}, "loss='transport' cannot promise to stay inside"),
        ({"members": 0}, "members is 0; expected a whole number"),
        ({"learning_rate": 0}, "learning_rate is 0; expected a positive number"),
    ],
)
def test_bad_settings_are_named(settings, message, quick, few):
    settings = dict(settings)
    scores = plane(few.score) if settings.pop("plane", False) else few.score
    with pytest.raises(ValueError, match=message):
        quick(scores, few.protected, **settings)


def test_bad_events_are_named(rough, few):
    model = rough
    with pytest.raises(ValueError, match="scores has rows that do not sum to one"):
        model.transform(2 * few.score, few.protected)
    with pytest.raises(ValueError, match="protected has 499 events but scores has 500"):
        model.transform(few.score, few.protected[1:])
    with pytest.raises(ValueError, match=r"scores\[:, 1\] is 0 in all 500 events"):
        clone(model).fit(few.score * [1, 0, 1], few.protected)
    with pytest.raises(NotFittedError):
        clone(model).sample(few.protected)
