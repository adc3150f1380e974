"""What a person sees while work goes on: on stderr in a terminal, below the cell in Jupyter."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

EVERY = 0.2  # seconds between two pictures in Jupyter
_shown: list[_Display] = []


class Advance(Protocol):
    """Moves a bar on."""

    def __call__(self, steps: float = 1, *, title: str | None = None, note: str = "") -> None:
        """So many steps are done; what goes on now may have another title, and a note."""


@contextmanager
def progress(title: str, total: float | None = None, unit: str = "") -> Iterator[Advance]:
    """Show a bar where somebody watches; give the function that moves it on.

    Of work inside other work the innermost is shown. Where nobody watches, as in a batch job or a
    pipe, nothing is printed.
    """
    if _shown:
        yield from _shown[-1].line(title, total, unit)
        return
    with _Display() as display:
        _shown.append(display)
        try:
            yield from display.line(title, total, unit)
        finally:
            _shown.remove(display)


class _Display(Progress):
    """All bars that are shown at a time."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        super().__init__(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            _Steps(),
            _Clock(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # else what is printed would go to stderr
            disable=not console.is_terminal,
        )
        self._cell = _Cell() if console.is_jupyter else None

    def line(self, title: str, total: float | None, unit: str) -> Iterator[Advance]:
        around = self.tasks[-1:]
        for other in around:
            self.update(other.id, visible=False)
        task = self.add_task(title, total=total, unit=unit, note="")

        def advance(steps: float = 1, *, title: str | None = None, note: str = "") -> None:
            self.update(task, advance=steps, description=title, note=note)
            self._draw(at_once=not steps)

        self._draw(at_once=True)
        try:
            yield advance
        finally:
            self.remove_task(task)
            for other in around:
                if other.id in self.task_ids:  # work of another thread may be done
                    self.update(other.id, visible=True)
            if self._cell:
                self._cell.draw(self if around else None)

    def _draw(self, *, at_once: bool) -> None:
        if self._cell and (at_once or time.monotonic() > self._cell.drawn + EVERY):
            self._cell.draw(self)


class _Cell:
    """The place below a cell of Jupyter; plain text, as it needs no widgets."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle = display({"text/plain": ""}, raw=True, display_id=True)
        self.drawn = float("-inf")

    def draw(self, bars: Progress | None) -> None:
        """Show the bars, or nothing."""
        console = Console(file=StringIO(), width=100, force_jupyter=False, color_system=None)
        if bars:
            console.print(bars.get_renderable())
        self._handle.update({"text/plain": console.file.getvalue().rstrip()}, raw=True)  # type: ignore[attr-defined]
        self.drawn = time.monotonic()


class _Steps(ProgressColumn):
    """How many steps of how many, or what share, once there is a total."""

    def render(self, task: Task) -> Text:
        unit: Any = task.fields["unit"]
        if task.total is None:
            return Text("")
        if unit:
            return Text(f"{task.completed:.0f}/{task.total:.0f} {unit}")
        return Text(f"{task.percentage:3.0f}%")


class _Clock(ProgressColumn):
    """The seconds since the start, and those left where that is known."""

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        return Text(f"{task.elapsed or 0:.0f} s" + (f", {left:.0f} s left" if left else ""))
