"""Tables with as few nodes as a tolerance allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats


def thin(nodes: Floats, table: Floats, tolerance: Floats) -> NDArray[np.int64]:
    """Return nodes, (a,), between which lines stay within a tolerance of a table, both (a, b).

    From each node the farthest that will do is found by bisection.
    """

    def fits(first: int, last: int) -> bool:
        share = (nodes[first : last + 1] - nodes[first]) / (nodes[last] - nodes[first])
        line = table[first] + share[:, None] * (table[last] - table[first])
        own = slice(first, last + 1)
        return bool((np.abs(line - table[own]) <= tolerance[own]).all())

    kept = [0]
    while kept[-1] < len(nodes) - 1:
        good, bad = kept[-1] + 1, len(nodes)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(kept[-1], middle) else (good, middle)
        kept.append(good)
    return np.array(kept)
