"""The command tree, and the one place where an error becomes a sentence and an exit code.

Command modules import the library inside their functions: `--help` and `--version` stay quick, and querying never loads
what only building needs.
"""

import contextlib
import errno
import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pageindex_local import __version__
from pageindex_local.cli import (
    build,
    calibrate,
    doctor,
    evaluate,
    maintenance,
    query,
    reindex,
    releases,
    replace,
    status,
    tree,
    versions,
)
from pageindex_local.cli.console import emit, emit_json, error_record, hint, report_error
from pageindex_local.errors import PageindexError

_EPILOG = (
    "Start here:\n\n"
    "  pageindex-local build ./manuals --index ./indexes\n\n"
    '  pageindex-local ask "Who may change a release?" --index ./indexes\n\n'
    "Exit codes: 0 done, 1 the machine or the program, 2 usage or settings, 3 source, 4 model, 5 tree, 6 index, "
    "7 question, 10 `build --check` found something to do, 11 `evaluate` missed a threshold. "
    "The network is used for an index in a bucket (s3://, gs://, az://) and for nothing else."
)

_JSON = "pageindex_local.json"
_INTERRUPTED = 130  # what shells give a process that was ended by SIGINT


class ErrorGroup(TyperGroup):
    """Runs a command and turns what it raises into one or two lines on standard error and an exit code."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; remembers whether JSON is wanted, which matters when the command fails."""
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the chosen command.

        Raises:
            typer.Exit: with the error's code.
        """
        try:
            return super().invoke(ctx)
        except PageindexError as error:
            if ctx.params.get("traceback"):
                raise
            report_error(error)
            if ctx.meta[_JSON]:
                emit_json({"error": error_record(error)})
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            hint("interrupted: finished model calls are kept, run the same command again to go on")
            raise typer.Exit(_INTERRUPTED) from None
        except BrokenPipeError:
            # The reader went away (`| head`): say nothing, and keep the interpreter's last flush from complaining.
            with contextlib.suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except (OSError, MemoryError) as error:
            if ctx.params.get("traceback"):
                raise
            reported = _from_system_error(error)
            report_error(reported)
            if ctx.meta[_JSON]:
                emit_json({"error": error_record(reported)})
            raise typer.Exit(1) from None


def _from_system_error(error: BaseException) -> PageindexError:
    if isinstance(error, OSError):
        problem = error.strerror or type(error).__name__
        step = "Free some space." if error.errno == errno.ENOSPC else "Check the path and its permissions."
        subject = str(error.filename or "")
        return PageindexError(problem[:1].lower() + problem[1:], subject=subject, next_step=step if subject else "")
    return PageindexError("the machine has no memory left", next_step="Close other programs, or use a smaller model.")


app = typer.Typer(
    name="pageindex-local",
    cls=ErrorGroup,
    help="Build, keep and question an index of long documents, offline, with a local model.",
    epilog=_EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        emit(f"pageindex-local {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", metavar="", hidden=True, help="Show Python's own error report.")
    ] = False,
) -> None:
    """Read what stands before the command. The help text is the application's."""


for module in (
    build,
    reindex,
    query,
    calibrate,
    evaluate,
    tree,
    status,
    versions,
    replace,
    releases,
    maintenance,
    doctor,
):
    module.register(app)


def main() -> None:
    """Run the command line; the console script."""
    try:
        app(prog_name="pageindex-local")
    except KeyboardInterrupt:  # before a command has begun
        sys.exit(_INTERRUPTED)
    except Exception as error:
        if "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"error: unexpected {type(error).__name__}: {error}\n")
        sys.stderr.write(
            "  This is a fault of the program. Run again with --traceback before the command for details.\n"
        )
        sys.exit(1)
