import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(params=["numpy", "jax", "torch"])
def kind(request):
    """What turns lists into one kind of array."""
    if request.param == "torch":
        return pytest.importorskip("torch").tensor
    return {"numpy": np.array, "jax": jnp.array}[request.param]


@pytest.fixture(params=["jax", "torch"])
def gradient(request):
    """What differentiates a penalty of NumPy arrays by its first argument, in double precision."""
    if request.param == "torch":
        torch = pytest.importorskip("torch")

        def by_torch(penalty, scores, *arrays):
            scores = torch.tensor(scores, dtype=torch.float64, requires_grad=True)
            penalty(scores, *(torch.tensor(array) for array in arrays)).backward()
            return scores.grad.numpy()

        return by_torch

    def by_jax(penalty, scores, *arrays):
        with jax.enable_x64(True):
            slope = jax.jit(jax.grad(penalty))
            return np.asarray(slope(jnp.asarray(scores), *map(jnp.asarray, arrays)))

    return by_jax


def numerical_gradient(penalty, scores, step=1e-7):
    """Central differences."""
    shifts = step * np.eye(len(scores))
    return np.array([penalty(scores + d) - penalty(scores - d) for d in shifts]) / (2 * step)


@pytest.fixture
def differences():
    return numerical_gradient


@pytest.fixture
def sample():
    """Scores that depend on a falling mass, and weights that are whole numbers, some of them 0."""
    random = np.random.default_rng(1)
    mass = 50 + random.exponential(40, 60)
    scores = 1 / (1 + np.exp(-random.normal(mass / 40 - 2)))
    return scores, mass, random.integers(0, 4, 60)
