import awkward as ak
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import unsculpt as us
from unsculpt.classifiers import Classifier
from unsculpt.datasets import toys

EVENTS = 1500


@pytest.fixture(scope="module")
def toy():
    return toys.smooth(EVENTS, 0, seed=1)


@pytest.fixture(scope="module")
def number():
    """Event numbers as a run has them: not in order, not all there."""
    return np.random.default_rng(2).permutation(10 * EVENTS)[:EVENTS]


@pytest.fixture(scope="module")
def spline(toy, number):
    model = us.CrossFit(us.SplineDecorrelator(), folds=3)
    return model.fit(toy.score, toy.protected, event=number)


def assert_same(one, other):
    np.testing.assert_array_equal(one, other)


class TestFolds:
    def test_each_is_fitted_on_the_others(self, spline, toy, number):
        flat = spline.transform(toy.score, toy.protected, event=number)
        for k in range(3):
            own = number % 3 == k
            alone = us.SplineDecorrelator().fit(toy.score[~own], toy.protected[~own])
            assert_same(flat[own], _quietly(alone, toy.score[own], toy.protected[own]))

    def test_the_error_is_that_of_the_model_of_the_fold(self, spline, toy, number):
        score, mass, event = toy.score[:50], toy.protected[:50], number[:50]
        each = np.array([m.uncertainty(score, mass) for m in spline.models_])
        error = spline.uncertainty(score, mass, event=event)
        assert_same(error, each[event % 3, np.arange(50)])
        # The mean of three maps knows all events, each of them two thirds.
        all_of_them = (2 / 3) ** 0.5
        new = all_of_them * each.mean(axis=0)
        np.testing.assert_allclose(spline.uncertainty(score, mass), new)
        squares = all_of_them * (each**2).mean(axis=0) ** 0.5
        for folds, expected in (({"event": event}, error), ({}, squares)):
            moves = spline.deviations(score, mass, **folds)
            np.testing.assert_allclose((moves**2).sum(axis=1) ** 0.5, expected, rtol=0.03)

    def test_the_error_of_new_events_is_that_of_a_fit_on_all(self, toy):
        folds = us.CrossFit(us.SplineDecorrelator(), folds=2).fit(toy.score, toy.protected)
        whole = us.SplineDecorrelator().fit(toy.score, toy.protected)
        mass = np.linspace(0.1, 0.9, 30)
        cut = whole.threshold(0.5, mass)
        ratio = folds.uncertainty(cut, mass) / whole.uncertainty(cut, mass)
        assert np.median(ratio) == pytest.approx(1, abs=0.15)

    def test_the_error_of_lists(self, spline, toy):
        score, mass = (
            ak.Array([x[:2].tolist(), [], x[2:3].tolist()]) for x in (toy.score, toy.protected)
        )
        found = spline.uncertainty(score, mass)
        assert ak.num(found).tolist() == [2, 0, 1]
        flat = spline.uncertainty(toy.score[:3], toy.protected[:3])
        assert_same(ak.to_numpy(ak.flatten(found)), flat)

    def test_without_errors_of_the_models_there_is_none(self, toy):
        model = us.CrossFit(us.KNNDecorrelator(), folds=2).fit(toy.score, toy.protected)
        assert not hasattr(model, "uncertainty")
        assert not hasattr(model, "deviations")

    @pytest.mark.parametrize("kind", [us.KNNDecorrelator, us.DDTDecorrelator])
    def test_an_event_does_not_change_its_own_model(self, kind, toy, number):
        """Whatever its score: only the other models have seen it."""
        row = 17
        changed = toy.score.copy()
        changed[row] += 100
        models = [
            us.CrossFit(kind(), folds=3).fit(score, toy.protected, event=number)
            for score in (toy.score, changed)
        ]
        for k in range(3):
            one, other = (m.transform(toy.score, toy.protected, fold=[k] * EVENTS) for m in models)
            assert np.all(one == other) == (number[row] % 3 == k)

    def test_another_order_of_the_events(self, toy, number):
        order = np.random.default_rng(0).permutation(EVENTS)
        one = us.CrossFit(us.KNNDecorrelator()).fit_transform(
            toy.score, toy.protected, event=number
        )
        other = us.CrossFit(us.KNNDecorrelator()).fit_transform(
            toy.score[order], toy.protected[order], event=number[order]
        )
        np.testing.assert_allclose(other, one[order], rtol=0, atol=1e-12)

    def test_rows_are_numbered_where_events_are_not(self, toy):
        model = us.CrossFit(us.KNNDecorrelator(), folds=4)
        flat = model.fit_transform(toy.score, toy.protected)
        rows = np.arange(EVENTS)
        assert_same(flat, model.transform(toy.score, toy.protected, fold=rows % 4))
        again = clone(model).fit_transform(toy.score, toy.protected, event=rows)
        assert_same(flat, again)

    def test_new_events_get_the_mean(self, spline, toy):
        each = [spline.transform(toy.score, toy.protected, fold=[k] * EVENTS) for k in range(3)]
        new = spline.transform(toy.score, toy.protected)
        np.testing.assert_allclose(new, np.mean(each, axis=0), rtol=0, atol=1e-15)
        mixed = np.where(np.arange(EVENTS) < 10, 2, -1)
        flat = spline.transform(toy.score, toy.protected, fold=mixed)
        assert_same(flat, np.where(mixed == 2, each[2], new))

    def test_the_mean_of_equal_numbers_is_that_number(self, spline, toy):
        """So that a score that moves nowhere stays what it is, to the last bit."""
        moved = spline.move(*_pair(toy), to=0.5, amount=0)
        assert moved.tobytes() == toy.score.tobytes()

    def test_large_event_numbers_keep_their_last_digit(self, toy):
        number = np.arange(EVENTS, dtype=np.uint64) + np.uint64(2**63)
        model = us.CrossFit(us.DDTDecorrelator(), folds=2)
        flat = model.fit_transform(toy.score, toy.protected, event=number)
        assert_same(flat, us.CrossFit(us.DDTDecorrelator(), 2).fit_transform(*_pair(toy)))

    def test_no_event_is_outside_its_own_fit(self, toy):
        """The one of largest mass is beyond all that its model has seen."""
        for outside in ("clip", "raise", "nan"):
            model = us.CrossFit(us.KNNDecorrelator(outside=outside), folds=3)
            assert np.isfinite(model.fit_transform(toy.score, toy.protected)).all()

    def test_the_decorrelator_stays_as_it_is(self, spline):
        assert not hasattr(spline.decorrelator, "counts_")
        assert spline.get_params()["decorrelator__outside"] == "clip"


