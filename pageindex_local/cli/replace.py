"""`replace`: one section corrected by hand, as a new version that later builds keep."""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.commands import VERSIONS, add_command
from pageindex_local.cli.console import emit, emit_json, hint
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
    IndexOption,
    JsonOption,
    ModelOption,
    QuietOption,
    StrategyOption,
    SummariesOption,
    check_document,
    load_build_settings,
    open_store,
    read_release,
)
from pageindex_local.cli.progress_bars import show_progress
from pageindex_local.errors import SettingsError
from pageindex_local.inert_text import inert
from pageindex_local.wording.differences import change_lines, diff_json
from pageindex_local.wording.plain import count_text, plural

if TYPE_CHECKING:
    from pageindex_local.records import Graft
    from pageindex_local.store.reader import StoredVersion
    from pageindex_local.store.records import VersionDraft

_STDIN = Path("-")
_EXAMPLES = (
    "resolve n2d44r5nhyoacq --text > fees.md",
    "replace n2d44r5nhyoacq --from fees.md --dry-run",
    "replace manual.md n2d44r5nhyoacq --from fees.md",
    "replace n2d44r5nhyoacq --restore",
)
_REMARK = (
    "The correction stays through later builds for as long as the source still says, in that section, what it said "
    "when it was replaced. Once the source changes there the source counts again, and the build says so."
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, replace, panel=VERSIONS, examples=_EXAMPLES, remark=_REMARK, needs_arguments=True)


