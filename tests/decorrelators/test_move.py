"""Scores moved to a reference, a barycentre and another sample."""

from copy import copy

import numpy as np
import pytest
from scipy.stats import norm

import unsculpt as us
from unsculpt.datasets import toys
from unsculpt.decorrelators.common.attributes import ProtectedAttributes
from unsculpt.decorrelators.common.background import Background
from unsculpt.inputs import Columns


@pytest.fixture(scope="module")
def toy():
    return toys.smooth(20_000, 0, seed=1)


@pytest.fixture(scope="module")
def spline(toy):
    return us.SplineDecorrelator().fit(toy.score, toy.protected)


def mean_and_width(m):
    return np.sin(3 * m), 0.5 + 0.5 * m


def test_a_reference_is_reached_exactly(spline, toy):
    moved = spline.move(toy.score, toy.protected, to=0.5)
    (mean, width), (there, wide) = mean_and_width(toy.protected), mean_and_width(0.5)
    truth = there + wide * (toy.score - mean) / width
    assert np.abs(moved - truth).mean() < 0.03  # of widths from 0.5 to 1, by the fit
    # Whatever the fit is, its own levels are kept.
    levels = spline.transform(moved, np.full(len(moved), 0.5))
    np.testing.assert_allclose(levels, spline.transform(toy.score, toy.protected), atol=1e-4)


def test_there_and_on_is_straight_on(spline, toy):
    there = spline.move(toy.score, toy.protected, to=0.5)
    on = spline.move(there, np.full(len(there), 0.5), to=0.2)
    straight = spline.move(toy.score, toy.protected, to=0.2)
    close = np.abs(on - straight) < 1e-9
    assert close.mean() > 0.9999  # all but what is beyond the scores of the fit on the way


def test_a_move_to_where_an_event_is_changes_nothing(spline, toy):
    here = np.full(len(toy.score), 0.3)
    np.testing.assert_allclose(spline.move(toy.score, here, to=0.3), toy.score, atol=1e-9)


def test_the_barycentre_is_the_mean_of_the_quantile_functions(spline, toy):
    moved = spline.move(toy.score, toy.protected, to="barycentre")
    mean, width = mean_and_width(np.linspace(0, 1, 1001))
    truth = mean.mean() + width.mean() * norm.ppf(toy.cdf(toy.score, toy.protected))
    assert np.abs(moved - truth).mean() < 0.02
    # No other flat score is nearer: not that of a reference, nor one that is shifted.
    change = np.square(moved - toy.score).mean()
    for other in (spline.move(toy.score, toy.protected, to=0.5), moved + 0.1):
        assert change < np.square(other - toy.score).mean()


def test_weights_of_the_fit_count_in_the_barycentre(toy):
    weight = np.where(toy.protected < 0.5, 3.0, 1.0)
    model = us.SplineDecorrelator().fit(toy.score, toy.protected, sample_weight=weight)
    moved = model.move(toy.score, toy.protected, to="barycentre")
    mean, width = mean_and_width(np.linspace(0, 1, 1001))
    share = np.where(np.linspace(0, 1, 1001) < 0.5, 3.0, 1.0)
    level = norm.ppf(toy.cdf(toy.score, toy.protected))
    truth = np.average(mean, weights=share) + np.average(width, weights=share) * level
    without = mean.mean() + width.mean() * level
    assert np.abs(moved - truth).mean() < 0.03 < np.abs(moved - without).mean()


def test_the_barycentre_of_two_attributes_with_weights():
    rng = np.random.default_rng(1)
    m, kind = rng.uniform(size=20_000), rng.choice(["a", "b"], 20_000)
    weight = np.where(kind == "a", 3.0, 1.0)
    mean, width = 2 * m + (kind == "b"), np.where(kind == "a", 0.5, 1.0)
    level = rng.normal(size=20_000)
    score, table = mean + width * level, Columns(m=m, kind=kind)
    model = us.SplineDecorrelator(categorical=["kind"]).fit(score, table, sample_weight=weight)
    moved = model.move(score, table, to="barycentre")
    truth, without = (
        np.average(mean, weights=w) + np.average(width, weights=w) * level for w in (weight, None)
    )
    assert np.abs(moved - truth).mean() < 0.04 < np.abs(without - truth).mean()