class TestAnswers:
    def test_a_threshold_is_that_of_the_fold(self, spline, toy, number):
        cut = spline.threshold(0.2, toy.protected, event=number)
        flat = spline.transform(toy.score, toy.protected, event=number)
        assert np.mean((toy.score > cut) == (flat > 0.8)) > 0.999
        new = spline.threshold(0.2, toy.protected)
        assert abs(np.mean(toy.score > new) - 0.2) < 0.02

    def test_no_threshold(self, toy):
        model = us.CrossFit(us.DDTDecorrelator()).fit(toy.score, toy.protected)
        with pytest.raises(TypeError, match="DDTDecorrelator has no threshold, so neither has a"):
            model.threshold(0.1, toy.protected)

    def test_an_inverse_is_that_of_the_fold(self, spline, toy, number):
        flat = spline.transform(toy.score, toy.protected, event=number)
        back = spline.inverse_transform(flat, toy.protected, event=number)
        np.testing.assert_allclose(back, toy.score, rtol=0, atol=1e-6)

    def test_no_inverse(self, spline, toy, number):
        fold = np.where(np.arange(EVENTS) < 7, -1, number % 3)
        with pytest.raises(ValueError, match=r"^7 of 1,500 events have no fold, .* pass event= or"):
            spline.inverse_transform(toy.score, toy.protected, fold=fold)
        with pytest.raises(ValueError, match="1,500 of 1,500 events have no fold"):
            spline.inverse_transform(toy.score, toy.protected)
        model = us.CrossFit(us.Moved(us.SplineDecorrelator(), to=0.5), 2).fit(*_pair(toy))
        with pytest.raises(TypeError, match="Moved has no inverse_transform, so neither has a Cro"):
            model.inverse_transform(toy.score, toy.protected, event=number)

    def test_weights(self, toy, number):
        weight = np.where(np.arange(EVENTS) % 7 == 0, -0.3, toy.protected + 1)
        model = us.CrossFit(us.KNNDecorrelator(), folds=3)
        flat = model.fit_transform(toy.score, toy.protected, event=number, sample_weight=weight)
        own = number % 3 == 1
        alone = us.KNNDecorrelator().fit(
            toy.score[~own], toy.protected[~own], sample_weight=weight[~own]
        )
        assert_same(flat[own], _quietly(alone, toy.score[own], toy.protected[own]))

    def test_two_attributes_and_two_scores(self, toy, number):
        table = pd.DataFrame({"mass": toy.protected + 1, "pt": number + 1.0})
        scores = np.column_stack([toy.score, toy.score**3])
        for inner in (us.KNNDecorrelator(), us.DDTDecorrelator(outside="raise")):
            model = us.CrossFit(inner, folds=3)
            flat = model.fit_transform(scores, table, event=number)
            assert flat.shape == scores.shape
            turned = model.transform(scores, table[["pt", "mass"]], event=number)
            assert_same(turned, flat)

    def test_signal_is_not_fitted(self, toy, number):
        label = (number % 7 == 0).astype(int)
        some = label == 0
        both = us.CrossFit(us.KNNDecorrelator(), 3)
        both.fit(toy.score, toy.protected, event=number, label=label)
        alone = us.CrossFit(us.KNNDecorrelator(), 3)
        alone.fit(toy.score[some], toy.protected[some], event=number[some])
        inside = toy.score[some], toy.protected[some]
        assert_same(
            both.transform(*inside, event=number[some]),
            alone.transform(*inside, event=number[some]),
        )

    def test_files(self, spline, toy, number, tmp_path):
        spline.save(tmp_path / "a.unsculpt")
        loaded = us.load(tmp_path / "a.unsculpt")
        assert_same(
            loaded.transform(toy.score, toy.protected, event=number),
            spline.transform(toy.score, toy.protected, event=number),
        )
        loaded.save(tmp_path / "b.unsculpt")
        assert (tmp_path / "a.unsculpt").read_bytes() == (tmp_path / "b.unsculpt").read_bytes()
        assert loaded.get_params()["decorrelator__outside"] == "clip"
        again = clone(loaded).fit_transform(toy.score, toy.protected, event=number)
        assert_same(again, spline.transform(toy.score, toy.protected, event=number))


