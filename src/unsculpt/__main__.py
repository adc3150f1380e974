"""The start of the `unsculpt` command: it handles signals, then calls `unsculpt.cli`."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import warnings
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from threading import Thread
from typing import Any

STOPS = (signal.SIGINT, signal.SIGTERM)


def main() -> None:
    """Run the command line; Ctrl-C and SIGTERM end it at any moment, its imports included."""
    stop_when_asked()
    sys.meta_path.insert(0, _Imports)
    from unsculpt.cli import app
    from unsculpt.cli.shared import show_warning

    warnings.showwarning = show_warning  # type: ignore[assignment]
    app(prog_name="unsculpt")


class _Imports:
    """Spares a command what libraries import and it has no use for: half a second.

    scikit-learn imports `scipy.stats`, which is loaded when something of it is used. It and pyarrow
    import pandas where it is installed; we do not need it, so to a command it never is.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return where `scipy.stats` is; leave other modules to who comes next."""
        if name == "pandas":
            raise ModuleNotFoundError("no command needs pandas", name=name)
        spec = PathFinder.find_spec(name, path) if name == "scipy.stats" else None
        if spec and spec.loader:
            spec.loader = LazyLoader(spec.loader)
        return spec


def stop_when_asked() -> None:
    """Have a thread wait for signals and end the process.

    Python tells its main thread of a signal once that comes back from compiled code, and libraries
    swallow the exception, or crash when their threads outlive the interpreter. This asks none of
    them: drafts go, names hold what they held before.
    """
    asked, tell = os.pipe()
    os.set_blocking(tell, False)
    for number in STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave_it_to_the_thread)
    signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    Thread(target=_stop, args=(asked,), daemon=True).start()
    # Only processes that this one starts read it: one tidies up behind us, and would tell of it.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    # Runs last, as it is the first: the work is done, and what is left are milliseconds.
    atexit.register(_too_late)


def _leave_it_to_the_thread(number: int, frame: object) -> None:
    """Only a signal that has a handler wakes the thread."""


def _stop(asked: int) -> None:
    while (number := os.read(asked, 1)[0]) not in STOPS:
        pass
    from unsculpt.atomic import abandon_drafts

    # Dask starts workers again that are ended here; they would complain as this process ends.
    stderr = os.dup(2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    abandon_drafts()
    # A progress bar may have hidden the cursor.
    tidy = "\r\x1b[2K\x1b[?25h" if os.isatty(stderr) else ""
    os.write(stderr, f"{tidy}interrupted\n".encode())
    os._exit(128 + number)


def _too_late() -> None:
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
