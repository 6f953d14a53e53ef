"""`build`: sources in, a published release out, a table of what it cost."""

import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.commands import BUILDING, add_command
from pageindex_local.cli.console import emit, emit_json, error_record, hint, out_console, report_error
from pageindex_local.cli.options import (
    DEFAULT_COLLECTION,
    DEFAULT_INDEX,
    ConfigOption,
    ExcludeOption,
    IndexOption,
    JsonOption,
    ModelOption,
    QuietOption,
    StrategyOption,
    SummariesOption,
    load_build_settings,
)
from pageindex_local.cli.progress_bars import show_progress
from pageindex_local.errors import SettingsError, SourceError
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import count_text, pages_heading, plural

if TYPE_CHECKING:
    from rich.table import Table

    from pageindex_local.build import BuildJob
    from pageindex_local.collection import BuiltVersion, CollectionReport, DocumentBuilder, DocumentReport
    from pageindex_local.llm.lazy import LazyModel
    from pageindex_local.parsing.parser_process import ParserProcess
    from pageindex_local.planning import PlannedDocument
    from pageindex_local.progress import Progress
    from pageindex_local.settings import Settings
    from pageindex_local.store.index import IndexStore
    from pageindex_local.store.records import VersionDraft

WOULD_CHANGE = 10

_EXAMPLES = (
    "build ./manuals --index ./indexes",
    "build policy.pdf --index ./indexes --summaries extractive",
    "build ./manuals --index ./indexes --check",
)
_REMARK = (
    "A folder is the root of its collection: what it no longer holds is dropped from the release (older releases keep "
    "it). Files given one by one are added to the collection."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, build, panel=BUILDING, examples=_EXAMPLES, remark=_REMARK, needs_arguments=True)


