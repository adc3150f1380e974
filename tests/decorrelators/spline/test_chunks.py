import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import unsculpt as us
from unsculpt import SplineDecorrelator
from unsculpt.datasets import toys


@pytest.fixture(scope="module")
def toy():
    return toys.tagger(1_500, 0, seed=1)


@pytest.fixture(scope="module")
def whole(toy):
    return SplineDecorrelator().fit(toy.score, toy.protected)


def counted(spline, toy, rows, **weights):
    return spline.partial_fit(toy.score[rows], toy.protected[rows], **weights)


THIRDS = [slice(0, 500), slice(500, 1_000), slice(1_000, None)]


class TestChunks:
    def test_chunks_give_what_one_fit_gives(self, toy, whole):
        parts = whole.empty()
        for rows in THIRDS:
            counted(parts, toy, rows)
        np.testing.assert_array_equal(parts.counts_, whole.counts_)
        np.testing.assert_array_equal(
            parts.transform(toy.score, toy.protected), whole.transform(toy.score, toy.protected)
        )
        assert parts.events_ == whole.events_ == 1_500

    def test_the_first_chunk_sets_the_binning(self, toy):
        spline = SplineDecorrelator()
        counted(spline, toy, slice(None))
        before = spline.transform(toy.score, toy.protected)
        counted(spline, toy, THIRDS[0])
        assert spline.events_ == 2_000
        assert np.any(spline.transform(toy.score, toy.protected) != before)

    def test_fit_forgets(self, toy, whole):
        spline = SplineDecorrelator()
        counted(spline, toy, THIRDS[0])
        spline.fit(toy.score, toy.protected)
        np.testing.assert_array_equal(spline.counts_, whole.counts_)

    def test_a_chunk_may_be_one_event_of_negative_weight(self, toy, whole):
        twice = whole.empty()
        counted(twice, toy, slice(None))
        counted(twice, toy, slice(0, 1))
        counted(twice, toy, slice(0, 1), sample_weight=[-1.0])
        np.testing.assert_array_equal(twice.counts_, whole.counts_)

    def test_scores_beyond_those_of_the_binning_count_at_the_ends(self, whole):
        spline = whole.empty().partial_fit([-5.0, 5.0], [80.0, 80.0])
        assert spline.counts_[0][..., [0, -1]].sum(axis=0).tolist() == [1, 1]

    @pytest.mark.parametrize(("outside", "kept"), [("clip", 2), ("nan", 1)])
    def test_attributes_beyond_the_binning_follow_the_policy(self, whole, outside, kept):
        spline = whole.empty().set_params(outside=outside)
        with pytest.warns(UserWarning, match="in 1 of 2 events"):
            spline.partial_fit([0.5, 0.5], [80.0, 900.0])
        assert spline.counts_[0].sum() == spline.events_ == kept

    def test_attributes_beyond_the_binning_can_be_refused(self, whole):
        with pytest.raises(ValueError, match="outside the fitted"):
            whole.empty().set_params(outside="raise").partial_fit([0.5], [900.0])

    def test_another_number_of_scores_is_refused(self, whole):
        with pytest.raises(ValueError, match="scores has 2 columns; earlier ones had 1"):
            whole.empty().partial_fit(np.ones((3, 2)), np.ones(3))


class TestSums:
    def test_the_sum_of_parts_is_the_whole(self, toy, whole, tmp_path):
        whole.empty().save(tmp_path / "binning")
        first, second, third = (
            counted(us.load(tmp_path / "binning"), toy, rows) for rows in THIRDS
        )
        # A worker's answer travels as a pickle.
        total = first + pickle.loads(pickle.dumps(second)) + third
        np.testing.assert_array_equal(
            total.transform(toy.score, toy.protected), whole.transform(toy.score, toy.protected)
        )
        assert first.events_ == 500
        assert total.events_ == 1_500

    def test_parts_of_different_weights(self, toy, whole):
        """As files of different cross-sections are; and one of them holds nothing."""
        weight = np.repeat([2.0, -0.5, 1.0], 500)
        expected = counted(whole.empty(), toy, slice(None), sample_weight=weight)
        total = whole.empty().partial_fit([], [])
        for rows in THIRDS:
            total += counted(whole.empty(), toy, rows, sample_weight=weight[rows])
        # All that the fit is made from.
        np.testing.assert_allclose(total.counts_[0], expected.counts_[0], atol=1e-9)
        np.testing.assert_allclose(total.sizes_[0], expected.sizes_[0], atol=1e-9)
        assert total.squares_ == pytest.approx(expected.squares_)
        assert total.events_ == expected.events_ == 1_500

    def test_two_scores(self, toy):
        scores = np.column_stack([toy.score, toy.score**2])
        whole = SplineDecorrelator().fit(scores, toy.protected)
        halves = [
            whole.empty().partial_fit(scores[rows], toy.protected[rows])
            for rows in (slice(0, 500), slice(500, None))
        ]
        for found, expected in zip((halves[0] + halves[1]).counts_, whole.counts_, strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_other_bins_are_refused(self, toy, whole):
        other = counted(SplineDecorrelator(), toy, THIRDS[0])
        with pytest.raises(ValueError, match=r"different bins.*\.empty\(\)"):
            whole + other

    def test_something_else_is_refused(self, whole):
        with pytest.raises(TypeError):
            whole + 1

    def test_without_events_there_is_nothing_to_apply(self, whole):
        with pytest.raises(ValueError, match="0 events counted so far sum to 0"):
            whole.empty().transform([0.5], [80.0])

    def test_unfitted(self):
        with pytest.raises(NotFittedError):
            SplineDecorrelator().empty()


class TestErrors:
    @pytest.mark.parametrize(
        ("scores", "protected", "message"),
        [
            (np.ones(30), np.arange(30.0), "scores is 1 in all 30 events"),
            (np.arange(30.0), np.ones(30), "protected is 1 in all 30 events"),
            (np.arange(30.0), np.arange(29.0), "protected has 29 events but scores has 30"),
            (np.arange(30.0), np.arange(90.0).reshape(30, 3), "use a FlowDecorrelator"),
        ],
    )
    def test_bad_input_is_named(self, scores, protected, message):
        with pytest.raises(ValueError, match=message):
            SplineDecorrelator().fit(scores, protected)

    def test_too_many_categories(self):
        with pytest.raises(ValueError, match=r"too many categories.*FlowDecorrelator"):
            SplineDecorrelator(categorical=[0]).fit(np.arange(4000.0), np.arange(4000) % 400)
