"""A Rich progress bar for downloads."""

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn


class DownloadBar:
    """What Pooch asks of a progress bar, drawn by Rich."""

    def __init__(self, name: str) -> None:
        columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn()
        self._progress = Progress(*columns, TimeRemainingColumn())
        self._task = self._progress.add_task(name)
        self.total: int | None = None

    def update(self, size: int) -> None:
        """Count another ``size`` bytes."""
        self._progress.start()
        self._progress.update(self._task, total=self.total, advance=size)

    def reset(self) -> None:
        """Wind the bar back, as pooch does before it fills it for good."""
        self._progress.update(self._task, completed=0)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()
