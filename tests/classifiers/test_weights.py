import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

from unsculpt.classifiers import balance_weights, flat_sample, planing_weights


@pytest.fixture
def jets():
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=20_000)
    pt = np.clip(300 + rng.exponential(np.where(label, 60, 20)), 300, 400)
    return pt, label


class TestPlaning:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_every_class_is_flat_and_keeps_its_weight(self, jets, weighted):
        pt, label = jets
        own = np.random.default_rng(1).uniform(0.5, 2, len(pt)) if weighted else None
        factor = planing_weights(pt, label, sample_weight=own)
        weight = factor if own is None else factor * own
        for one in (0, 1):
            rows = label == one
            content, _ = np.histogram(pt[rows], 50, (pt.min(), pt.max()), weights=weight[rows])
            np.testing.assert_allclose(content, content.mean(), rtol=1e-9)
            before = rows.sum() if own is None else own[rows].sum()
            assert weight[rows].sum() == pytest.approx(before)

    def test_empty_bins_are_left_out(self):
        factor = planing_weights([0.0, 1.0, 1.0, 10.0], [0, 0, 0, 0], bins=10)
        np.testing.assert_allclose(factor, [4 / 3, 2 / 3, 2 / 3, 4 / 3])

    def test_negative_weights(self):
        weight = [1.0, 1.0, -0.5, 1.0]
        factor = planing_weights([0.0, 0.1, 0.2, 1.0], np.zeros(4), bins=2, sample_weight=weight)
        np.testing.assert_allclose(factor * weight, np.array([5, 5, -2.5, 7.5]) / 6)

    def test_a_bin_that_cannot_be_made_flat(self):
        with pytest.raises(ValueError, match="negative or zero sum of weights in 1 of 2 bins"):
            planing_weights([0.0, 0.1, 1.0], [0, 0, 0], bins=2, sample_weight=[1.0, -2.0, 3.0])

    def test_units_do_not_matter(self, jets):
        pt, label = jets
        np.testing.assert_array_equal(planing_weights(pt, label), planing_weights(1024 * pt, label))


class TestBalance:
    def test_it_is_what_scikit_learn_calls_balanced(self):
        label = np.random.default_rng(0).integers(3, size=100)
        np.testing.assert_allclose(balance_weights(label), compute_sample_weight("balanced", label))

    def test_every_class_gets_the_same_weight(self, jets):
        _, label = jets
        own = np.random.default_rng(1).uniform(0.5, 2, len(label))
        weight = own * balance_weights(label, sample_weight=own)
        assert weight[label == 0].sum() == pytest.approx(weight[label == 1].sum())
        assert weight.sum() == pytest.approx(own.sum())

    def test_after_planing_the_classes_have_the_same_spectrum(self, jets):
        pt, label = jets
        weight = planing_weights(pt, label) * balance_weights(label)
        contents = [
            np.histogram(pt[rows], 50, (pt.min(), pt.max()), weights=weight[rows])[0]
            for rows in (label == 0, label == 1)
        ]
        np.testing.assert_allclose(*contents)

    def test_a_class_without_weight(self):
        with pytest.raises(ValueError, match="a class has the total weight 0"):
            balance_weights([0, 0, 1], sample_weight=[1.0, 1.0, 0.0])


class TestFlatSample:
    def test_the_sample_is_flat(self, jets):
        pt, _ = jets
        rows = flat_sample(pt, 50_000, bins=20)
        content, _ = np.histogram(pt[rows], 20, (pt.min(), pt.max()))
        assert ((content - 2500) ** 2 / 2500).sum() < 45  # χ² of 19 degrees, one in a thousand

    def test_the_seed_fixes_it(self, jets):
        pt, _ = jets
        one, same, other = (flat_sample(pt, 100, seed=seed) for seed in (1, 1, 2))
        assert one.tolist() == same.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [0, 1]), "values is NaN or infinite in 1 of 2 events"),
        (([1.0, 1.0], [0, 1]), "values is 1 in all 2 events"),
        (([1.0, 2.0], [0]), "label has 1 events but values has 2"),
        (([[1.0, 2.0]], [0]), r"values has shape \(1, 2\)"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        planing_weights(*arguments)


def test_bins_are_counted():
    with pytest.raises(ValueError, match="bins is 0; expected a whole number"):
        flat_sample([1.0, 2.0], 10, bins=0)
