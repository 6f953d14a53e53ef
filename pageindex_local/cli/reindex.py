"""`reindex`: for continuous integration: what a commit changes in the index, built and told."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.build import report_json
from pageindex_local.cli.commands import BUILDING, add_command
from pageindex_local.cli.console import emit, emit_json, error_record, hint, report_error
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
from pageindex_local.errors import StoreError
from pageindex_local.wording.differences import markdown_text
from pageindex_local.wording.plain import count_text, plural
from pageindex_local.wording.releases import release_json, release_markdown

if TYPE_CHECKING:
    from pageindex_local.records import Usage
    from pageindex_local.reindex import ReindexReport

_EXAMPLES = (
    "reindex docs --base origin/main --index .pageindex",
    "reindex docs --base origin/main --index .pageindex --report diff.md",
    "reindex docs --base v1.0 --head v1.1 --bundle v1.0.pil --save v1.1.pil",
)
_REMARK = "See docs/ci.md for recipes. The working tree is not touched; files are read from the commits."


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, reindex, panel=BUILDING, examples=_EXAMPLES, remark=_REMARK, needs_arguments=True)


def reindex(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder of documents in a git repository.", show_default=False)
    ],
    *,
    base: Annotated[str, typer.Option("--base", metavar="COMMIT", help="What to compare with: commit, branch or tag.")],
    head: Annotated[str, typer.Option("--head", metavar="COMMIT", help="What to index.")] = "HEAD",
    index: IndexOption = DEFAULT_INDEX,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Collection in the index.")
    ] = DEFAULT_COLLECTION,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", metavar="FILE", help="Start from this bundle where the index is empty.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the result as a bundle, for the next run.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write the difference there as Markdown (default: to stdout)."),
    ] = None,
    text: Annotated[
        bool, typer.Option("--text", metavar="", help="Show how the text of sections changed, too.")
    ] = False,
    model: ModelOption = None,
    strategy: StrategyOption = None,
    summaries: SummariesOption = None,
    config: ConfigOption = None,
    exclude: ExcludeOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Index a commit, building only what differs from another, and write the difference for a review.

    The index may come from any earlier run, or from a bundle; where there is none, the base is built first. Exits with
    the code of the worst document that failed; the others are published and told all the same.
    """
    settings = load_build_settings(config, strategy, summaries, model)

    from pageindex_local.build import may_use_model
    from pageindex_local.collection import library_builder
    from pageindex_local.git_commits import find_commits
    from pageindex_local.llm.lazy import open_lazily
    from pageindex_local.parsing.parser_process import ParserProcess
    from pageindex_local.reindex import reindex as run
    from pageindex_local.store.bundle import export_bundle, import_bundle
    from pageindex_local.store.index import IndexStore

    if save is not None and save.exists():
        raise StoreError("is there already", subject=str(save), next_step="Choose a file that does not exist yet.")
    commits = find_commits(folder, base, head)
    store = IndexStore(index, collection, settings.store)
    if bundle is not None and store.current() is None:
        import_bundle(store, bundle)
    cache_file = store.work_folder / "completions.sqlite"
    local_model = open_lazily(settings.model, cache_file) if may_use_model(settings) else None
    with show_progress(quiet) as progress, ParserProcess() as parser:
        try:
            builder = library_builder(store, settings, local_model, progress, parser)
            done = run(folder, commits, store, settings, local_model, builder, exclude=exclude or (), progress=progress)
        finally:
            if local_model is not None:
                local_model.close()
    for document in done.head.documents:
        if document.error is not None:
            report_error(document.error)
    markdown = release_markdown(done.diffs, _notes(done), text=text)
    if report is not None:
        try:
            report.write_text(markdown + "\n", encoding="utf-8")
        except OSError as error:
            raise StoreError(
                f"cannot be written ({error.strerror})",
                subject=str(report),
                next_step="The release was published. Give --report a file in a folder that exists.",
            ) from None
    if save is not None:
        export_bundle(store, save, store.require_current())
    if as_json:
        emit_json(
            {
                "base": done.commits.base,
                "head": done.commits.head,
                "base_release": done.base_release,
                "differences": release_json(done.diffs),
                "base_model_calls": done.base_usage.model_calls,
                "base_failed": [
                    {"doc_id": document.doc_id, "error": error_record(document.error)}
                    for document in done.base_failed
                    if document.error is not None
                ],
                **report_json(done.head),
            }
        )
    elif report is None:
        emit(markdown)
    else:
        hint(f"release {done.head_release}; wrote {report}")
    raise typer.Exit(done.head.exit_code)


def _notes(done: "ReindexReport") -> list[str]:
    """Lines below the title: which commits, what it cost, and what failed."""
    base = "nothing" if done.commits.base is None else f"`{done.commits.base[:12]}`"
    cost = _cost(done.usage)
    if done.base_usage.model_calls:
        cost += f" (and {_cost(done.base_usage)} to index the base first)"
    lines = [f"{base} → `{done.commits.head[:12]}`, release {done.head_release}, {cost}."]
    for document in done.head.documents:
        said = [f"- {markdown_text(document.doc_id)}: {markdown_text(warning)}" for warning in document.warnings]
        if document.error is not None:
            said.insert(0, f"- **failed** {markdown_text(document.doc_id)}: {markdown_text(document.error.problem)}")
        if said and len(lines) == 1:
            lines.append("")
        lines += said
    if done.base_failed and len(lines) == 1:
        lines.append("")
    for document in done.base_failed:
        if document.error is not None:
            told = f"{markdown_text(document.doc_id)}: {markdown_text(document.error.problem)}"
            lines.append(f"- failed in the base, so compared with its last good version or nothing: {told}")
    return lines


def _cost(usage: "Usage") -> str:
    calls = plural(usage.model_calls, "model call")
    tokens = usage.input_tokens + usage.output_tokens
    return f"{calls}, {count_text(tokens)} tokens" if usage.model_calls else calls