def test_weights_of_both_signs_have_their_barycentre():
    """Where few events lie some parts are negative, and to leave these out moves the mean."""
    rng = np.random.default_rng(3)
    mass = rng.uniform(size=2_000)
    weight = np.where(rng.uniform(size=2_000) < 0.05 + 0.4 * mass, -1.0, 1.0)
    model = us.SplineDecorrelator().fit(rng.normal(mass), mass, sample_weight=weight)
    features, _ = model.attributes_.features(mass, None)
    for points in (model.background_, Background.measure(model.attributes_, features, weight)):
        mean = points.weight @ points.features[:, 0]
        assert mean == pytest.approx(np.average(features[:, 0], weights=weight), abs=0.015)


@pytest.mark.parametrize("amount", [0.0, 0.3, 1.0])
def test_the_amount_is_a_straight_line_that_keeps_the_order(spline, toy, amount):
    there = spline.move(toy.score, toy.protected, to="barycentre")
    moved = spline.move(toy.score, toy.protected, to="barycentre", amount=amount)
    np.testing.assert_allclose(moved, toy.score + amount * (there - toy.score), atol=1e-12)
    scores = np.sort(toy.score)
    assert np.all(np.diff(spline.move(scores, np.full(len(scores), 0.7), to=0.1)) >= 0)


def test_none_of_it_is_the_identity_to_the_last_bit(spline):
    scores = np.array([-0.0, 1e-300, 0.1, 55.5])
    moved = spline.move(scores, [0.1, 0.2, 0.3, 0.4], to=0.5, amount=0)
    assert moved.tobytes() == scores.tobytes()
    assert not np.shares_memory(moved, scores)


def test_scores_beyond_the_fit_move_as_far_as_its_ends(spline, toy):
    low, high = toy.score.min(), toy.score.max()
    scores = np.array([low - 2, low - 1, low, high, high + 1, high + 1e6])
    moved = spline.move(scores, np.full(6, 0.2), to=0.9)
    np.testing.assert_allclose(moved - scores, np.repeat((moved - scores)[[2, 3]], 3))


@pytest.mark.slow
def test_the_others_of_two_attributes_are_kept():
    toy = toys.two_attributes(20_000, 0, seed=1)
    table = Columns(mass=toy.protected[:, 0], pt=toy.protected[:, 1])
    model = us.SplineDecorrelator().fit(toy.score, table)
    moved = model.move(toy.score, table, to={"mass": 100.0})
    there = np.column_stack([np.full(len(moved), 100.0), table["pt"]])
    level = toy.cdf(toy.score, toy.protected)
    assert np.abs(toy.cdf(np.clip(moved, 1e-12, 1 - 1e-12), there) - level).mean() < 0.02
    # By position, and all of them.
    np.testing.assert_array_equal(model.move(toy.score, table, to={0: 100.0}), moved)
    both = model.move(toy.score, table, to={"mass": 100.0, "pt": 400.0})
    single = np.tile([100.0, 400.0], (len(moved), 1))
    np.testing.assert_allclose(
        model.transform(both, Columns(mass=single[:, 0], pt=single[:, 1])),
        model.transform(toy.score, table),
        atol=1e-3,
    )


@pytest.fixture(scope="module")
def events():
    rng = np.random.default_rng(1)
    sample = np.repeat(["data", "simulation"], 20_000)
    share = np.where(sample == "data", 0.3, 0.4)
    wide = np.where(sample == "data", 2.0, 1.0)
    score = np.where(rng.uniform(size=40_000) < share, 0, rng.exponential(wide))
    return score, Columns(sample=sample)


@pytest.fixture(scope="module")
def model(events):
    return us.SplineDecorrelator(categorical=["sample"]).fit(*events)


