import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unsculpt.classifiers import Classifier
from unsculpt.classifiers.recipe import Recipe
from unsculpt.penalties import distance_correlation, moment_decomposition


def parameters(classifier):
    layers = [*classifier.network_.weights, *classifier.network_.biases]
    return b"".join(np.asarray(layer).tobytes() for layer in layers)


def sculpting(classifier, events):
    background = events.y == 0
    score = classifier.predict_proba(events.X[background])[:, 1]
    return float(distance_correlation(score, events.mass[background]))


@pytest.fixture
def trained(quick):
    """Parameters of a good fit; the shapes of `quick`, so nothing more is compiled."""
    return quick | {"epochs": 40, "learning_rate": 1e-2}


class TestSeparation:
    def test_it_reaches_the_best_there_is(self, trained, events, fresh):
        classifier = Classifier(**trained).fit(events.X, events.y)
        # Shifts of one in two independent features of variance 5/4 and 1.
        best = norm.cdf(((1 / 1.25 + 1) / 2) ** 0.5)
        found = roc_auc_score(fresh.y, classifier.decision_function(fresh.X))
        assert found == pytest.approx(best, abs=0.015)

    def test_probabilities_are_calibrated(self, trained, events, fresh):
        # Normal features of equal widths have log odds that are linear.
        theirs = LogisticRegression().fit(events.X, events.y).predict_proba(fresh.X)
        ours = Classifier(**trained).fit(events.X, events.y).predict_proba(fresh.X)
        assert np.abs(ours - theirs).mean() < 0.05

    def test_three_classes(self):
        X, y = load_iris(return_X_y=True)
        classifier = Classifier(epochs=60, batch_size=32).fit(X, y)
        assert classifier.score(X, y) > 0.95
        share = classifier.predict_proba(X)
        assert share.shape == classifier.decision_function(X).shape == (150, 3)
        np.testing.assert_allclose(share.sum(axis=1), 1)

    def test_weights_shift_the_odds(self, events, trained):
        one, two = (
            Classifier(**trained).fit(
                events.X, events.y, sample_weight=np.where(events.y == 1, factor, 1.0)
            )
            for factor in (1, 5)
        )
        shift = two.decision_function(events.X) - one.decision_function(events.X)
        assert np.median(shift) == pytest.approx(np.log(5), abs=0.4)


class TestPenalty:
    @pytest.mark.parametrize(
        "strong",
        [
            pytest.param(Classifier.disco(1, seed=2), id="disco"),
            pytest.param(Classifier.mode(10), id="mode", marks=pytest.mark.slow),
            pytest.param(Classifier.adversarial(5), id="adversary", marks=pytest.mark.slow),
        ],
    )
    def test_it_takes_out_what_the_score_knows_of_the_mass(self, strong, trained, events, fresh):
        strong.set_params(**trained).fit(events.X, events.y, protected=events.mass)
        plain = clone(strong).set_params(alpha=0).fit(events.X, events.y)
        assert sculpting(strong, fresh) < 0.4 * sculpting(plain, fresh)
        assert roc_auc_score(fresh.y, strong.decision_function(fresh.X)) > 0.7

    @pytest.mark.parametrize("preset", ["disco", "mode", "adversarial"])
    def test_none_of_it_is_no_penalty_bit_for_bit(self, preset, events, quick):
        zero = getattr(Classifier, preset)(0, **quick)
        none = clone(zero).set_params(penalty=None, penalty_options=None)
        zero.fit(events.X, events.y, protected=events.mass)
        none.fit(events.X, events.y)
        assert parameters(zero) == parameters(none)
        assert zero.history_["train_loss"].tobytes() == none.history_["train_loss"].tobytes()

    @pytest.mark.slow
    def test_any_function_will_do(self, events, trained):
        def pull_down(scores, protected, *, sample_weight):
            return (sample_weight * scores).sum() / sample_weight.sum()

        plain = Classifier(**trained).fit(events.X, events.y)
        pulled = Classifier(penalty=pull_down, alpha=5, **trained)
        pulled.fit(events.X, events.y, protected=events.mass)
        background = events.X[events.y == 0]
        scores = [c.predict_proba(background)[:, 1].mean() for c in (plain, pulled)]
        assert scores[1] < 0.8 * scores[0]

    def test_options_reach_the_penalty(self):
        recipe = Recipe.from_parameters(Classifier.mode(5, order=2).get_params())
        assert recipe.penalty is moment_decomposition
        assert recipe.options == (("order", 2),)

    def test_units_of_the_attribute_do_not_matter(self, events, quick, normalised):
        in_mev = Classifier.disco(2, **quick)
        in_mev.fit(events.X, events.y, protected=1000 * events.mass + 7)
        np.testing.assert_allclose(
            in_mev.predict_proba(events.X), normalised.predict_proba(events.X), atol=1e-4
        )


