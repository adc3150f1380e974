import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from unsculpt import FeatureDecorrelator

N = 100
FEATURES = np.random.default_rng(0).normal(size=(N, 2))
MASS = np.tile([60.0, 80.0, 90.0, 120.0], 25)
LABELS = np.tile([0, 1], 50)


def broken(values, bad):
    values = values.copy()
    values.flat[0] = bad
    return values


@pytest.mark.parametrize(
    ("features", "protected", "more", "message"),
    [
        (broken(FEATURES, np.nan), MASS, {}, "features is NaN or infinite in 1 of 100"),
        (np.abs(FEATURES) * [1, 0], MASS, {}, r"features\[:, 1\] is 0 in all 100 events"),
        (FEATURES, MASS[:-1], {}, "protected has 99 events but features has 100"),
        (FEATURES, MASS, {"sample_weight": np.ones(3)}, "sample_weight has 3 events but features"),
        (FEATURES[:, :, None], MASS, {}, r"features has shape \(100, 2, 1\)"),
        (FEATURES, MASS, {"labels": LABELS[:-1]}, "labels has 99 events but features has 100"),
        (FEATURES, MASS, {"labels": LABELS[:, None]}, r"labels has shape \(100, 1\)"),
        (FEATURES, MASS, {"labels": 0}, r"labels has shape \(\); expected \(n,\)"),
        (
            FEATURES,
            MASS,
            {"labels": broken(LABELS * 1.0, np.nan)},
            "labels is missing .* in 1 of 100",
        ),
        (FEATURES, MASS, {"labels": [None, *"ab" * 49, "a"]}, "labels is missing .* in 1 of 100"),
        (FEATURES, MASS, {"labels": 0 * LABELS}, "labels is 0 in all 100 events.*two classes"),
    ],
)
def test_bad_input_to_fit_is_named_and_counted(features, protected, more, message):
    with pytest.raises(ValueError, match=message):
        FeatureDecorrelator().fit(features, protected, **more)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected a whole number of at least 1"),
        ({"batch_size": 2.5}, "batch_size is 2.5; expected a whole number"),
        ({"learning_rate": -1}, "learning_rate is -1; expected a positive number"),
        ({"seed": -1}, "seed is -1; expected a whole number of at least 0"),
        ({"categorical": ["run"]}, "categorical names 'run'"),
    ],
)
def test_bad_parameters_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        FeatureDecorrelator(**settings).fit(FEATURES, MASS)


@pytest.mark.parametrize("method", ["inverse_transform", "log_prob"])
def test_a_fit_comes_first(method):
    with pytest.raises(NotFittedError):
        getattr(FeatureDecorrelator(), method)(FEATURES, MASS)
    with pytest.raises(NotFittedError):
        FeatureDecorrelator().sample(MASS)
