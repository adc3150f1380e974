import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from scipy.stats import kstest, norm

import unsculpt as us
from unsculpt import FlowDecorrelator
from unsculpt.datasets import toys

MASSES = np.array([55.0, 80, 120, 250])
PAPER = pytest.param("paper", marks=pytest.mark.slow)


def background(toy):
    b = toy.background
    return toy.score[b], toy.protected[b]


def error(fitted):
    """The mean distance to the exact CDF on fresh background."""
    score, protected = background(fitted.test)
    return np.abs(
        fitted.flow.transform(score, protected) - fitted.test.cdf(score, protected)
    ).mean()


def inclusive(fitted):
    """What doing nothing gets: the inclusive CDF in place of the conditional one."""
    score, protected = background(fitted.test)
    rank = np.searchsorted(np.sort(fitted.train.score), score) / len(fitted.train.score)
    return np.abs(rank - fitted.test.cdf(score, protected)).mean()


def furthest_from_uniform(levels, protected, bins=10):
    """The largest Kolmogorov-Smirnov distance to uniform in bins of equal population."""
    order = np.argsort(protected, kind="stable")
    return max(kstest(part, "uniform").statistic for part in np.array_split(levels[order], bins))


class TestTruth:
    @pytest.mark.parametrize(
        ("name", "limit"),
        [
            pytest.param("smooth", 0.015, marks=pytest.mark.slow),
            ("tagger", 0.01),
            ("two_attributes", 0.02),
        ],
    )
    def test_transform_is_close_to_the_exact_cdf(self, name, limit, request):
        fitted = request.getfixturevalue(name)
        assert error(fitted) < limit
        assert error(fitted) < inclusive(fitted) / 5

    @pytest.mark.slow
    def test_the_paper_recipe_comes_close_even_in_a_few_epochs(self, paper):
        assert error(paper) < 0.04
        assert error(paper) < inclusive(paper) / 3

    @pytest.mark.parametrize("name", [pytest.param("smooth", marks=pytest.mark.slow), "tagger"])
    def test_background_is_uniform_in_every_bin_of_the_attribute(self, name, request):
        fitted = request.getfixturevalue(name)
        score, protected = background(fitted.test)
        before = np.argsort(np.argsort(score)) / len(score)
        after = fitted.flow.transform(score, protected)
        assert furthest_from_uniform(after, protected) < 0.06
        assert furthest_from_uniform(before, protected) > 0.15

    @pytest.mark.parametrize("by", [0, 1, "ratio"])
    def test_background_is_uniform_in_both_attributes_and_in_their_ratio(self, two_attributes, by):
        score, protected = background(two_attributes.test)
        column = protected[:, 0] / protected[:, 1] if by == "ratio" else protected[:, by]
        after = two_attributes.flow.transform(score, protected)
        assert furthest_from_uniform(after, column) < 0.06

    def test_a_binary_attribute_as_a_category(self, binary):
        assert error(binary) < 0.02

    @pytest.mark.slow
    def test_a_binary_attribute_as_a_number(self):
        train, test = toys.appendix_a(5000, 0, seed=1), toys.appendix_a(5000, 0, seed=2)
        flow = FlowDecorrelator(members=4).fit(train.score, train.protected)
        after = flow.transform(test.score, test.protected)
        assert np.abs(after - test.cdf(test.score, test.protected)).mean() < 0.02

    def test_an_atom_maps_to_the_middle_of_its_jump(self, atoms):
        score, mass = background(atoms.test)
        middle = (atoms.test.cdf(score, mass) + atoms.test.cdf(score - 1 / 11, mass)) / 2
        np.testing.assert_allclose(atoms.flow.transform(score, mass).mean(), 0.5, atol=0.01)
        assert np.abs(atoms.flow.transform(score, mass) - middle).mean() < 0.02

    def test_atoms_do_not_blow_up_the_likelihood(self, atoms):
        score, mass = background(atoms.test)
        log_prob = atoms.flow.log_prob(score, mass)
        # An atom has a probability, not a density: at most one, and they sum to one.
        assert np.isfinite(log_prob).all()
        assert log_prob.max() <= 0.01
        leaves = np.unique(atoms.train.score)
        total = np.exp(atoms.flow.log_prob(leaves, np.full(12, 80.0))).sum()
        assert total == pytest.approx(1, abs=0.08)
        assert np.isfinite(atoms.flow.history_["train_loss"]).all()
        assert atoms.flow.history_["train_loss"].min() > -1

    @pytest.mark.slow
    def test_mixed_continuous_and_categorical(self, channels):
        after = channels.flow.transform(channels.score, channels.table)
        assert np.abs(after - channels.exact).mean() < 0.02
        for channel in ("ee", "mm"):
            here = (channels.table["channel"] == channel).to_numpy()
            mass = channels.table["mass"].to_numpy()[here]
            assert furthest_from_uniform(after[here], mass) < 0.08

    @pytest.mark.slow
    def test_a_thousand_events_beat_doing_nothing(self):
        train, test = toys.tagger(1000, 0, seed=1), toys.tagger(20_000, 0, seed=2)
        flow = FlowDecorrelator().fit(train.score, train.protected)
        mass = np.clip(test.protected, train.protected.min(), train.protected.max())
        truth = test.cdf(test.score, test.protected)
        after = np.abs(flow.transform(test.score, mass) - truth)
        rank = np.searchsorted(np.sort(train.score), test.score) / 1000
        assert after.mean() < np.abs(rank - truth).mean() / 3
        assert after.max() < 0.3


