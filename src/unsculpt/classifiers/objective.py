"""The loss that a classifier minimises: cross entropy and a penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from unsculpt.classifiers.adversary import Adversary, reverse_gradient
from unsculpt.classifiers.network import Network

Penalty = Callable[..., Array]
Batch = tuple[Float[Array, "n f"], Int[Array, " n"], Float[Array, "n a"] | None]


class Contest(eqx.Module):
    """A classifier and, if it has one, its adversary: what is trained together."""

    network: Network
    adversary: Adversary | None = None


@dataclass(frozen=True)
class Objective:
    """Cross entropy, and on background a penalty or an adversary.

    Of two heads each has a cross entropy of its own, and the penalty is between them.

    Equal objectives are compiled once.

    Args:
        penalty: `penalty(scores, protected, sample_weight=...)`, or None.
        options: further arguments of the penalty.
        background: how many background events of a batch the penalty sees at most. A penalty may
            need all pairs of them, so room for the whole batch would be a waste.
        heads: one, or two that each tell one signal class from background.
    """

    penalty: Penalty | None = None
    options: tuple[tuple[str, Any], ...] = ()
    background: int = 0
    heads: int = 1

    def __call__(self, model: Contest, batch: Batch, weight: Array, alpha: Array) -> Array:
        """Return the loss of a batch."""
        features, label, protected = batch
        log_shares = [
            _log_share(log_odds)
            for log_odds in jnp.split(model.network(features), self.heads, axis=1)
        ]
        loss = jnp.stack([_cross_entropy(share, label, weight) for share in log_shares]).sum()
        scores = jnp.exp(jnp.concatenate([log_share[:, 1:] for log_share in log_shares], axis=1))
        if self.heads == 2 and self.penalty is not None:
            protected, scores = scores[:, :1], scores[:, 1:]
        if protected is None:
            return loss
        scores, protected, weight = _first(self.background, label == 0, scores, protected, weight)
        if model.adversary is not None:
            surprise = -model.adversary.log_prob(reverse_gradient(scores, alpha), protected)
            total = weight.sum()
            # A batch may have no background.
            share = jnp.where(total > 0, weight / jnp.where(total > 0, total, 1), 0)
            return loss + (share * surprise).sum()
        assert self.penalty is not None
        attributes = protected[:, 0] if protected.shape[1] == 1 else protected
        terms = [
            self.penalty(column, attributes, sample_weight=weight, **dict(self.options))
            for column in scores.T
        ]
        return loss + alpha * sum(terms) / len(terms)


def _log_share(log_odds: Float[Array, "n s"]) -> Float[Array, "n c"]:
    """Return the log probability of each class; background's own log odds are zero."""
    background = jnp.zeros((len(log_odds), 1))
    return jax.nn.log_softmax(jnp.concatenate([background, log_odds], axis=1))


def _cross_entropy(log_share: Array, label: Array, weight: Array) -> Array:
    """With one signal class it is the binary one."""
    is_class = label[:, None] == jnp.arange(log_share.shape[1])
    return -(weight * jnp.where(is_class, log_share, 0).sum(axis=1)).mean()


def _first(size: int, chosen: Array, *columns: Array) -> list[Array]:
    """Return the first `size` chosen rows of each column, padded with zeros."""
    rows = jnp.nonzero(chosen, size=size, fill_value=len(chosen))[0]
    return [column.at[rows].get(mode="fill", fill_value=0) for column in columns]