class TestMistakes:
    @pytest.mark.parametrize("folds", [1, 0, 2.5, "5", None])
    def test_folds(self, folds, toy):
        with pytest.raises(ValueError, match="expected a whole number of at least 2"):
            us.CrossFit(us.KNNDecorrelator(), folds).fit(toy.score, toy.protected)

    def test_more_folds_than_events(self, toy):
        model = us.CrossFit(us.KNNDecorrelator(), folds=2000)
        with pytest.raises(ValueError, match="has 1500 events; a fit needs at least 10 of backgro"):
            model.fit(toy.score, toy.protected)

    def test_event_numbers_that_leave_a_fold_empty(self, toy):
        model = us.CrossFit(us.KNNDecorrelator(), folds=2)
        with pytest.raises(ValueError, match="fold 1 of 2 has 0 background events; expected at l"):
            model.fit(toy.score, toy.protected, event=2 * np.arange(EVENTS))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda x: x + 0.5, r"event is \d+\.5 and the like in 1,500 of 1,500 .* whole numbers"),
            (lambda x: x * 1.0 + 2.0**60, "event is .* expected whole numbers, those beyond"),
            (lambda x: np.where(x < 50, np.nan, x), "event is NaN or infinite"),
            (lambda x: x.astype(str), "event holds text such as"),
            (lambda x: x[1:], "event has 1,499 events but scores has 1,500"),
            (lambda x: x[:, None], r"event has shape \(1500, 1\)"),
        ],
    )
    def test_event_numbers(self, change, message, spline, toy, number):
        model = us.CrossFit(us.KNNDecorrelator())
        with pytest.raises(ValueError, match=message):
            model.fit(toy.score, toy.protected, event=change(number))
        with pytest.raises(ValueError, match=message):
            spline.transform(toy.score, toy.protected, event=change(number))

    def test_folds_that_are_not_there(self, spline, toy, number):
        with pytest.raises(ValueError, match=r"fold is \d+ and the like in .* expected 0 to 2, or"):
            spline.transform(toy.score, toy.protected, fold=number)
        with pytest.raises(ValueError, match="fold and event are both given"):
            spline.transform(toy.score, toy.protected, fold=number, event=number)

    def test_a_category_that_one_model_has_not_seen(self, toy):
        channel = np.where(np.arange(EVENTS) == 4, "em", "ee").astype("U2")
        channel[::2] = "mm"
        channel[4] = "em"
        table = pd.DataFrame({"mass": toy.protected, "channel": channel})
        model = us.CrossFit(us.KNNDecorrelator(categorical=["channel"]), folds=3)
        with pytest.raises(ValueError, match="channel is 'em' in too few events: there are models"):
            model.fit(toy.score, table)

    def test_what_is_no_decorrelator(self, toy):
        with pytest.raises(TypeError, match="decorrelator is a str; expected a decorrelator"):
            us.CrossFit("spline").fit(toy.score, toy.protected)

    def test_in_a_chain(self):
        spline = us.SplineDecorrelator()
        for chain in (lambda: us.CrossFit(spline).then(spline), lambda: spline.then(_cross())):
            with pytest.raises(TypeError, match="put it around the whole chain"):
                chain()


