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

    from pageindex_local.llm.base import OnText

_DRAFT_LINES = 12  # of a draft that are on view, the newest

_NAME_CHARS = 30


class BarProgress:
    """Shows the current stage of the current document as one bar."""

    def __init__(self, bars: "RichProgress") -> None:
        self._bars = bars
        self._task: TaskID | None = None
        self._done = 0
        self._total: int | None = None
        self._document = ""

    def enter_document(self, doc_id: str, number: int, total: int) -> None:
        """Put number and name before the stages that follow, where there are several documents."""
        name = doc_id if len(doc_id) <= _NAME_CHARS else f"…{doc_id[1 - _NAME_CHARS :]}"
        self._document = f"{number:,}/{total:,} {name}: " if total > 1 else ""

    def leave_documents(self) -> None:
        """Show the stages that follow by themselves."""
        self._document = ""

    def start(self, stage: str, total: int | None) -> None:
        """Replace the bar by one for this stage."""
        self.finish()
        self._done, self._total = 0, total
        self._task = self._bars.add_task(inert(self._document + stage), total=total, count=_count(0, total))

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._task is not None:
            self._done += steps
            self._bars.update(self._task, completed=self._done, count=_count(self._done, self._total))

    def finish(self) -> None:
        """Take the bar away."""
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


def _count(done: int, total: int | None) -> str:
    """How far a stage is; a stage of unknown length shows only what is done."""
    return f"{done:,}/{total:,}" if total is not None else f"{done:,}" if done else ""


@contextlib.contextmanager
def show_progress(quiet: bool = False) -> Iterator[Progress]:
    """Bars while the block runs, if standard error is a terminal and the user did not ask for quiet."""
    if quiet or not sys.stderr.isatty():
        yield NO_PROGRESS
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
    )
    with RichProgress(*columns, console=err_console(), transient=True) as bars:
        yield BarProgress(bars)


@contextlib.contextmanager
def show_draft(wanted: bool) -> Iterator["OnText | None"]:
    """A listener that shows a text as it grows and takes it away at the end, on a terminal; else None.

    The draft stands on standard error: what was checked follows on standard output.
    """
    if not wanted or not sys.stderr.isatty():
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    with Live(console=err_console(), transient=True, auto_refresh=False, vertical_overflow="visible") as live:

        def show(text: str) -> None:
            lines = inert(text, keep_lines=True).splitlines()[-_DRAFT_LINES:]
            live.update(Text("\n".join(lines), style="dim"), refresh=True)

        yield show