class TestSamples:
    """A score with a spike at zero, larger in one sample than in the other."""

    def test_the_spike_has_the_right_share(self, model, events):
        score, table = events
        simulated = table["sample"] == "simulation"
        given = score[simulated], table[simulated]
        moved = us.Moved(model, to={"sample": "data"}, seed=1).transform(*given)
        assert np.mean(moved == 0) == pytest.approx(0.3, abs=0.015)
        data = score[~simulated]
        for level in (0.4, 0.6, 0.9):
            assert np.quantile(moved, level) == pytest.approx(np.quantile(data, level), rel=0.08)

    def test_it_grows_without_random_numbers(self, model, events):
        score, table = events
        data = table["sample"] == "data"
        moved = model.move(score[data], table[data], to={"sample": "simulation"})
        assert np.mean(moved == 0) == pytest.approx(0.4, abs=0.015)

    def test_it_moves_as_one_without_random_numbers(self, model, events):
        score, table = events
        moved = model.move(score, table, to={"sample": "data"})
        assert len(np.unique(moved[(score == 0) & (table["sample"] == "simulation")])) == 1

    def test_an_event_has_its_random_number_in_any_chunk(self):
        """Else the chunks of a file, or events one by one, would all draw the same."""
        rng = np.random.default_rng(2)
        mass = rng.uniform(size=2_000)
        score = np.where(rng.uniform(size=2_000) < 0.5 + 0.4 * mass, 0, rng.exponential(size=2_000))
        moved = us.Moved(us.SplineDecorrelator(), to=0.2, seed=1).fit(score, mass)
        whole = moved.transform(score, mass)
        parts = np.array_split(np.arange(2_000), 1_000)
        turned = np.concatenate([moved.transform(score[i], mass[i]) for i in parts[::-1]])
        np.testing.assert_array_equal(turned, whole[np.concatenate(parts[::-1])])
        assert np.mean(turned == 0) == pytest.approx(0.58, abs=0.04)

    def test_scores_beyond_an_atom_at_the_end_keep_their_order(self):
        """They are not the atom, whose events alone are distributed."""
        rng = np.random.default_rng(2)
        mass = rng.uniform(size=2_000)
        score = np.clip(rng.normal(mass, size=2_000), 0, 1)
        moved = us.Moved(us.SplineDecorrelator(), to=0.2, seed=1).fit(score, mass)
        beyond = np.concatenate([np.linspace(-1, -0.01, 50), np.linspace(1.01, 2, 50)])
        rising = moved.transform(beyond, np.full(100, 0.7))
        at_atoms = moved.transform(np.repeat([0.0, 1.0], 50), np.full(100, 0.7))
        assert len(np.unique(at_atoms)) > 20
        assert np.diff(rising).min() > 0
        assert rising[49] < at_atoms[:50].min()
        assert at_atoms[50:].max() < rising[50]

    def test_a_seed_is_a_whole_number(self, model, events):
        with pytest.raises(ValueError, match="seed is -1; expected a whole number of at least 0"):
            us.Moved(model, to={"sample": "data"}, seed=-1).transform(*events)

    def test_an_unknown_category(self, model, events):
        with pytest.raises(ValueError, match=r"sample 'toys'.*\['data', 'simulation'\]"):
            model.move(*events, to={"sample": "toys"})


class TestBadInput:
    @pytest.mark.parametrize(
        ("to", "words"),
        [
            ({"pt": 1.0}, "to names 'pt'; the protected attributes are"),
            ({}, "to is empty"),
            ("low", "'low'; expected a number, or to='barycentre'"),
            (float("nan"), "expected a number"),
            (None, "expected a number"),
        ],
    )
    def test_a_place_that_is_none(self, spline, to, words):
        with pytest.raises(ValueError, match=words):
            spline.move([0.1], [0.5], to=to)

    @pytest.mark.parametrize("amount", [-0.1, 1.1, float("nan"), True, None, "far"])
    def test_an_amount_that_is_none(self, spline, amount):
        with pytest.raises(ValueError, match=r"amount is .*; expected a number from 0"):
            spline.move([0.1], [0.5], to=0.5, amount=amount)

    @pytest.mark.slow
    def test_two_attributes_and_one_value(self):
        toy = toys.two_attributes(500, 0, seed=1)
        model = us.SplineDecorrelator().fit(toy.score, toy.protected)
        with pytest.raises(ValueError, match="name the attribute, to="):
            model.move(toy.score, toy.protected, to=80.0)

    def test_beyond_the_fitted_range(self, toy):
        model = us.SplineDecorrelator().fit(toy.score[:500], toy.protected[:500])
        given = [0.1, 0.2], [0.5, 0.5]
        with pytest.warns(UserWarning, match=r"to has protected 7.0, outside .*stands in"):
            clipped = model.move(*given, to=7.0)
        np.testing.assert_allclose(
            clipped, model.move(*given, to=toy.protected[:500].max()), atol=1e-12
        )
        model.outside = "nan"
        with pytest.warns(UserWarning, match="all scores become NaN"):
            assert np.isnan(model.move(*given, to=7.0)).all()
        model.outside = "raise"
        with pytest.raises(ValueError, match=r"outside the fitted .*; move to a value"):
            model.move(*given, to=7.0)

    @pytest.mark.parametrize("kind", [us.KNNDecorrelator, us.DDTDecorrelator])
    def test_one_working_point(self, toy, kind):
        model = kind().fit(toy.score[:500], toy.protected[:500])
        with pytest.raises(ValueError, match=r"whole distribution.* go around what moves"):
            model.move([0.1], [0.5], to=0.5)

    def test_a_file_from_before(self, spline, toy, monkeypatch):
        monkeypatch.setattr(type(spline), "background_", None)
        with pytest.raises(ValueError, match=r"earlier version.*fit it again"):
            spline.move([0.1], [0.5], to="barycentre")


