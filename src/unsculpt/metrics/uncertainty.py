"""Confidence intervals of metrics."""

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from unsculpt.inputs import check_fraction, whole_number

Result = TypeVar("Result")


class Interval(NamedTuple, Generic[Result]):
    """A metric and the ends of its confidence interval."""

    value: Result
    low: Result
    high: Result


def bootstrap(
    metric: Callable[..., Result],
    *arrays: ArrayLike,
    repeats: int = 200,
    confidence: float = 0.683,
    seed: int = 0,
    protected: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    **settings: Any,
) -> Interval[Result]:
    """Return a confidence interval of any metric, by resampling the events.

    Events are drawn with replacement, each with its row of every array. A resample fluctuates
    about the events, which fluctuate already, so a divergence grows in it: the resamples of a flat
    score have about twice its `jsd`. The interval is therefore the central `confidence` of the
    values the metric takes in the resamples, shifted so that their median is at the metric's own
    value. It holds the value, and its aim is what the metric would be on average in samples of
    this size: for a divergence that is above zero even when the score is flat, see
    `ideal_inverse_jsd`. There the interval is still somewhat narrow: for the `inverse_jsd` of flat
    scores the default of 68.3% covers about 60%.

    A metric that is positive, with no negative resample, is shifted on a log scale, that is
    multiplied by value over median, so its interval has no negative end; any other is shifted by
    the difference. Infinite resamples stay infinite. Where the value or the median is infinite or
    NaN nothing can be shifted, and the interval is that of the resamples as they are. A shifted
    end can pass an upper bound of the metric, such as 1 for an `auc`, by the size of the shift.

    Entries that are NaN in a resample, such as those of an empty bin, and resamples the metric
    refuses, such as those without a signal event, are left out. Give metrics in bins their edges
    (`bin_edges`): with a number of bins the edges would move from resample to resample.

    Args:
        metric: A function of the arrays that returns a number or an array.
        *arrays: What the metric takes by position, one row per event.
        repeats: Number of resamples.
        confidence: Nominal probability that the interval holds.
        seed: Seed of the resampling.
        protected: Protected attribute, for a metric that takes it by keyword (`rejection`).
        sample_weight: Event weights, passed to the metric if given.
        **settings: Passed to the metric as they are.

    Returns:
        The metric on the events themselves, and the ends of the interval.

    Examples:
        >>> import numpy as np
        >>> from unsculpt.metrics import auc
        >>> labels = np.arange(1000) % 2
        >>> scores = np.random.default_rng(0).normal(labels)
        >>> area = bootstrap(auc, scores, labels, repeats=50)
        >>> area.low < area.value < area.high
        True
    """
    repeats = whole_number(repeats, "repeats")
    check_fraction(confidence, "confidence")
    by_name = {"protected": protected, "sample_weight": sample_weight}
    named = {name: np.asarray(rows) for name, rows in by_name.items() if rows is not None}
    rows = [np.asarray(array) for array in arrays]
    lengths = {len(array) for array in (*rows, *named.values())}
    if len(lengths) != 1:
        raise ValueError(f"arrays have {sorted(lengths)} events; pass arrays of one equal length")
    (n,) = lengths

    value = metric(*rows, **named, **settings)
    random = np.random.default_rng(seed)
    draws = []
    for _ in range(repeats):
        # In the order of the events, which is faster to read; metrics do not look at it.
        drawn = np.repeat(np.arange(n), np.bincount(random.integers(n, size=n), minlength=n))
        resample = {name: array[drawn] for name, array in named.items()}
        try:
            draws.append(metric(*(array[drawn] for array in rows), **resample, **settings))
        except ValueError:  # the events themselves passed, so it is the resample that lacks some
            continue
    if len(draws) < repeats / 2:
        raise ValueError(
            f"the metric could be computed in only {len(draws)} of {repeats} resamples of {n} "
            "events; there are too few events of a class for an interval"
        )
    return Interval(value, *_central(np.array(draws), value, confidence))


def _central(draws: Any, value: Any, confidence: float) -> Any:
    """Return the ends of the central interval along the first axis, its median put at the value.

    NaN entries are left out.
    """
    flat = draws.reshape(len(draws), -1).astype(float)
    at = np.asarray(value, float).ravel()
    known = ~np.isnan(flat).all(axis=0)
    lowest, low, median, high = np.full((4, flat.shape[1]), np.nan)
    quantiles = [0, (1 - confidence) / 2, 0.5, (1 + confidence) / 2]
    # No interpolation: a rejection may be infinite.
    lowest[known], low[known], median[known], high[known] = np.nanquantile(
        flat[:, known], quantiles, axis=0, method="nearest"
    )
    ends = np.stack([low, high])
    finite = np.isfinite(at) & np.isfinite(median)
    scaled = finite & (at > 0) & (median > 0) & (lowest >= 0)
    moved = finite & ~scaled
    ends[:, scaled] *= at[scaled] / median[scaled]
    ends[:, moved] += at[moved] - median[moved]
    return ends.reshape(2, *draws.shape[1:]) if draws.ndim > 1 else ends[:, 0].tolist()