class TestInverse:
    @pytest.mark.parametrize("name", ["tagger", "two_attributes", PAPER])
    def test_inverse_undoes_transform(self, name, request):
        fitted = request.getfixturevalue(name)
        score, protected = fitted.train.score[:4000], fitted.train.protected[:4000]
        back = fitted.flow.inverse_transform(fitted.flow.transform(score, protected), protected)
        np.testing.assert_allclose(back, score, atol=1e-6 * np.ptp(score))

    @pytest.mark.parametrize("name", ["tagger", "two_attributes", PAPER])
    def test_transform_undoes_inverse(self, name, request):
        fitted = request.getfixturevalue(name)
        protected = fitted.train.protected[:4000]
        levels = np.linspace(0.001, 0.999, 4000)
        there = fitted.flow.inverse_transform(levels, protected)
        np.testing.assert_allclose(fitted.flow.transform(there, protected), levels, atol=1e-6)

    def test_levels_zero_and_one_give_finite_scores(self, smooth, binary):
        for flow, protected in ((smooth.flow, [0.5, 0.5]), (binary.flow, [1.0, 1.0])):
            low, high = flow.inverse_transform([0.0, 1.0], protected)
            assert np.isfinite([low, high]).all()
            assert low < high

    def test_an_atom_comes_back_as_itself(self, atoms):
        score, mass = atoms.train.score[:1000], atoms.train.protected[:1000]
        back = atoms.flow.inverse_transform(atoms.flow.transform(score, mass), mass)
        np.testing.assert_allclose(back, score, atol=1e-9)

    @pytest.mark.parametrize("efficiency", [0.01, 0.1, 0.5])
    def test_threshold_keeps_the_asked_fraction_at_every_mass(self, tagger, efficiency):
        score, mass = background(tagger.test)
        kept = score > tagger.flow.threshold(efficiency, mass)
        for part in np.array_split(np.argsort(mass), 8):
            spread = (efficiency * (1 - efficiency) / len(part)) ** 0.5
            assert kept[part].mean() == pytest.approx(efficiency, abs=4 * spread + 0.2 * efficiency)

    def test_a_threshold_is_the_score_where_transform_is_one_minus_efficiency(self, two_attributes):
        protected = two_attributes.test.protected[:50]
        cut = two_attributes.flow.threshold(0.2, protected)
        np.testing.assert_allclose(two_attributes.flow.transform(cut, protected), 0.8, atol=1e-6)


