"""`history`, `diff` and `resolve`: how a document changed, and what became of a section that was once cited."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.commands import VERSIONS, add_command
from pageindex_local.cli.console import count_text, emit, emit_json, out_console
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    DocArgument,
    IndexOption,
    JsonOption,
    ReleaseOption,
    check_choice,
    check_document,
    load_settings,
    open_document,
    open_store,
    read_release,
)
from pageindex_local.cli.tree import place_text, title_text
from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from pageindex_local.records import Node
    from pageindex_local.store.history import HistoryEntry, VersionDiff
    from pageindex_local.store.reader import StoredVersion

_FORMATS = ("text", "markdown")
# Kinds of change that a reader of the document would call one, in the order in which they are told.
_TOLD = ("edited", "retitled", "moved", "renumbered", "resummarised")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(
        app, history, panel=VERSIONS, examples=("history manual.pdf", "history manual.pdf --json"), needs_arguments=True
    )
    add_command(
        app,
        diff,
        panel=VERSIONS,
        examples=(
            "diff manual.pdf v000003 v000004",
            "diff manual.pdf v000003 v000004 --format markdown",
            "diff manual.pdf v000003 v000004 --node n2d44r5nhyoacq",
        ),
        needs_arguments=True,
    )
    add_command(
        app, resolve, panel=VERSIONS, examples=("resolve n2d44r5nhyoacq", "resolve n2d44r5nhyoacq --release 000003")
    )


def history(
    doc: DocArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the versions of a document: when, how large, what changed, what it cost, which releases pin it."""
    from pageindex_local.store.history import list_history

    store = open_store(index, collection, load_settings(None))
    doc_keys = {entry.doc_id: doc_key for doc_key, entry in read_release(store, None).documents.items()}
    entries = list_history(store, doc_keys[check_document(doc, doc_keys, "the current release")])
    if as_json:
        emit_json({"doc_id": doc, "versions": [asdict(entry) for entry in entries]})
        return
    _show_history(entries)


