"""What users would otherwise write for cuts at fixed efficiencies given several attributes.

They take attributes as they come and give the cut at an efficiency like our methods.
"""

import math

import numpy as np
from scipy.interpolate import RegularGridInterpolator
from scipy.special import ndtri
from sklearn.neighbors import NearestNeighbors

from unsculpt import FlowDecorrelator, SplineDecorrelator


class ZukoFlow:
    """A conditional spline flow of zuko: three layers, two hidden ones of 64, 20 epochs."""

    def fit(self, scores, attributes):
        import torch
        import zuko

        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.sorted = np.sort(scores)
        self.centre, self.scale = attributes.mean(axis=0), attributes.std(axis=0)
        rank = np.searchsorted(self.sorted, scores, side="right") / (len(scores) + 1)
        target = torch.tensor(ndtri(rank), dtype=torch.float32)[:, None]
        context = self._context(attributes)
        self.flow = zuko.flows.NSF(1, context.shape[1], transforms=3, hidden_features=(64, 64))
        optimiser = torch.optim.Adam(self.flow.parameters(), lr=2e-3)
        epochs, batch = 20, 1024
        steps = len(scores) // batch
        for epoch in range(epochs):
            order = torch.randperm(len(scores))[: steps * batch].reshape(steps, batch)
            for i, rows in enumerate(order):
                phase = (epoch * steps + i) / (epochs * steps)
                optimiser.param_groups[0]["lr"] = 2e-3 * (1 + math.cos(math.pi * phase)) / 2
                loss = -self.flow(context[rows]).log_prob(target[rows]).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return self

    def threshold(self, efficiency, attributes):
        import torch

        with torch.no_grad():
            level = torch.full((len(attributes), 1), float(ndtri(1 - efficiency)))
            latent = self.flow(self._context(attributes)).transform.inv(level)[:, 0]
        rank = 0.5 * (1 + torch.erf(latent.double() / math.sqrt(2))).numpy()
        return np.quantile(self.sorted, np.clip(rank, 0, 1))

    def _context(self, attributes):
        import torch

        return torch.tensor((attributes - self.centre) / self.scale, dtype=torch.float32)


class LightGBMQuantiles:
    """Boosted trees for the pinball loss, one model an efficiency."""

    def fit(self, scores, attributes):
        self.events = scores, attributes
        return self

    def threshold(self, efficiency, attributes):
        import lightgbm

        model = lightgbm.LGBMRegressor(
            objective="quantile",
            alpha=1 - efficiency,
            n_estimators=200,
            learning_rate=0.05,
            min_child_samples=200,
            n_jobs=1,
            verbose=-1,
        )
        scores, own = self.events
        return model.fit(own, scores).predict(attributes)


class NeighboursMap:
    """The quantile of the nearest 500 events at the nodes of a grid, linear between them.

    Each attribute by the rank of its values, so that its units do not matter.
    """

    neighbours, nodes = 500, {1: 200, 2: 40, 3: 12, 4: 8}

    def fit(self, scores, attributes):
        self.scores, self.sorted = scores, np.sort(attributes, axis=0)
        self.nearest = NearestNeighbors(n_neighbors=self.neighbours).fit(self._ranks(attributes))
        return self

    def threshold(self, efficiency, attributes):
        number = attributes.shape[1]
        axis = np.linspace(0, 1, self.nodes[number])
        grid = np.stack(np.meshgrid(*[axis] * number, indexing="ij"), axis=-1).reshape(-1, number)
        near = self.nearest.kneighbors(grid, return_distance=False)
        cuts = np.quantile(self.scores[near], 1 - efficiency, axis=1)
        table = cuts.reshape([len(axis)] * number)
        return RegularGridInterpolator([axis] * number, table)(self._ranks(attributes))

    def _ranks(self, attributes):
        ranks = [np.searchsorted(s, x) for s, x in zip(self.sorted.T, attributes.T, strict=True)]
        return np.stack(ranks, axis=1) / len(self.sorted)


class Blend:
    """The mean of the CDFs of our spline and our flow."""

    def fit(self, scores, attributes):
        self.models = [
            m.fit(scores, attributes) for m in (SplineDecorrelator(), FlowDecorrelator())
        ]
        return self

    def threshold(self, efficiency, attributes):
        cuts = [model.threshold(efficiency, attributes) for model in self.models]
        low, high = np.minimum(*cuts), np.maximum(*cuts)
        for _ in range(50):
            middle = (low + high) / 2
            level = sum(model.transform(middle, attributes) for model in self.models) / 2
            below = level < 1 - efficiency
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2
