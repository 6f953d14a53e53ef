"""Where the command line writes: results to standard output, everything for a person's patience to standard error.

All text that comes from documents, file names or models passes through `inert` before it reaches a terminal.
"""

import json
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pageindex_local.errors import PageindexError
from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from rich.console import Console


@cache
def _stream_console(stderr: bool) -> "Console":
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def out_console() -> "Console":
    """The console on standard output. Markup is off: square brackets in documents are only text."""
    return _stream_console(False)


def err_console() -> "Console":
    """The console on standard error, for tables, bars and hints beside the result."""
    return _stream_console(True)


def emit(text: str) -> None:
    """Write a result to standard output, newline added where it is missing."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def emit_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object to standard output.

    ASCII escapes keep control and bidirectional characters inert on a terminal, and lone surrogates writable.
    """
    emit(json.dumps(value, ensure_ascii=True, indent=2))


def hint(text: str) -> None:
    """Write a remark to standard error."""
    sys.stderr.write(inert(text, keep_lines=True) + "\n")


def report_error(error: PageindexError) -> None:
    """Write an error as one or two lines on standard error: what happened to which document, then the next step."""
    subject = f"{inert(error.subject)}: " if error.subject else ""
    sys.stderr.write(f"error: {subject}{inert(error.problem)}\n")
    if error.next_step:
        sys.stderr.write(f"  {inert(error.next_step)}\n")


def error_record(error: PageindexError) -> dict[str, object]:
    """An error as it stands in `--json` output."""
    return {
        "kind": type(error).__name__,
        "problem": error.problem,
        "subject": error.subject,
        "next_step": error.next_step,
        "exit_code": error.exit_code,
    }
