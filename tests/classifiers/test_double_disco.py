"""Two heads that must not know each other on background."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import unsculpt as us
from unsculpt.classifiers import Classifier, fit_many
from unsculpt.penalties import distance_correlation


def draw(n, seed):
    """Four features that all tell signal."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 4)) + 1.5 * y[:, None], y


@pytest.fixture(scope="module")
def pair(quick):
    """Fitted with a penalty between the heads and with next to none: one program."""
    settings = quick | {"epochs": 30, "learning_rate": 1e-2}
    new = [Classifier.double_disco(alpha, **settings) for alpha in (1, 1e-9)]
    return fit_many(new, *draw(2000, seed=1))


def test_the_heads_tell_signal_and_not_each_other(pair):
    X, y = draw(4000, seed=2)
    known = []
    for classifier in pair:
        scores = classifier.scores(X)
        assert scores.shape == (4000, 2)
        known.append(distance_correlation(*expit(scores[y == 0]).T))
        for score in scores.T:
            assert roc_auc_score(y, score) > 0.8
    assert known[0] < 0.25 * known[1]


def test_other_methods_take_the_mean_of_the_heads(pair):
    X, _ = draw(100, seed=4)
    mean = pair[0].scores(X).mean(axis=1)
    np.testing.assert_array_equal(pair[0].decision_function(X), mean)
    np.testing.assert_allclose(pair[0].predict_proba(X)[:, 1], expit(mean))


def test_a_file_has_both_heads(pair, tmp_path):
    X, _ = draw(100, seed=4)
    pair[0].save(tmp_path / "model")
    loaded = us.load(tmp_path / "model")
    assert loaded.scores(X).tobytes() == pair[0].scores(X).tobytes()
    assert loaded.heads == 2


def test_a_graph_takes_the_mean_of_the_heads(pair, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, _ = draw(1000, seed=5)
    chain = pair[0].then(us.DDTDecorrelator()).fit(X, X[:, 0])
    us.export.to_onnx(chain, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    (flat,) = session.run(None, {"features": X, "protected": X[:, 0]})
    np.testing.assert_allclose(flat, chain.transform(X, X[:, 0]), rtol=0, atol=1e-6)


def test_one_head_gives_its_log_odds(tagger, events):
    np.testing.assert_array_equal(tagger.scores(events.X)[:, 0], tagger.decision_function(events.X))


@pytest.mark.parametrize(
    ("classifier", "extra", "message"),
    [
        (Classifier(heads=3), {}, "heads is 3; expected 1 or 2"),
        (Classifier.double_disco(5), {"protected": np.arange(9.0)}, "leave protected out"),
        (Classifier.adversarial(5, heads=2), {}, "an adversary has one head to read"),
    ],
)
def test_bad_input(classifier, extra, message):
    X, y = np.arange(9.0)[:, None], np.arange(9) % 2
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, y, **extra)


def test_more_signals_than_one():
    with pytest.raises(ValueError, match="y has 3 classes; merge the signals"):
        Classifier.double_disco(5).fit(np.arange(9.0)[:, None], np.arange(9) % 3)