def _show_history(entries: "tuple[HistoryEntry, ...]") -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for heading in ("version", "built (UTC)"):
        table.add_column(heading, no_wrap=True)
    for heading in ("pages", "nodes", "calls", "tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("changes", overflow="fold")
    table.add_column("releases", overflow="fold")
    for entry in reversed(entries):
        told = ", ".join(f"{count} {kind}" for kind, count in entry.changes.items() if count and kind != "kept")
        pins = entry.releases if len(entry.releases) <= 2 else (entry.releases[0], "…", entry.releases[-1])
        cells = (
            f"{entry.version_id}{'*' if entry.is_live else ''}",
            entry.created_at[:16].replace("T", " "),
            str(entry.pages),
            str(entry.nodes),
            str(entry.usage.model_calls),
            count_text(entry.usage.input_tokens + entry.usage.output_tokens),
            told if entry.parent_version else "first version",
            " ".join(pins) or "none",
        )
        table.add_row(*(Text(cell) for cell in cells))
    out_console().print(table)
    emit("* answers now")


def diff(
    doc: DocArgument,
    old: Annotated[str, typer.Argument(metavar="A", help="Older version.", show_default=False)],
    new: Annotated[str, typer.Argument(metavar="B", help="Newer version.", show_default=False)],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    output_format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORM", help=f"One of {', '.join(_FORMATS)}.")
    ] = "text",
    node: Annotated[
        str | None, typer.Option("--node", "-n", metavar="NODE_ID", help="Show how the text of this section changed.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two versions of a document, section by section.

    With --node the text of one section (and of those in it) is shown as a unified diff.
    """
    from pageindex_local.store.history import diff_text, diff_versions

    check_choice("--format", output_format, _FORMATS)
    store = open_store(index, collection, load_settings(None))
    before = open_document(store, doc, version=old)
    after = open_document(store, doc, version=new)
    if node is not None:
        text = diff_text(before, after, node)
        if as_json:
            emit_json({"doc_id": doc, "old": old, "new": new, "node_id": node, "diff": text})
        else:
            emit(inert(text, keep_lines=True) or "no difference")
        return
    changes = diff_versions(store, before, after)
    if as_json:
        emit_json({"doc_id": doc, **diff_json(changes)})
    elif output_format == "markdown":
        emit("\n".join(markdown_lines(doc, changes, after)))
    else:
        emit("\n".join(text_lines(changes, before, after)))


def diff_json(changes: "VersionDiff") -> dict[str, Any]:
    """A difference as data: counts, then every node added, removed or changed."""
    return {
        "old": changes.old_version,
        "new": changes.new_version,
        "counts": changes.counts(),
        "added": [
            {**_node_json(node), "derived_from": list(changes.origins.get(node.node_id, ()))}
            for node in changes.tree.added
        ],
        "removed": [{**_node_json(node), "into": changes.fates.get(node.node_id)} for node in changes.tree.removed],
        "changed": [
            {
                "node_id": change.after.node_id,
                "kinds": [kind.value for kind in change.kinds],
                "before": _node_json(change.before),
                "after": _node_json(change.after),
            }
            for change in changes.tree.changed
        ],
    }


def _node_json(node: "Node") -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "parent_id": node.parent_id,
        "title": node.title,
        "first_page": node.first_page,
        "last_page": node.last_page,
        "first_line": node.span[0] + 1,
        "last_line": node.span[1],
    }


def told_changes(changes: "VersionDiff") -> list[tuple[str, "Node", str]]:
    """What a reader should be told, in document order of each kind: (sign, node, what about it)."""
    told: list[tuple[str, Node, str]] = []
    for node in changes.tree.added:
        origins = changes.origins.get(node.node_id, ())
        told.append(("+", node, f"split from {', '.join(origins)}" if origins else "added"))
    for node in changes.tree.removed:
        into = changes.fates.get(node.node_id)
        told.append(("-", node, f"merged into {into}" if into else "removed"))
    for change in changes.tree.changed:
        kinds = [kind for kind in _TOLD if kind in {found.value for found in change.kinds}]
        if not kinds or kinds == ["resummarised"]:  # another summary alone is our doing, not the document's
            continue
        was = f" (was: {inert(change.before.title)})" if change.before.title != change.after.title else ""
        told.append(("~", change.after, ", ".join(kinds) + was))
    return told


def _summary_line(changes: "VersionDiff") -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in changes.counts().items() if count)
    return f"{changes.old_version} -> {changes.new_version}: {counts or 'no difference'}"


def text_lines(changes: "VersionDiff", before: "StoredVersion", after: "StoredVersion") -> list[str]:
    """A difference for the terminal: one line a section."""
    lines = [_summary_line(changes)]
    for sign, node, what in told_changes(changes):
        version = before if sign == "-" else after
        place = place_text(node, has_pages=version.manifest.has_pages)
        lines.append(f"{sign} {title_text(node)}  [{place}]  {node.node_id}  {what}")
    return lines


def markdown_lines(doc: str, changes: "VersionDiff", after: "StoredVersion") -> list[str]:
    """A difference as Markdown, for a pull request."""
    lines = [f"### {_markdown(doc)}", "", f"`{changes.old_version}` → `{changes.new_version}`", ""]
    rows = told_changes(changes)
    if not rows:
        return [*lines, "No section changed."]
    lines += ["| | section | where | what |", "|---|---|---|---|"]
    for sign, node, what in rows:
        place = place_text(node, has_pages=after.manifest.has_pages)
        lines.append(f"| {sign} | {_markdown(title_text(node))} | {place} | {_markdown(what)} |")
    return lines


def _markdown(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in inert(text))


def resolve(
    node_id: Annotated[
        str, typer.Argument(metavar="NODE_ID", help="Id of a section, as a citation names it.", show_default=False)
    ],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    doc: Annotated[
        str | None, typer.Option("--doc", "-d", metavar="DOC", help="Document to look in (default: all).")
    ] = None,
    release: ReleaseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a section id stands for: the section, or what became of it."""
    from pageindex_local.store.history import NodeState, resolve_node

    store = open_store(index, collection, load_settings(None))
    pinned = read_release(store, release)
    doc_keys = {entry.doc_id: doc_key for doc_key, entry in pinned.documents.items()}
    doc_key = None if doc is None else doc_keys[check_document(doc, doc_keys, f"release {pinned.name}")]
    found = resolve_node(store, pinned, node_id, doc_key)
    if as_json:
        node = None if found.node is None else _node_json(found.node)
        record = {key: value for key, value in asdict(found).items() if key not in {"node", "doc_key"}}
        emit_json({"release": pinned.name, **record, "node": node})
        return
    where = ""
    if found.node is not None:
        has_pages = pinned.documents[found.doc_key].media_type.value == "application/pdf"
        where = f"[{place_text(found.node, has_pages=has_pages)}]"
    if found.state is NodeState.NODE:
        emit(f"{inert(found.title)}  {where}  in {inert(found.doc_id)} {found.version_id}")
    elif found.node is not None:
        emit(
            f"{inert(found.title)} was merged in {found.ended_in} into {inert(found.node.title)}  {where}  "
            f"{found.node.node_id}  in {inert(found.doc_id)} {found.version_id}"
        )
    else:
        emit(f"{inert(found.title)} was removed in {found.ended_in} of {inert(found.doc_id)}")
    for piece in found.pieces:
        emit(f"split off: {piece}")
