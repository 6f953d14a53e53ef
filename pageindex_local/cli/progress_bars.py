"""Progress on standard error: bars on a terminal, nothing where nobody watches."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pageindex_local.cli.console import err_console
from pageindex_local.inert_text import inert
from pageindex_local.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID


class BarProgress:
    """Shows the current stage of the current document as one bar."""

    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def start(self, stage: str, total: int | None) -> None:
        """Replace the bar by one for this stage."""
        self.finish()
        self._task = self._bars.add_task(inert(stage), total=total)

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)

    def finish(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


@contextlib.contextmanager
def show_progress(quiet: bool = False) -> Iterator[Progress]:
    """Bars while the block runs, if standard error is a terminal and the user did not ask for quiet."""
    if quiet or not sys.stderr.isatty():
        yield NO_PROGRESS
        return
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with RichProgress(*columns, console=err_console(), transient=True) as bars:
        yield BarProgress(bars)
