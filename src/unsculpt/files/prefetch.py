"""Doing the next steps of a loop while this one is at work."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

END = object()


def prefetch(items: Iterator[T], depth: int = 2) -> Iterator[T]:
    """Yield the items in order, made by another thread that is at most `depth` ahead."""
    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[T | object]] = deque(
            pool.submit(next, items, END) for _ in range(depth)
        )
        while (item := waiting.popleft().result()) is not END:
            waiting.append(pool.submit(next, items, END))
            yield item  # type: ignore[misc]
