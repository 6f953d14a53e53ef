"""Progress as a callback: the library reports, the caller decides what is shown."""

from typing import Protocol


class Progress(Protocol):
    """Told about long work. Calls come from one thread."""

    def enter_document(self, doc_id: str, number: int, total: int) -> None:
        """The stages that follow are those of one document, the so manyth (from 1) of so many."""

    def leave_documents(self) -> None:
        """The stages that follow are no document's."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins, with so many steps (None: unknown)."""

    def advance(self, steps: int = 1) -> None:
        """So many more steps of the current stage are done."""

    def finish(self) -> None:
        """The current stage is over."""


class NoProgress:
    """Shows nothing."""

    def enter_document(self, doc_id: str, number: int, total: int) -> None:
        """Ignore."""

    def leave_documents(self) -> None:
        """Ignore."""

    def start(self, stage: str, total: int | None) -> None:
        """Ignore."""

    def advance(self, steps: int = 1) -> None:
        """Ignore."""

    def finish(self) -> None:
        """Ignore."""


NO_PROGRESS = NoProgress()
