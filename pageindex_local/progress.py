"""Progress as a callback: the library reports, the caller decides what is shown."""

from typing import Protocol


class Progress(Protocol):
    """Told about long work. Calls come from one thread."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins, with so many steps (None: unknown)."""

    def advance(self, steps: int = 1) -> None:
        """So many more steps of the current stage are done."""

    def finish(self) -> None:
        """The current stage is over."""


class NoProgress:
    """Shows nothing."""

    def start(self, stage: str, total: int | None) -> None:
        """Ignore."""

    def advance(self, steps: int = 1) -> None:
        """Ignore."""

    def finish(self) -> None:
        """Ignore."""


NO_PROGRESS = NoProgress()