def replace(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[DOC] NODE_ID", help="The section, and its document if that has to be said.", show_default=False
        ),
    ],
    *,
    source: Annotated[
        Path | None,
        typer.Option("--from", "-f", metavar="FILE", help="Markdown or text that the section shall hold; - is stdin."),
    ] = None,
    restore: Annotated[
        bool,
        typer.Option("--restore", metavar="", help="Take a correction back: what stood there before stands again."),
    ] = False,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    model: ModelOption = None,
    strategy: StrategyOption = None,
    summaries: SummariesOption = None,
    config: ConfigOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", metavar="", help="Change nothing; show what would change and cost.")
    ] = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Replace the text of one section by hand, and publish it as a new version.

    The section keeps its id, and so does what lies in it and stays the same. All other sections stay as they are,
    without a model call. The heading may be left out of FILE. Documents with pages keep the section's page range.
    """
    if len(names) > 2:
        raise SettingsError("one document and one section at most", subject=" ".join(names))
    if restore == (source is not None):
        raise SettingsError("give either --from FILE or --restore", subject="replace")
    settings = load_build_settings(config, strategy, summaries, model)

    from pageindex_local.build import make_fingerprint, may_use_model
    from pageindex_local.grafts.replace import draft_replacement, publish_draft, settings_of
    from pageindex_local.grafts.section import find_section
    from pageindex_local.grafts.text import read_text
    from pageindex_local.llm.lazy import open_lazily
    from pageindex_local.planning import stand_in_model

    store = open_store(index, collection, settings)
    release = read_release(store, None)
    doc_keys = {entry.doc_id: doc_key for doc_key, entry in release.documents.items()}
    doc_key = doc_keys[check_document(names[0], doc_keys, f"release {release.name}")] if len(names) > 1 else None
    doc_key, node = find_section(store, release, names[-1], doc_key)
    stored = store.open_document(release, doc_key)
    text = None
    if source is not None:
        with _file_of(source) as file:
            text = read_text(file, settings.parse)
    with show_progress(quiet) as progress, contextlib.ExitStack() as stack:
        cache_file = store.work_folder / "completions.sqlite"
        local_model = open_lazily(settings.model, cache_file) if may_use_model(settings) else None
        if summaries is None:
            settings = settings_of(stored, settings, make_fingerprint(settings, local_model))
        if local_model is not None:
            stack.callback(local_model.close)
            if dry_run:
                local_model = stack.enter_context(stand_in_model(settings))
        draft = draft_replacement(
            store, stored, node.node_id, text, model=local_model, settings=settings, progress=progress
        )
        published = None
        if draft is not None and not dry_run:
            reason = f"replace {node.node_id} in {stored.manifest.doc_id}"
            published = publish_draft(store, draft, release, reason).name
    if as_json:
        touched = {
            "took_up": [_graft_json(graft) for graft in _taken_up(stored, draft, node.node_id)],
            "brought_back": [_graft_json(graft) for graft in _brought_back(stored, draft)],
        }
        emit_json(
            {"node_id": node.node_id, "dry_run": dry_run, "release": published, **_json(stored, draft), **touched}
        )
    else:
        emit("\n".join(_lines(stored, draft, published)))
        for graft in _taken_up(stored, draft, node.node_id):
            hint(f"{_correction(graft)} lies inside and becomes part of this one; --restore brings it back")
        for graft in _brought_back(stored, draft):
            hint(f"{_correction(graft)} stands again")


@contextlib.contextmanager
def _file_of(source: Path) -> Iterator[Path]:
    """The file itself, or what standard input holds in a file with a name that says so."""
    if source != _STDIN:
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "standard-input.md"
        file.write_bytes(sys.stdin.buffer.read())
        yield file


def _taken_up(stored: "StoredVersion", draft: "VersionDraft | None", node_id: str) -> "list[Graft]":
    """Corrections of other sections that the new text stands in place of."""
    from pageindex_local.grafts.covered import grafts_inside

    living = set() if draft is None else {graft.node_id for graft in draft.document.grafts}
    inside = [] if draft is None else grafts_inside(stored, node_id)
    return [graft for graft in inside if graft.node_id not in living]


def _brought_back(stored: "StoredVersion", draft: "VersionDraft | None") -> "list[Graft]":
    """Corrections that an outer one had taken up."""
    known = {graft.node_id for graft in stored.grafts()}
    return (
        []
        if draft is None
        else [g for g in draft.document.grafts if g.node_id not in known and g.made_in != draft.version_id]
    )


def _correction(graft: "Graft") -> str:
    return f"The correction of “{graft.title}” ({graft.node_id}, made in {graft.made_in})"


def _graft_json(graft: "Graft") -> dict[str, str]:
    return {"node_id": graft.node_id, "title": graft.title, "made_in": graft.made_in}


def _json(stored: "StoredVersion", draft: "VersionDraft | None") -> dict[str, Any]:
    record: dict[str, Any] = {
        "doc_id": stored.manifest.doc_id,
        "version": stored.version_id if draft is None else draft.version_id,
        "changed": draft is not None,
    }
    if draft is None:
        return record
    usage = draft.usage
    return record | {
        "nodes": len(draft.tree.nodes),
        "nodes_reused": draft.nodes_reused,
        "nodes_rebuilt": draft.nodes_rebuilt,
        "model_calls": usage.model_calls,
        "cached_calls": usage.cached_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "changes": diff_json(_diff(stored, draft)),
    }


def _lines(stored: "StoredVersion", draft: "VersionDraft | None", published: str | None) -> list[str]:
    doc_id = inert(stored.manifest.doc_id)
    if draft is None:
        return [f"{doc_id} {stored.version_id} says just that; nothing to change"]
    usage = draft.usage
    calls = plural(usage.model_calls, "model call")
    cost = f"{calls}, {count_text(usage.input_tokens + usage.output_tokens)} tokens" if usage.model_calls else calls
    kept = f"{draft.nodes_reused} of {plural(len(draft.tree.nodes), 'section')} kept as they are, {cost}"
    if published is None:
        head = f"{doc_id}: would become {draft.version_id}; {kept}"
    else:
        head = f"{doc_id}: {draft.version_id} in new release {published}; {kept}"
    has_pages = stored.manifest.has_pages
    return [head, *change_lines(_diff(stored, draft), stored.tree(), draft.tree, has_pages=has_pages)]


def _diff(stored: "StoredVersion", draft: "VersionDraft") -> Any:
    from pageindex_local.store.history import VersionDiff
    from pageindex_local.tree.diff import diff_trees
    from pageindex_local.tree.text import own_text

    tree = diff_trees(
        stored.tree(), draft.tree, stored.own_text, lambda node: own_text(draft.document, draft.tree, node)
    )
    fates = {removed.old_id: removed.into for removed in draft.report.removed}
    origins = {added.node_id: added.derived_from for added in draft.report.split}
    return VersionDiff(stored.version_id, draft.version_id, tree, fates, origins)