class TestPapersRecipes:
    """The settings of arXiv:2211.02486, appendix."""

    @pytest.mark.parametrize(
        ("classifier", "activation", "normalised", "batch_size", "penalty"),
        [
            (Classifier.vdnn(), "relu", False, 256, None),
            (Classifier.disco(50), "swish", True, 2048, "distance_correlation"),
            (Classifier.mode(50), "swish", True, 16384, "moment_decomposition"),
        ],
        ids=["vdnn", "disco", "mode"],
    )
    def test_they_are_followed(self, classifier, activation, normalised, batch_size, penalty):
        assert tuple(classifier.hidden) == (64, 64, 64)
        assert classifier.activation == activation
        assert classifier.batch_normalisation is normalised
        assert classifier.batch_size == batch_size
        assert classifier.penalty == penalty
        assert (classifier.epochs, classifier.learning_rate) == (100, 1e-3)

    def test_a_strength_is_an_alpha(self):
        assert Classifier.adversarial(strength=30).alpha == 30

    def test_the_order_of_moment_decomposition(self):
        assert Classifier.mode(10, order=2).penalty_options == {"order": 2}

    def test_other_options_do_not_change_the_order(self):
        classifier = Classifier.mode(5, order=2, penalty_options={"bins": 16})
        assert classifier.penalty_options == {"order": 2, "bins": 16}

    def test_anything_can_be_changed(self):
        assert Classifier.mode(10, batch_size=512, seed=3).batch_size == 512


class TestDeterminism:
    def test_the_same_seed_gives_the_same_bytes(self, events, quick, normalised):
        again = clone(normalised).fit(events.X, events.y, protected=events.mass)
        assert parameters(again) == parameters(normalised)

    def test_another_seed_gives_another_classifier(self, events, quick, tagger):
        assert parameters(Classifier(seed=1, **quick).fit(events.X, events.y)) != parameters(tagger)

    def test_units_of_a_feature_do_not_matter(self, events, quick, tagger):
        scaled = Classifier(**quick).fit(events.X * [1024, 0.25], events.y)
        assert parameters(scaled) == parameters(tagger)

    def test_an_event_is_scored_by_itself(self, normalised, events):
        all_of_them = normalised.decision_function(events.X)
        one = normalised.decision_function(events.X[17:18])
        np.testing.assert_allclose(all_of_them[17:18], one, rtol=1e-12)


class TestManners:
    def test_it_is_a_classifier(self):
        assert is_classifier(Classifier())

    def test_clone_copies_parameters_and_nothing_learned(self, normalised):
        copied = clone(normalised)
        assert copied.get_params() == normalised.get_params()
        with pytest.raises(NotFittedError):
            copied.predict_proba([[1.0, 2.0]])

    def test_in_a_pipeline(self, events, quick, tagger):
        pipeline = make_pipeline(StandardScaler(), Classifier(**quick)).fit(events.X, events.y)
        np.testing.assert_allclose(
            pipeline.predict_proba(events.X), tagger.predict_proba(events.X), atol=1e-5
        )

    def test_labels_come_back_as_they_were(self, events, quick):
        named = np.where(events.y == 1, "signal", "background")
        classifier = Classifier(**quick).fit(events.X, named)
        assert classifier.classes_.tolist() == ["background", "signal"]
        assert set(classifier.predict(events.X)) <= {"background", "signal"}

    def test_predict_is_the_more_probable(self, tagger, events):
        expected = tagger.predict_proba(events.X)[:, 1] > 0.5
        np.testing.assert_array_equal(tagger.predict(events.X) == 1, expected)
        np.testing.assert_array_equal(tagger.decision_function(events.X) > 0, expected)

    def test_a_table_keeps_its_names(self, events, quick):
        table = pd.DataFrame(events.X, columns=["tau21", "d2"])
        classifier = Classifier(**quick).fit(table, events.y)
        assert classifier.feature_names_in_.tolist() == ["tau21", "d2"]
        with pytest.raises(ValueError, match="feature names"):
            classifier.predict_proba(table[["d2", "tau21"]])

    def test_many_events_are_one_after_the_other(self, tagger, events):
        many = np.tile(events.X, (20, 1))
        np.testing.assert_array_equal(
            tagger.decision_function(many), np.tile(tagger.decision_function(events.X), 20)
        )


