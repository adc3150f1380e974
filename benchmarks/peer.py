"""The paper's flow built from nflows' own classes and trained by a plain PyTorch loop.

Three rational-quadratic-spline layers of 8 bins on [0, 1], knots from two residual blocks of 64
that see the protected attribute: what a user of nflows writes for the paper's recipe. The data are
indexed tensors, no DataLoader, which is the fastest simple way to feed it.
"""

import math
import time

import numpy as np
import torch
from nflows.transforms import (
    CompositeTransform,
    MaskedPiecewiseRationalQuadraticAutoregressiveTransform,
)


def paper_flow() -> CompositeTransform:
    """The map; the base is uniform, so its log determinant is the log density."""
    layers = [
        MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
            features=1, hidden_features=64, context_features=1, num_bins=8, num_blocks=2
        )
        for _ in range(3)
    ]
    return CompositeTransform(layers)


def scaled(values: np.ndarray, low: float, high: float) -> torch.Tensor:
    """To [0, 1], as the paper's box splines need."""
    inside = np.clip((values - low) / (high - low), 1e-6, 1 - 1e-6)
    return torch.tensor(inside, dtype=torch.float32)[:, None]


def train(
    flow: CompositeTransform,
    score: torch.Tensor,
    features: torch.Tensor,
    *,
    epochs: int,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
) -> list[float]:
    """Train and return the seconds each epoch took."""
    optimiser = torch.optim.Adam(flow.parameters(), lr=learning_rate)
    steps = len(score) // batch_size
    seconds = []
    for epoch in range(epochs):
        start = time.perf_counter()
        order = torch.randperm(len(score))[: steps * batch_size].reshape(steps, batch_size)
        for i, rows in enumerate(order):
            phase = (epoch * steps + i) / (epochs * steps)
            optimiser.param_groups[0]["lr"] = learning_rate * (1 + math.cos(math.pi * phase)) / 2
            optimiser.zero_grad()
            loss = -flow(score[rows], features[rows])[1].mean()
            loss.backward()
            optimiser.step()
        seconds.append(time.perf_counter() - start)
    return seconds


def evaluate(flow: CompositeTransform, score: torch.Tensor, features: torch.Tensor) -> tuple:
    """CDF and log density without gradients, in chunks that fit the caches."""
    with torch.no_grad():
        pairs = zip(score.split(2**16), features.split(2**16), strict=True)
        parts = [flow(s, f) for s, f in pairs]
    return tuple(torch.cat(part).numpy() for part in zip(*parts, strict=True))
