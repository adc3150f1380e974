import numpy as np
import pandas as pd
import pytest

from unsculpt import FlowDecorrelator

N = 100
SCORE = np.linspace(0, 1, N)
MASS = np.tile([60.0, 80.0, 90.0, 120.0], 25)


def broken(values, *bad):
    values = values.copy()
    values[: len(bad)] = bad
    return values


@pytest.mark.parametrize(
    ("scores", "protected", "weight", "message"),
    [
        (np.ones(N), MASS, None, "scores is 1 in all 100 events"),
        (SCORE, np.full(N, 80.0), None, "protected is 80 in all 100 events"),
        (
            np.column_stack([SCORE, np.zeros(N)]),
            MASS,
            None,
            r"scores\[:, 1\] is 0 in all 100 events",
        ),
        (
            SCORE,
            np.column_stack([MASS, np.ones(N)]),
            None,
            r"protected\[:, 1\] is 1 in all 100 events",
        ),
        (SCORE, MASS[:-1], None, "protected has 99 events but scores has 100"),
        (SCORE, MASS, np.tile([1.0, -1.0], 50), "sample_weight sums to zero over 100 events"),
        (["a"] * N, MASS, None, "scores holds text such as 'a'; expected numbers"),
        (SCORE, MASS, ["a"] * N, "sample_weight holds .*; expected numbers"),
        (SCORE, ["ee"] * N, None, r"protected holds text such as 'ee'.*categorical=\[0\]"),
        (SCORE[:, None, None], MASS, None, r"scores has shape \(100, 1, 1\)"),
        (SCORE, MASS[:, None, None], None, r"protected has shape \(100, 1, 1\)"),
        (0.5, MASS, None, r"scores has shape \(\)"),
        (SCORE, None, None, r"protected has shape \(\)"),
        (np.empty((N, 0)), MASS, None, r"scores has shape \(100, 0\)"),
        (SCORE, np.empty((N, 0)), None, r"protected has shape \(100, 0\)"),
        (SCORE, pd.DataFrame(index=range(N)), None, r"protected has shape \(100, 0\)"),
    ],
)
def test_bad_input_to_fit_is_named_and_counted(scores, protected, weight, message):
    with pytest.raises(ValueError, match=message):
        FlowDecorrelator().fit(scores, protected, sample_weight=weight)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"pt": MASS, "mass": broken(MASS, np.nan)}, "mass is NaN or infinite in 1 of 100"),
        ({"pt": MASS, "mass": np.ones(N)}, "mass is 1 in all 100 events"),
        (
            {"pt": MASS, "mass": ["heavy"] * N},
            r"mass holds text such as 'heavy'.*categorical=\[1\]",
        ),
    ],
)
def test_a_bad_column_of_a_table_is_named(table, message):
    with pytest.raises(ValueError, match=message):
        FlowDecorrelator().fit(SCORE, pd.DataFrame(table))


@pytest.mark.parametrize(
    "value_and_missing",
    [("mm", None), ("mm", np.nan), (1.0, np.nan)],
    ids=["None", "NaN", "number"],
)
def test_missing_categories_are_counted(value_and_missing):
    table = pd.DataFrame({"mass": MASS, "channel": list(value_and_missing) * 50})
    with pytest.raises(ValueError, match="channel is missing in 50 of 100 events"):
        FlowDecorrelator(categorical=["channel"]).fit(SCORE, table)


def test_a_constant_category_is_refused():
    table = pd.DataFrame({"mass": MASS, "channel": ["ee"] * N})
    with pytest.raises(ValueError, match="channel is 'ee' in all 100 events"):
        FlowDecorrelator(categorical=["channel"]).fit(SCORE, table)


@pytest.mark.parametrize("which", ["channel", 1, -1, 0.5])
def test_an_unknown_categorical_column_is_named(which):
    with pytest.raises(ValueError, match=f"categorical names {which!r}, but the protected columns"):
        FlowDecorrelator(categorical=[which]).fit(SCORE, MASS)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"members": 0}, "members is 0; expected a whole number of at least 1"),
        ({"members": 2.5}, "members is 2.5"),
        ({"epochs": -1}, "epochs is -1"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"learning_rate": 0}, "learning_rate is 0; expected a positive number"),
        ({"learning_rate": np.nan}, "learning_rate is nan"),
        ({"learning_rate": None}, "learning_rate is None; expected a positive number"),
        ({"members": None}, "members is None; expected a whole number"),
        ({"validation": 1.0}, "validation is 1.0; expected a fraction"),
        ({"validation": -0.1}, "validation is -0.1"),
        ({"recipe": "secret"}, "recipe is 'secret'; expected 'smooth' or 'paper'"),
    ],
)
def test_a_bad_parameter_is_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        FlowDecorrelator(**parameters).fit(SCORE, MASS)


@pytest.mark.parametrize("method", ["transform", "log_prob", "inverse_transform"])
@pytest.mark.parametrize(
    ("values", "protected", "message"),
    [
        (broken(SCORE, np.nan, np.nan), MASS, "is NaN or infinite in 2 of 100 events"),
        (SCORE, broken(MASS, np.nan), "protected is NaN or infinite in 1 of 100 events"),
        (SCORE[:-1], MASS, "protected has 100 events but (scores|levels) has 99"),
        (SCORE, np.column_stack([MASS, MASS]), "protected has 2 columns; expected 1: protected"),
        (np.column_stack([SCORE, SCORE]), MASS, "has 2 columns; the fit had 1"),
        (["a"] * N, MASS, "expected numbers"),
        (SCORE, ["ee"] * N, "protected holds text"),
    ],
    ids=["nan", "nan mass", "length", "attributes", "columns", "text", "text mass"],
)
def test_bad_input_after_the_fit_is_named_and_counted(rough, method, values, protected, message):
    with pytest.raises(ValueError, match=message):
        getattr(rough, method)(values, protected)


@pytest.mark.parametrize("efficiency", [0, 1, -0.1, 2, np.nan])
def test_an_efficiency_is_between_zero_and_one(rough, efficiency):
    with pytest.raises(ValueError, match=f"efficiency is {efficiency}; expected a number between"):
        rough.threshold(efficiency, MASS)


@pytest.mark.parametrize("level", [-1e-3, 1.5])
def test_levels_are_on_the_unit_interval(rough, level):
    with pytest.raises(ValueError, match=r"levels runs from .* expected decorrelated scores"):
        rough.inverse_transform([0.5, level], [80.0, 80.0])
