import pytest
from array_api_compat import array_namespace

from unsculpt.penalties import distance_correlation, moment_decomposition

PENALTIES = [distance_correlation, moment_decomposition]


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1.0, 2.0], [1.0, 2.0, 3.0]), "protected has 3 events but scores has 2"),
        (([], []), r"scores has shape \(0,\)"),
        ((0.3, [1.0]), r"scores has shape \(\)"),
        (([1.0, 2.0], [[[1.0], [2.0]]]), r"protected has shape \(1, 2, 1\)"),
    ],
)
def test_columns_that_do_not_fit(kind, penalty, columns, message):
    with pytest.raises(ValueError, match=message):
        penalty(*(kind(column) for column in columns))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_weights_that_do_not_fit(kind, penalty):
    columns = kind([1.0, 2.0]), kind([1.0, 2.0])
    with pytest.raises(ValueError, match="sample_weight has 3 events but scores has 2"):
        penalty(*columns, sample_weight=kind([1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"sample_weight has shape \(2, 1\); expected one per"):
        penalty(*columns, sample_weight=kind([[1.0], [1.0]]))


@pytest.mark.parametrize("power", [0, 1.5, 3])
def test_unknown_power(power):
    with pytest.raises(ValueError, match=f"power is {power}; expected 1"):
        distance_correlation([1.0, 2.0], [1.0, 2.0], power=power)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 3}, "order is 3; expected 0, 1 or 2"),
        ({"bins": 1}, "bins is 1; expected a whole number of at least 2"),
        ({"bins": 2.5}, "bins is 2.5"),
        ({"max_slope": 0.3}, "max_slope is 0.3 with order 0"),
        ({"order": 1, "max_slope": 0.0}, "max_slope is 0.0 with order 1; expected a positive"),
        ({"order": 1, "monotonic": True}, "monotonic is for order 2, but order is 1"),
    ],
)
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        moment_decomposition([1.0, 2.0], [1.0, 2.0], **settings)


@pytest.mark.parametrize("name", ["scores", "protected"])
def test_moments_take_one_column(kind, name):
    columns = {"scores": kind([1.0, 2.0]), "protected": kind([1.0, 2.0])}
    columns[name] = kind([[1.0], [2.0]])
    with pytest.raises(ValueError, match=rf"{name} has shape \(2, 1\); expected \(n,\)"):
        moment_decomposition(**columns)


def test_the_answer_is_an_array_like_the_scores(kind, sample):
    scores, mass = kind(sample[0]), sample[1]  # which is a NumPy array
    for answer in (
        distance_correlation(scores, mass),
        moment_decomposition(scores, mass, bins=6),
    ):
        assert answer.shape == ()
        assert answer.dtype == scores.dtype
        assert array_namespace(answer) is array_namespace(scores)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_lists_and_whole_numbers_are_fine(penalty):
    assert 0 < penalty([1, 2, 4], [1, 2, 3]) <= 1
