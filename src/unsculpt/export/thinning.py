"""Tables with as few nodes as a tolerance allows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unsculpt.inputs import Floats


def thin(nodes: Floats, table: Floats, tolerance: float) -> NDArray[np.int64]:
    """Return nodes, (a,), between which lines through a table, (a, b), stay within a tolerance.

    From each node the farthest that will do is found by bisection.
    """

    def fits(first: int, last: int) -> bool:
        share = (nodes[first : last + 1] - nodes[first]) / (nodes[last] - nodes[first])
        line = table[first] + share[:, None] * (table[last] - table[first])
        return bool(np.abs(line - table[first : last + 1]).max() <= tolerance)

    kept = [0]
    while kept[-1] < len(nodes) - 1:
        good, bad = kept[-1] + 1, len(nodes)
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if fits(kept[-1], middle) else (good, middle)
        kept.append(good)
    return np.array(kept)
