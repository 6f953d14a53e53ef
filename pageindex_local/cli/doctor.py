"""`models` and `doctor`: which models this installation knows, and whether it works."""

from typing import TYPE_CHECKING, Any

import typer

from pageindex_local.cli.commands import KEEPING, add_command
from pageindex_local.cli.console import emit_json, hint, out_console
from pageindex_local.cli.options import JsonOption, load_settings
from pageindex_local.errors import PageindexError
from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from pageindex_local.llm.models import ModelEntry


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(app, models, panel=KEEPING, examples=("models", "models --json"))


def models(*, as_json: JsonOption = False) -> None:
    """List the models that can be named with --model, and whether their files are here.

    Any other GGUF file may be given by its path, and a file of the same form as those in configs/models describes it.
    """
    from pageindex_local.llm.models import list_models

    default = load_settings(None).model.name
    found = [_describe(entry, default) for entry in list_models()]
    if as_json:
        emit_json({"models": found})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in ("name", "strength", "context", "licence", "file"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "context" else "left")
    for entry in found:
        name = f"{entry['name']}{' (default)' if entry['is_default'] else ''}"
        state = "here" if entry["problem"] is None else f"missing: {entry['problem']}"
        context = str(entry["context_tokens"] or "")
        cells = (name, entry["strength"], context, entry["licence"], str(entry["url"] or state))
        table.add_row(*(Text(inert(str(cell))) for cell in cells))
    out_console().print(table)
    hint("The name `fake` is a stand-in without weights, for trying the program out.")


def _describe(entry: "ModelEntry", default: str) -> dict[str, Any]:
    from pageindex_local.llm.models import locate_file

    problem = path = None
    if not entry.url:
        try:
            path = str(locate_file(entry))
        except PageindexError as error:
            problem = error.problem
    return {
        "name": entry.name,
        "is_default": entry.name == default,
        "strength": entry.strength,
        "context_tokens": entry.context_tokens,
        "licence": entry.licence,
        "url": entry.url,
        "path": path,
        "sha256": entry.sha256,
        "problem": problem,
    }