def test_folds_and_chains(toy):
    score, mass = toy.score[:3000], toy.protected[:3000]
    folds = us.CrossFit(us.SplineDecorrelator(), folds=2).fit(score, mass)
    moved = folds.move(score, mass, to=0.5, event=np.arange(3000))
    np.testing.assert_array_equal(moved[::2], folds.models_[0].move(score[::2], mass[::2], to=0.5))
    inside = us.CrossFit(us.Moved(us.SplineDecorrelator(), to=0.5), folds=2).fit(score, mass)
    np.testing.assert_array_equal(inside.transform(score, mass, event=np.arange(3000)), moved)
    chain = us.SplineDecorrelator().then(us.SplineDecorrelator()).fit(score, mass)
    flat = chain.steps[0].transform(score, mass)
    expected = chain.steps[1].move(flat, mass, to=0.5)
    np.testing.assert_array_equal(chain.move(score, mass, to=0.5), expected)


def test_folds_follow_a_reference_outside_all_of_them(toy):
    score, mass = toy.score[:1000], toy.protected[:1000]
    folds = us.CrossFit(us.SplineDecorrelator(outside="raise"), folds=2).fit(score, mass)
    with pytest.raises(ValueError, match=r"to has protected 7\.0, outside the fitted"):
        folds.move(score, mass, to=7.0)
    folds.outside = "nan"
    with pytest.warns(UserWarning, match="all scores become NaN"):
        assert np.isnan(folds.move(score, mass, to=7.0)).all()
    folds.outside = "clip"
    with pytest.warns(UserWarning, match="the nearest fitted value stands in"):
        clipped = folds.move(score, mass, to=7.0)
    np.testing.assert_array_equal(clipped, folds.move(score, mass, to=mass.max()))


def test_a_copy_has_its_own_word_on_what_is_outside(spline):
    moved = us.Moved(spline, to=0.5)
    other = copy(moved)
    other.outside = "nan"
    assert (moved.outside, spline.outside, other.to) == ("clip", "clip", 0.5)


@pytest.mark.parametrize("to", [0.5, "barycentre"])
def test_a_score_of_a_few_values_stays_one(to):
    """Between two atoms that touch there is nothing to go to; a mean of several has its own."""
    rng = np.random.default_rng(3)
    mass = rng.uniform(size=8_000)
    score = (rng.uniform(size=8_000) < 0.2 + 0.6 * mass) * 7.0
    model = us.Moved(us.SplineDecorrelator(), to=to, seed=1).fit(score, mass)
    moved = model.transform(score, mass)
    # The share of the upper value at 0.5; at the barycentre the share averaged over the masses.
    assert moved.mean() == pytest.approx(3.5, abs=0.15)
    if to == 0.5:
        assert set(np.unique(moved)) == {0.0, 7.0}


