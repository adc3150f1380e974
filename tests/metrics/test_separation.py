import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from unsculpt.metrics import auc, rejection, threshold


def test_threshold_by_hand():
    scores, labels = [1, 2, 3, 4, 5, 9], [1, 1, 1, 1, 1, 0]
    assert threshold(scores, labels, efficiency=0.4) == 4
    assert threshold(scores, labels, efficiency=0.5) == 3
    assert threshold(scores, labels, efficiency=0.01) == 5
    assert threshold(scores, labels, efficiency=0.99) == 1


def test_equal_scores_pass_together():
    assert threshold([1, 2, 2, 2], [1, 1, 1, 1], efficiency=0.25) == 2


@pytest.mark.parametrize("percent", range(1, 100))
def test_threshold_keeps_the_whole_number_of_events_asked_for(percent):
    scores = np.arange(100)
    cut = threshold(scores, np.ones(100), efficiency=percent / 100)
    assert np.count_nonzero(scores >= cut) == percent


def test_threshold_with_weights_by_hand():
    scores, labels = [1, 2, 3, 4], [1, 1, 1, 1]
    assert threshold(scores, labels, sample_weight=[7, 1, 1, 1]) == 1
    # From the top 2, 1, 2, 3 are kept: the highest cut that keeps 1.5 is the first.
    assert threshold(scores, labels, sample_weight=[1, 1, -1, 2]) == 4
    assert threshold(scores, labels, sample_weight=[1, 1, -1, 2], efficiency=0.9) == 1


def test_rejection_is_the_inverse_efficiency(sample):
    background = sample.labels == 0
    cut = np.quantile(sample.scores[~background], 0.7, method="higher")
    expected = 1 / np.mean(sample.scores[background] >= cut)
    assert rejection(sample.scores, sample.labels, efficiency=0.3) == pytest.approx(expected)


def test_rejection_in_a_window_keeps_the_inclusive_cut(sample):
    scores, labels, mass, weight = sample
    cut = threshold(scores, labels, sample_weight=weight)
    here = (labels == 0) & (mass >= 70) & (mass <= 100)
    expected = weight[here].sum() / weight[here & (scores >= cut)].sum()
    got = rejection(scores, labels, protected=mass, window=(70, 100), sample_weight=weight)
    assert got == pytest.approx(expected)


def test_window_includes_its_ends():
    scores, labels = [0, 2, 0, 2, 1], [0, 0, 0, 0, 1]
    assert rejection(scores, labels, protected=[70, 100, 60, 110, 80], window=(70, 100)) == 2


def test_rejection_is_infinite_when_nothing_passes():
    assert rejection([0, 1], [0, 1]) == math.inf
    assert rejection([0, 2, 1], [0, 0, 1], sample_weight=[2, -1, 1]) == math.inf


def test_auc_matches_scikit_learn(sample):
    rounded = np.round(sample.scores, 1)  # ties
    for scores in (sample.scores, rounded):
        assert auc(scores, sample.labels) == pytest.approx(roc_auc_score(sample.labels, scores))
        got = auc(scores, sample.labels, sample_weight=abs(sample.weight))
        want = roc_auc_score(sample.labels, scores, sample_weight=abs(sample.weight))
        assert got == pytest.approx(want)


def test_auc_with_negative_weights_is_the_sum_over_pairs(sample):
    scores, labels, _, weight = (column[:300] for column in sample)
    scores, signal = np.round(scores, 1), labels == 1
    difference = scores[signal][:, None] - scores[~signal]
    order = (np.sign(difference) + 1) / 2
    pairs = weight[signal][:, None] * weight[~signal]
    got = auc(scores, labels, sample_weight=weight)
    assert got == pytest.approx((order * pairs).sum() / pairs.sum())


def test_auc_of_perfect_none_and_inverse_separation():
    assert auc([0, 1], [0, 1]) == 1
    assert auc([1, 1], [0, 1]) == 0.5
    assert auc([1, 0], [0, 1]) == 0