@pytest.fixture
def events():
    """Features, masses and labels; no signal is lighter or heavier than all background."""
    rng = np.random.default_rng(0)
    mass, label = rng.uniform(size=1200), rng.integers(2, size=1200)
    label[[mass.argmin(), mass.argmax()]] = 0
    features = np.column_stack([mass + label, rng.normal(size=1200) + label])
    return pd.DataFrame(features, columns=["a", "b"]), mass, label


@pytest.fixture
def chain():
    return Classifier(hidden=(8,), epochs=2, batch_size=100).then(us.KNNDecorrelator(0.3))


class TestClassifier:
    def test_no_part_has_seen_what_it_is_used_on(self, chain, events, tmp_path):
        features, mass, label = events
        model = us.CrossFit(chain, folds=4)
        flat = model.fit_transform(features, mass, label=label)
        fold = np.arange(1200) % 4
        own, following = fold == 1, (fold == 2) & (label == 0)
        learn = (fold == 3) | (fold == 0)
        classifier = clone(chain.steps[0]).fit(features[learn], label[learn])
        map_ = us.KNNDecorrelator(0.3)
        map_.fit(classifier.predict_proba(features[following])[:, 1], mass[following])
        want = _quietly(map_, classifier.predict_proba(features[own])[:, 1], mass[own])
        assert_same(flat[own], want)
        model.save(tmp_path / "model.unsculpt")
        loaded = us.load(tmp_path / "model.unsculpt")
        assert_same(loaded.transform(features, mass, fold=fold), flat)

    def test_it_needs_labels_and_three_folds(self, chain, events):
        features, mass, label = events
        with pytest.raises(ValueError, match=r"begins with a classifier, .* pass the classes"):
            us.CrossFit(chain).fit(features, mass)
        with pytest.raises(ValueError, match="folds is 2; expected a whole number of at least 3"):
            us.CrossFit(chain, folds=2).fit(features, mass, label=label)

    def test_it_has_no_inverse(self, chain, events):
        features, mass, label = events
        model = us.CrossFit(chain, folds=3).fit(features, mass, label=label)
        with pytest.raises(TypeError, match="Classifier has no inverse_transform, so neither has"):
            model.inverse_transform(np.full(1200, 0.5), mass, event=np.arange(1200))

    def test_it_comes_first(self, events):
        features, mass, label = events
        chain = us.KNNDecorrelator().then(Classifier()).then(us.KNNDecorrelator())
        with pytest.raises(ValueError, match="a Classifier stands behind a KNNDecorrelator"):
            us.CrossFit(chain).fit(features, mass, label=label)


def _cross():
    return us.CrossFit(us.SplineDecorrelator())


def _pair(toy):
    return toy.score, toy.protected


def _quietly(model, scores, protected):
    """What a model makes of events, some of them a little beyond those of its fit."""
    low, high = model.attributes_.attributes[0].cdf.range
    return model.transform(scores, np.clip(protected, low, high))


def test_each_model_keeps_its_own_policy(tmp_path):
    toy = toys.smooth(600, 0, seed=1)
    model = us.CrossFit(us.DDTDecorrelator(outside="raise"), folds=2).fit(toy.score, toy.protected)
    model.save(tmp_path / "m.unsculpt")
    for one in (model, us.load(tmp_path / "m.unsculpt")):
        assert [part.outside for part in one.models_] == ["raise"] * 2
        with pytest.raises(ValueError, match="outside the fitted"):
            one.models_[0].transform([0.5], [99.0])
        assert np.isfinite(one.transform(toy.score, toy.protected)).all()


def test_labels_of_another_shape_are_refused():
    toy = toys.smooth(100, 0, seed=1)
    with pytest.raises(ValueError, match="label has shape"):
        us.CrossFit(us.DDTDecorrelator()).fit(toy.score, toy.protected, label=np.zeros((100, 1)))