def test_it_knows_the_columns_of_the_files_that_its_decorrelator_knows(spline, tmp_path):
    model = copy(spline)
    model.source_ = {"score": ["tagger"], "protected": ["mass"]}
    moved = us.Moved(model, to=0.5)
    moved.save(tmp_path / "moved.unsculpt")
    assert us.load(tmp_path / "moved.unsculpt").source_ == moved.source_ == model.source_
    assert copy(moved).source_ == model.source_
    for varied in moved.variations(1)[0]:
        assert varied.source_ == model.source_


def test_a_moved_one_is_not_moved_again(spline):
    with pytest.raises(ValueError, match=r"is a Moved already, to 0.5; move its decorrelator"):
        us.Moved(spline, to=0.5).move([0.1], [0.5], to=0.2)


@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 9))]
)
def test_any_shape_keeps_its_order_and_comes_back(seed):
    """Two bumps of any width that move with the attribute; of odd seeds, with a spike."""
    rng, n = np.random.default_rng(seed), 400
    mass, bump = rng.uniform(size=n), rng.integers(0, 2, n)
    slope, start, wide = rng.normal(size=2), rng.normal(0, 2, 2), 10 ** rng.uniform(-2, 1, 2)
    score = (start + slope * mass[:, None] + wide * rng.normal(size=(n, 2)))[range(n), bump]
    score[: 120 * (seed % 2)] = 0.0
    model = us.SplineDecorrelator().fit(score, mass)
    scores, here = np.sort(score), np.full(n, mass[0])
    to = float(mass[1])
    for amount in (0.0, *rng.uniform(size=3), 1.0):
        for where in (to, "barycentre"):
            moved = model.move(scores, here, to=where, amount=amount)
            assert np.all(np.diff(moved) >= 0)
            assert amount > 0 or moved.tobytes() == scores.tobytes()
    if not seed % 2:  # a spike that is smaller there does not come back as one
        there = model.move(scores, here, to=to)
        back = model.move(there, np.full(n, to), to=mass[0])
        level = model.transform(scores, here)
        low, high = model.transform(scores[[0, -1]], [to, to])
        reached = (level > low) & (level < high)  # by a score of the fit
        np.testing.assert_allclose(model.transform(back, here)[reached], level[reached], atol=1e-6)
        assert reached.mean() > 0.5


def test_the_model_file_carries_it(spline, toy, tmp_path):
    moved = us.Moved(spline, to={0: 0.5}, amount=0.7)
    moved.save(tmp_path / "moved.unsculpt")
    again = us.load(tmp_path / "moved.unsculpt")
    assert again.amount == 0.7
    np.testing.assert_array_equal(
        again.transform(toy.score, toy.protected), moved.transform(toy.score, toy.protected)
    )
    # A parameter that changes is followed.
    again.to = 0.2
    np.testing.assert_array_equal(
        again.transform(toy.score, toy.protected),
        spline.move(toy.score, toy.protected, to=0.2, amount=0.7),
    )


def test_points_stand_for_the_background_with_its_weights():
    rng = np.random.default_rng(1)
    x, k = rng.normal(size=20_000), rng.choice(["a", "b"], 20_000)
    weight = np.where(k == "a", 2.0, 1.0) * rng.choice([1.0, -0.2], 20_000)
    table = Columns(x=x, k=k)
    attributes = ProtectedAttributes.learn(table, weight, ["k"])
    features, _ = attributes.features(table, "raise")
    points = Background.measure(attributes, features, weight)
    assert len(points.weight) <= 512
    mean = np.average(features, axis=0, weights=weight)
    np.testing.assert_allclose(points.weight @ points.features, mean, atol=0.01)
    one = points.features[:, 1:].max(axis=1)
    np.testing.assert_allclose(one, 1)  # of the two categories


@pytest.mark.parametrize("to", [0.5, "barycentre"])
def test_onnx_carries_it(spline, toy, tmp_path, to):
    onnxruntime = pytest.importorskip("onnxruntime")
    from unsculpt.export import to_onnx

    model = us.Moved(spline, to=to, amount=0.7)
    to_onnx(model, tmp_path / "moved.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "moved.onnx")
    scores = np.array([*toy.score[:1000], -50.0, 50.0])
    mass = np.array([*toy.protected[:1000], 0.2, 0.8])
    (moved,) = session.run(None, {"score": scores, "protected": mass})
    np.testing.assert_allclose(moved, model.transform(scores, mass), rtol=1e-9, atol=1e-9)
