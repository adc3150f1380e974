"""Training K classifiers in one program, against K runs of a plain PyTorch loop.

    python benchmarks/classifiers.py            # K = 1 and 8 on a CPU, 1 and 130 on a GPU
    python benchmarks/classifiers.py --disco    # ten seeds by thirteen alphas of DisCo as well

Same network (the paper's vDNN), batch 256, data and machine, one after the other in the same
process. The PyTorch loop is the fastest simple one: indexed tensors on the device, no DataLoader.
K runs of it are K times one run. Compilation is left out of ours (a second fit in the same
process) and printed beside it. The jets are the shipped ones, repeated to the size of the
original sample, 360,000 jets.
"""

import argparse
import math
import time
from itertools import pairwise

import jax
import numpy as np
import torch

from unsculpt.classifiers import Classifier, fit_many
from unsculpt.datasets import load_jets

JETS, QCD = 360_000, 110_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--disco", action="store_true", help="the paper's grid, 100 epochs")
    parser.add_argument("--epochs", type=int, default=3, help="epochs to time")
    parser.add_argument("--jets", type=int, default=JETS)
    arguments = parser.parse_args()
    on_gpu = jax.default_backend() == "gpu"
    device = "cuda" if on_gpu and torch.cuda.is_available() else "cpu"
    X, y, mass = sample(arguments.jets)
    print(
        f"{len(y):,} jets, jax {jax.__version__} on {jax.devices()[0]}, "
        f"torch {torch.__version__} on {device}, {torch.get_num_threads()} threads"
    )

    peer = plain_loop(X, y, arguments.epochs, device)
    print(f"PyTorch, one classifier: {peer:.2f} s an epoch")
    for members in (1, 130 if on_gpu else 8):
        first, ours = timed_fits(
            lambda seed, n=members: [
                Classifier.vdnn(epochs=arguments.epochs, seed=seed + i) for i in range(n)
            ],
            X,
            y,
            None,
        )
        ours /= arguments.epochs
        print(
            f"K = {members}: {ours:.2f} s an epoch for all (with compilation, "
            f"{first:.1f} s for {arguments.epochs}); PyTorch {members * peer:.2f}; "
            f"ratio {members * peer / ours:.1f}"
        )

    if arguments.disco:
        grid = [(alpha, seed) for alpha in range(0, 301, 25) for seed in range(10)]
        start = time.perf_counter()
        fit_many([Classifier.disco(alpha, seed=seed) for alpha, seed in grid], X, y, protected=mass)
        seconds = time.perf_counter() - start
        print(f"DisCo, {len(grid)} classifiers x 100 epochs: {seconds:.0f} s, compilation included")


def sample(jets: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The shipped jets, with the original's share of QCD."""
    wanted = round(jets * QCD / JETS), jets - round(jets * QCD / JETS)
    shipped = load_jets("train")
    rows = [np.resize(np.flatnonzero(shipped.label == k), n) for k, n in enumerate(wanted)]
    rows = np.concatenate(rows)
    return shipped.features[rows].astype(float), shipped.label[rows], shipped.mass[rows]


def timed_fits(new: object, X: np.ndarray, y: np.ndarray, mass: np.ndarray | None) -> tuple:
    """Seconds of a first fit, with compilation, and of a second."""
    seconds = []
    for seed in (0, 1000):
        start = time.perf_counter()
        fit_many(new(seed), X, y, protected=mass)
        seconds.append(time.perf_counter() - start)
    return tuple(seconds)


def plain_loop(X: np.ndarray, y: np.ndarray, epochs: int, device: str) -> float:
    """Train the vDNN in PyTorch; return the seconds of its fastest epoch."""
    torch.manual_seed(0)
    features = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32, device=device)
    label = torch.tensor(y, dtype=torch.float32, device=device)
    widths = (X.shape[1], 64, 64, 64, 1)
    layers = []
    for inputs, outputs in pairwise(widths):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1]).to(device)
    entropy = torch.nn.BCEWithLogitsLoss()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    batch_size = 256
    steps = len(y) // batch_size
    seconds = []
    for epoch in range(epochs):
        start = time.perf_counter()
        order = torch.randperm(len(y), device=device)[: steps * batch_size]
        for i, rows in enumerate(order.reshape(steps, batch_size)):
            phase = (epoch * steps + i) / (epochs * steps)
            optimiser.param_groups[0]["lr"] = 1e-3 * (1 + math.cos(math.pi * phase)) / 2
            optimiser.zero_grad()
            entropy(network(features[rows])[:, 0], label[rows]).backward()
            optimiser.step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


if __name__ == "__main__":
    main()
