import numpy as np
import pandas as pd
import pytest

from unsculpt.decorrelators.common.attributes import Categorical, Continuous, ProtectedAttributes

MASS = np.random.default_rng(0).exponential(60, 1000) + 50
CHANNEL = np.random.default_rng(1).choice(["ee", "em", "mm"], 1000)
TABLE = pd.DataFrame({"mass": MASS, "channel": CHANNEL})


def learn(protected, categorical=(), by_range=0.5, weight=None):
    weight = np.ones(1000) if weight is None else weight
    return ProtectedAttributes.learn(protected, weight, categorical, by_range=by_range)


def test_a_number_becomes_a_coordinate_on_minus_one_to_one_in_its_order():
    attributes = learn(MASS)
    features, marked = attributes.features(np.sort(MASS), "raise")
    assert features.shape == (1000, 1)
    assert features.min() == pytest.approx(-1, abs=0.01)
    assert features.max() == pytest.approx(1, abs=0.01)
    assert np.all(np.abs(features) <= 1)
    assert np.all(np.diff(features[:, 0]) > 0)
    assert not marked.any()


def test_by_range_alone_scales_to_it():
    features, _ = learn(MASS, by_range=1.0).features(MASS, "raise")
    expected = 2 * (MASS - MASS.min()) / np.ptp(MASS) - 1
    np.testing.assert_allclose(features[:, 0], expected, atol=1e-12)


def test_a_scale_is_not_called_categorical():
    with pytest.raises(ValueError, match=r"1,000 values in 1,000 events; .* expected 10 events ea"):
        learn(MASS, categorical=[0])
    runs = np.repeat(np.arange(150), 10)
    assert learn(runs, categorical=[0]).width == 150


@pytest.mark.parametrize("by_range", [0.5, 1.0])
def test_units_do_not_matter(by_range):
    gev, _ = learn(MASS, by_range=by_range).features(MASS, "raise")
    mev, _ = learn(1000 * MASS, by_range=by_range).features(1000 * MASS, "raise")
    np.testing.assert_allclose(gev, mev, atol=1e-12)


def test_a_category_becomes_a_one_among_zeros():
    features, _ = learn(CHANNEL, [0]).features(["mm", "ee", "em"], "raise")
    assert features.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


def test_mixed_columns_stand_side_by_side():
    attributes = learn(TABLE, ["channel"])
    assert attributes.names == ["mass", "channel"]
    assert attributes.width == 4
    assert attributes.features(TABLE, "raise")[0].shape == (1000, 4)
    assert [type(a) for a in attributes.attributes] == [Continuous, Categorical]


@pytest.mark.parametrize(
    ("protected", "categorical", "expected"),
    [(MASS, [], True), (CHANNEL, [0], False), (TABLE, ["channel"], False)],
)
def test_one_axis_is_one_continuous_attribute(protected, categorical, expected):
    assert learn(protected, categorical).one_axis is expected


def test_a_position_names_a_category_as_well_as_a_name_does():
    by_name, by_position = learn(TABLE, ["channel"]), learn(TABLE, [1])
    np.testing.assert_array_equal(
        by_name.features(TABLE, "raise")[0], by_position.features(TABLE, "raise")[0]
    )


def test_state_comes_back():
    attributes = learn(TABLE, ["channel"])
    restored = ProtectedAttributes.restore(*attributes.state())
    np.testing.assert_array_equal(
        attributes.features(TABLE, "raise")[0], restored.features(TABLE, "raise")[0]
    )
    assert restored.names == attributes.names


def test_events_beyond_either_attribute_are_marked_once():
    attributes = learn(TABLE, ["channel"])
    table = pd.DataFrame({"mass": [1.0, 1.0, 80.0, 80.0], "channel": ["ee", "tt", "tt", "mm"]})
    with pytest.warns(UserWarning, match="in 2 of 4 events") as caught:
        _, marked = attributes.features(table, "nan")
    assert len(caught) == 2
    assert marked.tolist() == [True, True, True, False]


@pytest.mark.parametrize("name", ["protected", "protected_mass"])
def test_columns_go_by_their_names_whatever_those_are(name):
    table = pd.DataFrame({name: MASS, "channel": CHANNEL})
    attributes = learn(table, ["channel"])
    features, _ = attributes.features(table[["channel", name]], "raise")
    np.testing.assert_array_equal(features, attributes.features(table, "raise")[0])


@pytest.mark.parametrize("policy", ["clip", "raise"])
def test_a_category_that_was_not_there_has_no_nearest_one(policy):
    table = pd.DataFrame({"mass": [80.0, 80.0], "channel": ["tt", "mm"]})
    message = r"channel is outside the fitted \['ee', 'em', 'mm'\] in 1 of 2 events"
    with pytest.raises(ValueError, match=message):
        learn(TABLE, ["channel"]).features(table, policy)


def test_columns_may_have_numbers_for_names():
    array = np.column_stack([MASS, MASS**2])
    features, _ = learn(pd.DataFrame(array)).features(pd.DataFrame(array), "raise")
    np.testing.assert_array_equal(features, learn(array).features(array, "raise")[0])


def test_a_series_gives_its_name():
    attributes = learn(pd.Series(MASS, name="jet_mass"))
    with pytest.raises(ValueError, match="jet_mass is outside the fitted"):
        attributes.features([1e6], "raise")


def test_a_file_has_names_ranges_and_categories():
    mass, channel = learn(TABLE, ["channel"]).state()[1]
    assert mass["name"] == "mass"
    assert mass["range"] == (MASS.min(), MASS.max())
    assert channel == {"name": "channel", "categories": ["ee", "em", "mm"]}


def test_a_part_of_the_range_in_words():
    mass, channel = learn(TABLE, ["channel"]).attributes
    assert mass.words(-1, 1) == f"mass {MASS.min():.4g} to {MASS.max():.4g}"
    assert channel.words(0, 1) == "channel 'ee' to 'em'"
    assert channel.words(1, 1) == "channel 'em'"
