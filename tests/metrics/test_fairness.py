"""Fairlearn has the same numbers; what cannot be compared is refused."""

import numpy as np
import pandas as pd
import pytest

from unsculpt import metrics

ALL = [
    metrics.demographic_parity_difference,
    metrics.equal_opportunity_difference,
    metrics.equalized_odds_difference,
]


@pytest.fixture(scope="module")
def people():
    """Groups that differ in size, in labels, in weights and in who is selected."""
    random = np.random.default_rng(1)
    table = pd.DataFrame(
        {"age": random.uniform(18, 80, 2000), "sex": random.choice(["f", "m"], 2000, p=[0.3, 0.7])}
    )
    labels = random.random(2000) < 0.2 + table.age / 200
    chance = 0.2 + 0.3 * labels + 0.2 * (table.sex == "m") + table.age / 400
    return table, labels, random.random(2000) < chance, random.uniform(0.5, 2, 2000)


def call(metric, selected, labels, *rest, **settings):
    if metric is ALL[0]:
        return metric(selected, *rest, **settings)
    return metric(selected, labels, *rest, **settings)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("weighted", [False, True])
def test_fairlearn_has_the_same(people, metric, weighted):
    fairlearn = pytest.importorskip("fairlearn.metrics")
    table, labels, selected, weight = people
    weight = weight if weighted else None
    edges = [18, 30, 45, 60, 80]
    groups = table.assign(age=pd.cut(table.age, edges, right=False))

    def want(features):
        theirs = getattr(fairlearn, metric.__name__)
        return theirs(labels, selected, sensitive_features=features, sample_weight=weight)

    ours = call(metric, selected, labels, table.sex, sample_weight=weight)
    assert ours == pytest.approx(want(table.sex), abs=1e-12)
    ours = call(metric, selected, labels, table.age, bins=edges, sample_weight=weight)
    assert ours == pytest.approx(want(groups.age), abs=1e-12)
    for bins in ({"age": edges}, {0: edges}):
        ours = call(metric, selected, labels, table, bins=bins, sample_weight=weight)
        assert ours == pytest.approx(want(groups), abs=1e-12)
    assert call(metric, selected, labels, groups, sample_weight=weight) == ours


@pytest.mark.parametrize("metric", ALL)
def test_a_weight_is_a_number_of_people(people, metric):
    table, labels, selected, _ = people
    times = np.arange(len(labels)) % 3
    times[:10] = 1  # one of each group at least
    repeated = np.repeat(np.arange(len(labels)), times)
    want = call(metric, selected[repeated], labels[repeated], table.sex.iloc[repeated])
    assert call(metric, selected, labels, table.sex, sample_weight=times) == pytest.approx(want)
    # A person and one of weight minus one are none.
    doubled = [np.concatenate([x, x[:5]]) for x in (selected, labels, table.sex)]
    weight = np.append(np.ones(len(labels)), -np.ones(5))
    want = call(metric, selected[5:], labels[5:], table.sex[5:])
    assert call(metric, *doubled, sample_weight=weight) == pytest.approx(want)


def test_who_is_outside_the_bins_does_not_count():
    age, selected = [10.0, 30, 35, 50, 90], [1, 0, 1, 1, 0]
    assert metrics.demographic_parity_difference(selected, age, bins=[20, 40, 60]) == 0.5


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_who_misses_a_group_is_named(missing):
    """As fairlearn does: it may not be one that anybody chose."""
    with pytest.raises(ValueError, match="protected is missing in 1 of 3 people; remove those or"):
        metrics.demographic_parity_difference([1, 0, 0], pd.Series(["f", missing, "m"]))


def test_numbers_in_an_array_of_objects_are_numbers():
    age = np.arange(40.0)
    with pytest.raises(ValueError, match="protected has 40 different values, too many for groups"):
        metrics.demographic_parity_difference(age % 2, age.astype(object))
    with pytest.raises(ValueError, match="protected is NaN or infinite in 1 of 4"):
        metrics.demographic_parity_difference([1, 0, 0, 1], np.array([1, 1, 2, None]))
    mixed = np.array([1, 1.0, 2, 2.0], object)
    assert metrics.demographic_parity_difference([1, 1, 0, 0], mixed) == 1


SELECTED, LABELS, SEX = [1, 0, 1, 0], [1, 0, 1, 0], ["f", "f", "m", "m"]
TABLE = pd.DataFrame({"age": [20.0, 30, 40, 50], "sex": SEX})


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selected": [0.2, 0.9, 1, 0]}, "selected is neither 0 nor 1 in 2 of 4 people; expected"),
        ({"selected": []}, "selected is empty"),
        ({"selected": ["a"] * 4}, "selected holds"),
        ({"protected": ["f", "m"]}, "protected has 2 events but selected has 4"),
        ({"protected": ["f"] * 4}, "protected: all 4 people inside the bins are of one group"),
        ({"protected": [1.0, 2, np.nan, 3]}, "protected is NaN or infinite in 1 of 4"),
        ({"protected": TABLE, "bins": 5}, r"whose bins these are, as in bins=\{'age': 5\}"),
        ({"protected": TABLE, "bins": {"aeg": 5}}, "bins names 'aeg', but protected has"),
        ({"protected": TABLE, "bins": {"sex": 5}}, "sex holds .*; expected numbers"),
        ({"protected": TABLE, "bins": {"age": [3, 2]}}, "not at least two in rising order"),
        ({"sample_weight": [1, 1, -1, -1]}, "the group of protected 'm' has no"),
        ({"sample_weight": [1, 1]}, "sample_weight has 2 events but selected has 4"),
    ],
)
def test_bad_input(metric, change, message):
    settings = {"selected": SELECTED, "labels": LABELS, "protected": SEX} | change
    if metric is ALL[0]:
        del settings["labels"]
    with pytest.raises(ValueError, match=message):
        metric(**settings)


@pytest.mark.parametrize("metric", ALL[1:])
def test_bad_labels(metric):
    with pytest.raises(ValueError, match="the group of protected 'f' has no positives"):
        metric(SELECTED, [0, 0, 1, 0], SEX)
    with pytest.raises(ValueError, match="labels is neither 0 nor 1 in 1 of 4 people"):
        metric(SELECTED, [0, 2, 1, 0], SEX)


def test_a_continuous_attribute_needs_bins():
    age = np.arange(40) % 30
    with pytest.raises(ValueError, match=r"protected has 30 different values.* bins=\{'protected'"):
        metrics.demographic_parity_difference(age % 2, age)
