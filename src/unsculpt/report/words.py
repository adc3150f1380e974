"""Numbers as a reader wants them."""

from __future__ import annotations

import math

from unsculpt.metrics import Ideal, Interval


def number(value: float, digits: int = 4) -> str:
    """Return a number of so many digits.

    >>> number(12345.6), number(0.123456), number(float("inf"))
    ('12,350', '0.1235', '∞')
    """
    if not math.isfinite(value):
        return "n/a" if math.isnan(value) else "∞"
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 10**digits / 10 else f"{rounded:.{digits}g}"


def with_error(value: Interval[float] | Ideal) -> tuple[str, str]:
    """Return a number and its error, to two digits of the error.

    >>> with_error(Interval(12.3456, 11.98, 12.81)), with_error(Ideal(1234.5, 210.0))
    (('12.35', '[11.98, 12.81]'), ('1,234', '± 210'))
    >>> with_error(Ideal(0.0, 0.0))
    ('0', '')
    """
    numbers = list(value)
    error = value.spread if isinstance(value, Ideal) else (value.high - value.low) / 2
    if not (all(map(math.isfinite, numbers)) and error > 0):
        texts = [number(x) for x in numbers]
    else:
        decimals = max(0, 1 - math.floor(math.log10(error)))
        texts = [f"{x:,.{decimals}f}" for x in numbers]
    if math.isnan(numbers[0]) or error == 0:  # as where no event passes: it is not known so well
        return texts[0], ""
    if isinstance(value, Ideal):
        return texts[0], f"± {texts[1]}" if math.isfinite(error) else ""
    return texts[0], f"[{texts[1]}, {texts[2]}]"


def bare(name: str) -> str:
    """Return the name of an attribute without its unit: `mass` of `mass [GeV]`."""
    return name.split(" [")[0]
