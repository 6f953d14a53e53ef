"""How a command joins the application: its docstring becomes the help, its examples stand below the options."""

import inspect
from collections.abc import Callable, Sequence

import typer

BUILDING = "Build"
ASKING = "Ask and look"
VERSIONS = "Versions and releases"
KEEPING = "Keep and carry"
_EXIT_CODES = "`pageindex-local --help` lists the exit codes."


def add_command(
    app: typer.Typer,
    function: Callable[..., None],
    *,
    examples: Sequence[str],
    remark: str = "",
    name: str | None = None,
    needs_arguments: bool = False,
    panel: str | None = None,
) -> None:
    """Register a command. Paragraphs of its docstring are unwrapped, so that the terminal wraps them.

    `panel` is the heading under which the application lists it.

    Without a remark the help ends with a line about exit codes: it is what keeps the examples indented.

    Examples longer than 76 characters would be broken over two lines on a terminal of 80.
    """
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    lines = ["Examples:", *(f"  pageindex-local {example}" for example in examples), remark or _EXIT_CODES]
    app.command(name, help=text, epilog="\n\n".join(lines), no_args_is_help=needs_arguments, rich_help_panel=panel)(
        function
    )