def build(
    source: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE", help="Files or folders: PDF, Markdown, plain text.", show_default=False),
    ],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Collection in the index.")
    ] = DEFAULT_COLLECTION,
    model: ModelOption = None,
    strategy: StrategyOption = None,
    summaries: SummariesOption = None,
    config: ConfigOption = None,
    exclude: ExcludeOption = None,
    keep_missing: Annotated[
        bool, typer.Option("--keep-missing", metavar="", help="Keep documents that are no longer in the folder.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", metavar="", help="Build again what has not changed, try again what failed.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            metavar="",
            help="Change nothing; exit 10 where a build would change something, else as a build.",
        ),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", metavar="", help="Change nothing; say what would be built and what it may cost.")
    ] = False,
    no_dagster: Annotated[
        bool,
        typer.Option(
            "--no-dagster",
            metavar="",
            help="Run the library alone; the result is the same. More than 100 documents are always built so.",
        ),
    ] = False,
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            metavar="FILE",
            help="Passwords for encrypted PDFs, one a line; `-` reads standard input. They are not kept.",
            dir_okay=False,
            allow_dash=True,
        ),
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Build or update an index from documents, and publish it.

    Only what changed is built again: a document with the same content and settings costs nothing, and inside a changed
    document only changed sections ask the model. A document that cannot be read is reported; the others are published.
    """
    settings = load_build_settings(config, strategy, summaries, model)

    from pageindex_local.build import make_fingerprint, may_use_model
    from pageindex_local.collection import MANY_DOCUMENTS, build_collection, library_builder
    from pageindex_local.llm.lazy import open_lazily
    from pageindex_local.parsing.parser_process import ParserProcess
    from pageindex_local.planning import Scope, estimate_document, plan_collection
    from pageindex_local.store.index import IndexStore
    from pageindex_local.unreadable import read_unreadable

    store = IndexStore(index, collection, settings.store)
    cache_file = store.work_folder / "completions.sqlite"
    local_model = open_lazily(settings.model, cache_file) if may_use_model(settings) else None
    passwords = read_passwords(password_file)
    scope = Scope(
        tuple(source), tuple(exclude or ()), keep_missing=keep_missing, force=force, has_passwords=bool(passwords)
    )
    parser = ParserProcess(passwords)
    if check or plan:
        with show_progress(quiet) as progress, parser:
            fingerprint = make_fingerprint(settings, local_model)
            planned = plan_collection(
                scope,
                store.current(),
                settings.parse,
                fingerprint,
                store=store,
                unreadable=read_unreadable(store, settings.parse),
                parser=parser,
                progress=progress,
            )
            estimates = {}
            if plan:
                progress.start("estimating", len(planned))
                for entry in planned:
                    with contextlib.suppress(SourceError):  # building it will say why
                        estimates[entry.doc_id] = estimate_document(entry, store, settings, fingerprint, parser)
                    progress.advance()
        _show_plan(planned, estimates, as_json=as_json)
        raise typer.Exit(_check_code(planned) if check else 0)
    with show_progress(quiet) as progress, contextlib.ExitStack() as stack:
        if local_model is not None:
            stack.callback(local_model.close)
        stack.enter_context(parser)
        library = library_builder(store, settings, local_model, progress, parser)
        builder = library if no_dagster else _dagster_builder(store, settings, local_model, parser, progress, stack)
        report = build_collection(
            scope, store, settings, local_model, builder, bulk_builder=library, parser=parser, progress=progress
        )
    errors = [document.error for document in report.documents if document.error is not None]
    for error in {str(error): error for error in errors}.values():  # one cause that stops all documents is told once
        report_error(error)
    if as_json:
        emit_json(report_json(report))
    else:
        _show_report(report)
    built = sum(document.is_changed and document.version is not None for document in report.documents)
    if not no_dagster and built > MANY_DOCUMENTS:
        hint(f"more than {MANY_DOCUMENTS} documents to build: the library built them alone, the result is the same")
    raise typer.Exit(report.exit_code)


def _check_code(planned: Sequence["PlannedDocument"]) -> int:
    """10 where a build would change something; else the code with which it would end."""
    if any(entry.is_change for entry in planned):
        return WOULD_CHANGE
    return max((entry.error.exit_code for entry in planned if entry.error is not None), default=0)


def _dagster_builder(
    store: "IndexStore",
    settings: "Settings",
    model: "LazyModel | None",
    parser: "ParserProcess",
    progress: "Progress",
    stack: contextlib.ExitStack,
) -> "DocumentBuilder":
    """A builder that starts Dagster when the first document has to be built."""
    started: list[DocumentBuilder] = []

    def build_under_dagster(job: "BuildJob") -> "BuiltVersion":
        if not started:
            progress.start("starting Dagster", None)
            from pipelines.in_process import dagster_builder

            started.append(stack.enter_context(dagster_builder(store, settings, model, progress, parser)))
        return started[0](job)

    return build_under_dagster


def read_passwords(file: Path | None) -> tuple[str, ...]:
    """The lines of a password file that are not empty.

    Raises:
        SettingsError: it cannot be read, or holds no password.
    """
    if file is None:
        return ()
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise SettingsError(f"cannot be read ({reason})", subject=str(file)) from None
    passwords = tuple(line for line in text.splitlines() if line)
    if not passwords:
        raise SettingsError("holds no password", subject=str(file), next_step="Write one password a line.")
    return passwords


def report_json(report: "CollectionReport") -> dict[str, object]:
    """A build's result in the stable form of `build --json`."""
    return {"release": report.release, "documents": [_document_json(document) for document in report.documents]}


def _document_json(document: "DocumentReport") -> dict[str, object]:
    return {
        "doc_id": document.doc_id,
        "version": document.version,
        "changed": document.is_changed,
        "pages": document.pages,
        "nodes": document.nodes,
        "nodes_reused": document.nodes_reused,
        "nodes_rebuilt": document.nodes_rebuilt,
        "model_calls": document.usage.model_calls,
        "cached_calls": document.usage.cached_calls,
        "input_tokens": document.usage.input_tokens,
        "output_tokens": document.usage.output_tokens,
        "seconds": round(document.seconds, 3),
        "warnings": list(document.warnings),
        "renamed_from": document.renamed_from,
        "error": None if document.error is None else error_record(document.error),
    }