class TestDensity:
    def test_it_integrates_to_one_over_the_score(self, smooth):
        grid = np.linspace(-8, 8, 40_001)
        for m in (0.05, 0.5, 0.95):
            density = np.exp(smooth.flow.log_prob(grid, np.full(grid.size, m)))
            # A few permille lie further out, in the tails beyond the sample.
            assert np.trapezoid(density, grid) == pytest.approx(1, abs=0.01)

    @pytest.mark.parametrize("name", ["smooth", "two_attributes"])
    def test_it_is_the_slope_of_transform(self, name, request):
        fitted = request.getfixturevalue(name)
        protected = np.repeat(fitted.train.protected[:5], 2001, axis=0)
        edges = np.tile(np.quantile(fitted.train.score, np.linspace(0.1, 0.9, 2001)), 5)
        density = np.exp(fitted.flow.log_prob(edges, protected)).reshape(5, -1)
        cdf = fitted.flow.transform(edges, protected).reshape(5, -1)
        rise = np.trapezoid(density, edges.reshape(5, -1), axis=1)
        np.testing.assert_allclose(rise, cdf[:, -1] - cdf[:, 0], atol=0.01)

    def test_it_beats_the_inclusive_density_and_comes_close_to_the_truth(self, smooth):
        score, m = background(smooth.test)
        mean, width = np.sin(3 * m), 0.5 + 0.5 * m
        exact = norm.logpdf(score, mean, width).mean()
        counts, edges = np.histogram(smooth.train.score, 100, density=True)
        inclusive = np.log(np.interp(score, (edges[1:] + edges[:-1]) / 2, counts) + 1e-6).mean()
        found = smooth.flow.log_prob(score, m).mean()
        assert found > inclusive + 0.05
        assert exact - 0.03 < found < exact + 0.01

    @pytest.mark.parametrize("name", ["tagger", "two_attributes", "binary"])
    def test_samples_follow_the_exact_distribution(self, name, request):
        fitted = request.getfixturevalue(name)
        protected = fitted.train.protected[:5000]
        drawn = fitted.flow.sample(protected, seed=1)
        levels = fitted.train.cdf(drawn, protected)
        assert kstest(levels, "uniform").statistic < 0.04

    def test_samples_are_fixed_by_the_seed(self, tagger):
        one, same, other = (tagger.flow.sample(MASSES, seed=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert np.all(one != other)


@pytest.fixture(scope="module")
def distance():
    """How far a flow is from the toy, fitted with junk of these weights among its events."""
    rng = np.random.default_rng(0)
    toy = toys.smooth(6000, 0, seed=1)
    score = np.concatenate([toy.score, rng.normal(2.0, 0.3, 4000)])
    protected = np.concatenate([toy.protected, rng.uniform(size=4000)])
    truth = toy.cdf(toy.score, toy.protected)

    def distance(*junk):
        weight = np.repeat([1.0, *junk], [6000, 2000, 2000])
        flow = FlowDecorrelator(members=2).fit(score, protected, sample_weight=weight)
        return np.abs(flow.transform(toy.score, toy.protected) - truth).mean()

    return distance


class TestWeights:
    def test_negative_weights_take_events_away(self, distance):
        assert distance(1, -1) < 0.03

    @pytest.mark.slow
    def test_positive_ones_would_not(self, distance):
        assert distance(1, 1) > 0.09

    @pytest.mark.parametrize("recipe", ["smooth", PAPER])
    def test_the_scale_of_the_weights_does_not_matter(self, quick, events, recipe):
        weight = np.random.default_rng(0).uniform(-0.3, 2, 500)
        one, two = (
            quick(events.score, events.protected, w, recipe=recipe).transform(
                events.score, events.protected
            )
            for w in (weight, 2.0**-20 * weight)
        )
        assert one.tobytes() == two.tobytes()


class TestScales:
    @pytest.mark.parametrize(
        "reparametrise",
        [
            pytest.param(lambda s: 1e3 * logit(s) - 40, id="margin"),
            pytest.param(lambda s: s**4, id="fourth power"),
        ],
    )
    @pytest.mark.slow
    def test_any_increasing_function_of_the_score_does(self, tagger, reparametrise):
        score, mass = tagger.train.score, tagger.train.protected
        other = reparametrise(score)
        # Long enough to settle: where a shorter fit stops depends on the last digits.
        flow = FlowDecorrelator(members=2).fit(other, mass)
        difference = np.abs(tagger.flow.transform(score, mass) - flow.transform(other, mass))
        assert difference.mean() < 0.01
        assert difference.max() < 0.05

    @pytest.mark.slow
    def test_probabilities_saturated_at_zero_and_one_in_single_precision(self):
        toy = toys.tagger(10_000, 0, seed=1)
        score = np.clip(1.4 * toy.score - 0.2, 0, 1).astype("f4")
        piled = (score == 0) | (score == 1)
        assert piled.mean() > 0.2
        flow = FlowDecorrelator(members=2).fit(score, toy.protected)
        after = flow.transform(score, toy.protected)
        truth = toy.cdf(toy.score, toy.protected)
        assert np.abs(after - truth)[~piled].mean() < 0.02
        at_zero, at_one = after[score == 0], after[score == 1]
        assert np.all(
            at_zero < flow.transform(np.full(at_zero.size, 1e-6), toy.protected[score == 0])
        )
        assert np.all(
            at_one > flow.transform(np.full(at_one.size, 1 - 1e-6), toy.protected[score == 1])
        )
        assert np.isfinite(flow.log_prob(score, toy.protected)).all()


@pytest.fixture(scope="module")
def three():
    toy = toys.smooth(3000, 0, seed=1)
    rng = np.random.default_rng(0)
    scores = np.column_stack(
        [toy.score, -toy.score, rng.normal(4 * toy.protected, 1 + toy.protected)]
    )
    exact = np.column_stack(
        [
            toy.cdf(toy.score, toy.protected),
            1 - toy.cdf(toy.score, toy.protected),
            norm.cdf(scores[:, 2], 4 * toy.protected, 1 + toy.protected),
        ]
    )
    flow = FlowDecorrelator(members=2).fit(scores, toy.protected)
    return flow, scores, toy.protected, exact


@pytest.mark.slow
class TestManyScores:
    def test_each_column_is_decorrelated_by_itself(self, three):
        flow, scores, protected, exact = three
        after = flow.transform(scores, protected)
        assert after.shape == scores.shape
        assert np.all(np.abs(after - exact).mean(axis=0) < 0.03)

    def test_shapes_follow_the_fit(self, three):
        flow, scores, protected, _ = three
        some = protected[:7]
        assert flow.threshold(0.1, some).shape == (7, 3)
        assert flow.sample(some).shape == (7, 3)
        assert flow.log_prob(scores[:7], some).shape == (7, 3)
        assert flow.inverse_transform(np.full((7, 3), 0.5), some).shape == (7, 3)
        assert flow.history_["train_loss"].shape == (20, 6)

    def test_they_come_back_from_a_file(self, three, tmp_path):
        flow, scores, protected, _ = three
        flow.save(tmp_path / "model")
        loaded = us.load(tmp_path / "model")
        one, two = (f.transform(scores, protected) for f in (flow, loaded))
        assert one.tobytes() == two.tobytes()
        assert loaded.sample(protected[:7]).tobytes() == flow.sample(protected[:7]).tobytes()

    def test_one_column_in_a_table_stays_a_table(self, quick, events):
        flow = quick(events.score[:, None], events.protected)
        after = flow.transform(events.score[:, None], events.protected)
        flat = quick(events.score, events.protected).transform(events.score, events.protected)
        np.testing.assert_array_equal(after, flat[:, None])
        assert flow.threshold(0.1, MASSES).shape == (4, 1)


def test_thresholds_and_samples_are_marked_too(rough):
    flow = copy.copy(rough).set_params(outside="nan")
    for method in (lambda m: flow.threshold(0.1, m), flow.sample):
        with pytest.warns(UserWarning, match=r"outside the fitted \[.*\] in 2 of 5 events"):
            values = method(np.array([100.0, 20.0, 5000.0, 80.0, 60.0]))
        assert np.isnan(values).tolist() == [False, True, True, False, False]


def test_samples_and_cuts_stay_in_the_range_of_the_fit(rough, events):
    mass = np.full(50_000, 80.0)
    low, high = events.score.min(), events.score.max()
    assert low <= rough.sample(mass).min() <= rough.sample(mass).max() <= high
    assert rough.threshold(1e-9, mass[:1])[0] <= high


def test_the_table_agrees_with_the_flow_it_was_made_from(tagger):
    score, mass = tagger.train.score, tagger.train.protected
    (column,) = tagger.flow.cdfs_
    features, _ = tagger.flow.attributes_.features(mass, "raise")
    exact = replace(column, one_axis=False).cdf(score, features)
    assert np.abs(tagger.flow.transform(score, mass) - exact).max() < 3e-4


class TestInputs:
    @pytest.mark.parametrize("convert", [pd.Series, np.ma.asarray])
    def test_any_kind_of_array_gives_a_plain_one(self, rough, events, convert):
        assert type(rough.transform(convert(events.score), convert(events.protected))) is np.ndarray

    def test_single_precision_and_integers(self, quick, events):
        score = np.round(1000 * events.score).astype(int)
        mass = np.round(events.protected).astype("i4")
        flow = quick(score, mass)
        expected = flow.transform(score.astype(float), mass.astype(float))
        np.testing.assert_array_equal(flow.transform(score, mass), expected)
        np.testing.assert_array_equal(flow.transform(score.astype("f4"), mass), expected)
        assert expected.dtype == np.float64

    def test_inputs_are_left_as_they_were(self, quick, events):
        score, mass, weight = events.score.copy(), events.protected.copy(), np.ones(500)
        quick(score, mass, weight).transform(score, mass)
        np.testing.assert_array_equal(score, events.score)
        np.testing.assert_array_equal(mass, events.protected)
        np.testing.assert_array_equal(weight, 1)


class TestFit:
    def test_another_seed_gives_another_fit(self, quick, rough, events):
        other = quick(events.score, events.protected)
        one, two = (flow.transform(events.score, events.protected) for flow in (rough, other))
        assert one.tobytes() != two.tobytes()

    def test_a_refit_forgets_the_previous_one(self, quick, events):
        flow = quick(events.score, events.protected)
        flow.transform(events.score, events.protected)
        flow.fit(10 * events.score, events.protected + 1)
        fresh = quick(10 * events.score, events.protected + 1)
        new = (10 * events.score, events.protected + 1)
        assert flow.transform(*new).tobytes() == fresh.transform(*new).tobytes()

    @pytest.mark.slow
    def test_validation_keeps_the_best_epoch(self, quick, events):
        flow = quick(events.score, events.protected, validation=0.2, epochs=4)
        history = flow.history_
        assert history["validation_loss"].shape == (4, 2)
        np.testing.assert_array_equal(
            history["best_epoch"], history["validation_loss"].argmin(axis=0)
        )

    def test_training_lowers_the_loss(self, tagger):
        loss = tagger.flow.history_["train_loss"]
        assert np.all(loss[-1] < loss[0])

    def test_the_paper_recipe_is_the_papers(self):
        assert FlowDecorrelator.paper().get_params() == {
            "members": 1,
            "replicas": 0,
            "epochs": 100,
            "batch_size": 256,
            "learning_rate": 1e-3,
            "validation": 0.0,
            "outside": "clip",
            "categorical": (),
            "recipe": "paper",
            "seed": 0,
        }

    def test_parameters_of_the_paper_recipe_can_be_changed(self):
        flow = FlowDecorrelator.paper(seed=3, epochs=2, outside="nan")
        assert (flow.seed, flow.epochs, flow.outside, flow.batch_size) == (3, 2, "nan", 256)
