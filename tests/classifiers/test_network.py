import jax
import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from unsculpt.classifiers.network import EPSILON, Network


def new(widths=(3, 8, 8, 1), activation="relu", seed=0, **settings):
    return Network.new(widths, activation, key=jax.random.key(seed), **settings)


def inputs(n=400):
    """Correlated, with mean zero and variance one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3))
    return ((x - x.mean(axis=0)) / x.std(axis=0)).astype("f4")


def correlation(x):
    return np.corrcoef(x.astype("f8").T)


def test_it_is_what_scikit_learn_makes_of_the_same_weights():
    network, x = new(), inputs()
    theirs = MLPClassifier(hidden_layer_sizes=(8, 8), max_iter=1, random_state=0)
    with pytest.warns(match="Maximum iterations"):
        theirs.fit(x, np.arange(len(x)) % 2)
    theirs.coefs_ = [np.asarray(w) for w in network.weights]
    theirs.intercepts_ = [np.asarray(b) for b in network.biases]
    np.testing.assert_allclose(
        theirs.predict_proba(x)[:, 1], jax.nn.sigmoid(network(x))[:, 0], atol=1e-6
    )


def test_batch_normalisation_is_that_of_pytorch():
    torch = pytest.importorskip("torch")
    network, x = new(activation="swish", batch_normalisation=True), inputs()
    linear = [torch.nn.Linear(i, o) for i, o in ((3, 8), (8, 8), (8, 1))]
    norm = torch.nn.BatchNorm1d(8, momentum=None)
    theirs = torch.nn.Sequential(
        linear[0], norm, torch.nn.SiLU(), linear[1], torch.nn.SiLU(), linear[2]
    )
    rng = np.random.default_rng(1)
    scale, shift = rng.uniform(0.5, 2, (2, 8)).astype("f4")
    network = Network(network.weights, network.biases, scale, shift, "swish")
    with torch.no_grad():
        norm.weight[:], norm.bias[:] = torch.tensor(scale), torch.tensor(shift)
        for layer, weight, bias in zip(linear, network.weights, network.biases, strict=True):
            layer.weight[:] = torch.tensor(np.asarray(weight).T)
            layer.bias[:] = torch.tensor(np.asarray(bias))
        in_training = theirs(torch.tensor(x)).numpy()
        np.testing.assert_allclose(in_training, network(x), atol=1e-5)
        few = x[:7]
        predicted = theirs.eval()(torch.tensor(few)).numpy()
    # PyTorch's running variance has n - 1 in it: 400 events, so a quarter of a percent.
    np.testing.assert_allclose(predicted, network.folded(correlation(x))(few), atol=2e-3)


def test_folded_on_the_whole_sample_is_the_batch_of_the_whole_sample():
    network, x = new(activation="swish", batch_normalisation=True), inputs()
    np.testing.assert_allclose(network.folded(correlation(x))(x), network(x), atol=1e-5)


def test_folded_does_not_see_the_other_events():
    network, x = new(activation="swish", batch_normalisation=True), inputs()
    folded = network.folded(correlation(x))
    np.testing.assert_allclose(folded(x)[:1], folded(x[:1]), atol=1e-6)
    assert np.abs(network(x)[:2] - network(x[:2])).max() > 1e-3


def test_folding_a_plain_network_changes_nothing():
    network, x = new(), inputs()
    np.testing.assert_allclose(network.folded(correlation(x))(x), network(x), atol=1e-6)


def test_a_constant_node_does_not_divide_by_zero():
    network = new(batch_normalisation=True)
    network = Network(
        [0 * network.weights[0], *network.weights[1:]],
        network.biases,
        network.scale,
        network.shift,
        "relu",
    )
    x = inputs()
    assert EPSILON > 0
    assert np.isfinite(network(x)).all()
    assert np.isfinite(network.folded(correlation(x))(x)).all()


def test_it_starts_within_the_root_of_its_inputs():
    network = new(widths=(100, 400, 1))
    weights = np.asarray(network.weights[0])
    assert 0.099 < np.abs(weights).max() <= 0.1
    assert weights.std() == pytest.approx(0.1 / 3**0.5, rel=0.01)