def _show_report(report: "CollectionReport") -> None:
    changed = [document for document in report.documents if document.is_changed or document.error is not None]
    unchanged = len(report.documents) - len(changed)
    if changed:
        out_console().print(_report_table(changed))
    for document in report.documents:
        if document.renamed_from is not None:
            hint(f"{document.doc_id}: was {document.renamed_from}, and keeps its ids")
        for warning in document.warnings:
            hint(f"{document.doc_id}: {warning}")
    state = "new release" if report.is_new_release else "nothing to publish, release stays"
    words = [f"{state} {report.release}" if report.release else "nothing published"]
    failed = sum(document.error is not None for document in report.documents)
    if failed:
        words.append(f"{plural(failed, 'document')} failed")
    if unchanged:
        words.append(f"{plural(unchanged, 'document')} unchanged")
    emit(f"{', '.join(words)}; {report.seconds:.1f} s")


def _report_table(documents: Sequence["DocumentReport"]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", expand=False)
    table.add_column("document", overflow="fold", min_width=12)
    table.add_column("version")
    pages = pages_heading(document.media_type for document in documents if document.media_type is not None)
    for heading in (pages, "nodes", "reused", "rebuilt", "calls\nnew", "calls\ncached", "tokens\nin+out", "seconds"):
        table.add_column(heading, justify="right")
    for document in documents:
        usage = document.usage
        version = document.action.value if document.version is None else document.version
        table.add_row(
            Text(inert(document.doc_id)),
            Text(f"failed ({version})" if document.error is not None and document.version else version),
            str(document.pages),
            str(document.nodes),
            str(document.nodes_reused),
            str(document.nodes_rebuilt),
            str(usage.model_calls),
            str(usage.cached_calls),
            f"{count_text(usage.input_tokens)}+{count_text(usage.output_tokens)}",
            f"{document.seconds:.1f}",
        )
    return table


def _show_plan(
    planned: Sequence["PlannedDocument"], estimates: Mapping[str, "VersionDraft | None"], *, as_json: bool
) -> None:
    if as_json:
        documents = [
            {
                "doc_id": entry.doc_id,
                "action": entry.action.value,
                "reason": entry.reason,
                "renamed_from": None if entry.renamed_from is None else entry.renamed_from.doc_id,
                "estimate": _estimate_json(estimates.get(entry.doc_id)),
                "error": None if entry.error is None else error_record(entry.error),
            }
            for entry in planned
        ]
        emit_json({"would_change": any(entry.is_change for entry in planned), "documents": documents})
        return
    changes = [entry for entry in planned if entry.is_change]
    for entry in planned:
        if entry.error is not None:
            report_error(entry.error)
    for entry in changes:
        emit(
            f"{entry.action.value:8} {inert(entry.doc_id)}: {entry.reason}{_estimate_text(estimates.get(entry.doc_id))}"
        )
    for entry in planned:
        if entry.is_known or entry.is_waiting:
            hint(f"{entry.doc_id}: {entry.reason}")
    unchanged = sum(entry.action.value == "unchanged" for entry in planned)
    failed = sum(entry.error is not None for entry in planned)
    cannot = f", {failed} cannot be read" if failed else ""
    emit(f"{plural(len(changes), 'document')} would change, {unchanged} unchanged{cannot}")


def _estimate_json(draft: "VersionDraft | None") -> dict[str, int] | None:
    if draft is None:
        return None
    return {
        "nodes": len(draft.tree.nodes),
        "nodes_reused": draft.nodes_reused,
        "model_calls": draft.usage.model_calls,
        "input_tokens": draft.usage.input_tokens,
        "output_tokens": draft.usage.output_tokens,
    }


def _estimate_text(draft: "VersionDraft | None") -> str:
    if draft is None:
        return ""
    usage = draft.usage
    kept = f"{draft.nodes_reused} of {plural(len(draft.tree.nodes), 'node')} kept"
    tokens = count_text(usage.input_tokens + usage.output_tokens)
    return f"; {kept}, about {plural(usage.model_calls, 'model call')}, {tokens} tokens"
