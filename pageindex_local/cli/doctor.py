"""`models` and `doctor`: which models this installation knows, and whether it works."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.commands import KEEPING, add_command
from pageindex_local.cli.console import emit_json, hint, out_console
from pageindex_local.cli.options import ConfigOption, JsonOption, ModelOption, load_settings, read_index_place
from pageindex_local.errors import PageindexError
from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from pageindex_local.llm.models import ModelEntry


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(app, models, panel=KEEPING, examples=("models", "models --json"))
    add_command(app, doctor, panel=KEEPING, examples=("doctor", "doctor --model ./my-model.gguf --json"))


def doctor(
    *,
    index: Annotated[
        Path,
        typer.Option(
            "--index",
            "-i",
            metavar="DIR",
            parser=read_index_place,
            help="Folder whose free space is looked at, or a bucket that is tried.",
        ),
    ] = Path(),
    model: ModelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that this installation works: the engine runs here, how fast, and nothing would use the network.

    The engine is tried in a process of its own. The command fails (4) where a check failed.
    """
    from pageindex_local.doctor import CheckState, run_checks
    from pageindex_local.errors import ModelError

    checks = run_checks(load_settings(config, model={"name": model}), index=index)
    failed = [check for check in checks if check.state is CheckState.FAILED]
    if as_json:
        records = [{"name": c.name, "state": c.state, "message": c.message, "values": dict(c.values)} for c in checks]
        emit_json({"ok": not failed, "checks": records})
    else:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        colours = {CheckState.OK: "green", CheckState.WARNING: "yellow", CheckState.FAILED: "bold red"}
        for check in checks:
            table.add_row(Text(check.state, colours[check.state]), Text(check.name), Text(inert(check.message)))
        out_console().print(table)
    if failed:
        raise typer.Exit(ModelError.exit_code)


def models(*, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the models that can be named with --model, and whether their files are here.

    Any other GGUF file may be given by its path, and a file of the same form as those in configs/models describes it.
    """
    from pageindex_local.llm.models import list_models

    default = load_settings(config).model.name
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