class TestBadInput:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"activation": "tanh"}, "activation is 'tanh'; expected 'relu' or 'swish'"),
            ({"epochs": 0}, "epochs is 0; expected a whole number of at least 1"),
            ({"hidden": (64, 0)}, "hidden is 0; expected a whole number of at least 1"),
            ({"seed": -1}, "seed is -1; expected a whole number of at least 0"),
            ({"learning_rate": 0}, "learning_rate is 0; expected a positive number"),
            ({"alpha": -1}, "alpha is -1; expected a number of at least 0"),
            ({"alpha": 1, "penalty": None}, "alpha is 1 but there is no penalty"),
            ({"penalty": "disco"}, "penalty is 'disco'; expected 'distance_correlation'"),
        ],
    )
    def test_parameters(self, change, message, events):
        with pytest.raises(ValueError, match=message):
            Classifier(**change).fit(events.X, events.y)

    def test_a_penalty_needs_something_to_protect(self, events):
        with pytest.raises(ValueError, match="has a penalty; pass what to protect as protected="):
            Classifier.disco(10).fit(events.X, events.y)

    def test_missing_values_are_counted_and_their_column_named(self, events):
        table = pd.DataFrame(events.X, columns=["tau21", "d2"])
        table.loc[3:7, "d2"] = np.nan
        with pytest.raises(ValueError, match=r"X\['d2'\] is NaN or infinite in 5 of 2,000 events"):
            Classifier().fit(table, events.y)
        with pytest.raises(ValueError, match=r"X\[:, 1\] is NaN or infinite in 5 of 2,000 events"):
            Classifier().fit(table.to_numpy(), events.y)

    def test_prediction_refuses_them_too(self, tagger):
        with pytest.raises(ValueError, match=r"X\[:, 0\] is NaN or infinite in 1 of 1 events"):
            tagger.predict_proba([[np.inf, 1.0]])

    def test_one_class(self, events):
        with pytest.raises(ValueError, match=r"y is .*1.* in all 2,000 events"):
            Classifier().fit(events.X, np.ones(2000, int))

    def test_lengths(self, events):
        with pytest.raises(ValueError, match="y has 5 events but X has 2,000"):
            Classifier().fit(events.X, events.y[:5])
        with pytest.raises(ValueError, match="protected has 5 events but X has 2,000"):
            Classifier.disco(1).fit(events.X, events.y, protected=events.mass[:5])
        with pytest.raises(ValueError, match="sample_weight has 5 events but X has 2,000"):
            Classifier().fit(events.X, events.y, sample_weight=np.ones(5))

    def test_a_constant_attribute(self, events):
        mass = np.where(events.y == 0, 80.0, events.mass)
        with pytest.raises(ValueError, match="protected on background is 80 in all"):
            Classifier.disco(1).fit(events.X, events.y, protected=mass)

    @pytest.mark.slow
    def test_a_constant_feature_is_no_feature(self, normalised, events, quick):
        table = np.column_stack([events.X, np.full(2000, 0.1)])  # whose mean is rounded
        classifier = Classifier.disco(2, **quick).fit(table, events.y, protected=events.mass)
        scores = classifier.predict_proba(table)[:, 1]
        assert np.corrcoef(scores, normalised.predict_proba(events.X)[:, 1])[0, 1] > 0.9
        assert classifier.width_[2] == 1

    def test_another_number_of_features(self, tagger, events):
        with pytest.raises(ValueError, match="X has 1 features, but Classifier is expecting 2"):
            tagger.predict_proba(events.X[:, :1])

    def test_a_failed_fit_leaves_the_old_one(self, events, quick):
        classifier = Classifier(**quick).fit(events.X, events.y)
        before = parameters(classifier)
        with pytest.raises(ValueError, match="NaN"):
            classifier.fit(np.full((2000, 2), np.nan), events.y)
        assert parameters(classifier) == before
