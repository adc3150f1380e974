"""Bars for who watches, in a terminal or in Jupyter; nothing for files and pipes."""

import io
import sys
import types

import pytest
import rich.console

from unsculpt import FlowDecorrelator
from unsculpt.datasets import toys
from unsculpt.progress import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Have stderr be a terminal, from now on: pytest sets its own before each test."""
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)  # which --quiet sets
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


@pytest.fixture
def cell(monkeypatch):
    """What a cell of Jupyter has shown, one text after the other."""
    shown = []
    handle = types.SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))
    module = types.ModuleType("IPython.display")
    module.display = lambda data, raw, display_id: handle
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    return shown


def some_work():
    with progress("Fitting") as outer:
        with progress("Training", 2, "epochs") as advance:
            advance(0, note="compiling")
            advance(1, note="loss 0.5")
        outer(0, title="Judging")


def test_a_terminal(monkeypatch):
    shown = terminal(monkeypatch)
    some_work()
    text = shown.getvalue()
    assert "Fitting" in text
    assert "0/2 epochs" in text
    assert "nan" not in text
    assert text.endswith("\r\x1b[2K\x1b[?25h\r")  # and leaves nothing behind


def test_a_file_gets_nothing(capfd):
    some_work()
    assert capfd.readouterr() == ("", "")


def test_what_is_printed_goes_to_stdout_though_stderr_is_a_terminal(monkeypatch, capfd):
    terminal(monkeypatch)
    with progress("Fitting"):
        print("an answer")
    assert capfd.readouterr().out == "an answer\n"


def test_a_cell_of_jupyter(cell):
    some_work()
    assert "Fitting" in cell[0]
    assert "Training" in cell[1]
    assert "0/2 epochs" in cell[2]
    assert "compiling" in cell[2]
    assert "Judging" in cell[-2]
    assert not any("Fitting" in text for text in cell if "Training" in text)  # the innermost
    assert cell[-1] == ""
    assert not any("\x1b" in text for text in cell)


def test_a_fit_shows_that_it_compiles_and_never_nan(cell):
    toy = toys.smooth(500, 0, seed=1)
    FlowDecorrelator(members=1, epochs=2).fit(toy.score, toy.protected)
    assert "compiling" in "".join(cell)
    assert "nan" not in "".join(cell)
    assert cell[-1] == ""


def test_an_error_takes_the_bar_away(cell):
    with pytest.raises(ValueError, match="broken"), progress("Fitting"), progress("Training"):
        raise ValueError("broken")
    assert cell[-1] == ""
    some_work()
    assert "Training" in "".join(cell)
