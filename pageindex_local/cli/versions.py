"""`history`, `diff` and `resolve`: how a document changed, and what became of a section that was once cited."""

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.commands import VERSIONS, add_command
from pageindex_local.cli.console import emit, emit_json
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
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
from pageindex_local.errors import IndexNotFoundError, SettingsError
from pageindex_local.inert_text import inert
from pageindex_local.wording.differences import change_lines, count_words, diff_json, markdown_lines, node_json, tell
from pageindex_local.wording.plain import count_text, place_text, plural, unit_of_pages

if TYPE_CHECKING:
    from pageindex_local.store import IndexStore, StoredVersion
    from pageindex_local.store.history import HistoryEntry, Resolution
    from pageindex_local.store.records import Release

_FORMATS = ("text", "markdown")


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
            "diff manual.pdf",
            "diff manual.pdf v000003 v000004",
            "diff manual.pdf v000003 v000004 --markdown --text",
            "diff manual.pdf v000003 v000004 --node n2d44r5nhyoacq",
        ),
        needs_arguments=True,
    )
    add_command(
        app,
        resolve,
        panel=VERSIONS,
        examples=(
            "resolve n2d44r5nhyoacq",
            "resolve n2d44r5nhyoacq --release 000003",
            "resolve n2d44r5nhyoacq --text > section.md",
        ),
        needs_arguments=True,
    )


def history(
    doc: DocArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the versions of a document: when, how large, what changed, what it cost, which releases pin it."""
    from pageindex_local.store.history import list_history

    store = open_store(index, collection, load_settings(config))
    doc_keys = {entry.doc_id: doc_key for doc_key, entry in read_release(store, None).documents.items()}
    doc_key = doc_keys[check_document(doc, doc_keys, "the current release")]
    entries = list_history(store, doc_key)
    versions = {entry.version_id: store.open_version(doc_key, entry.version_id) for entry in entries}
    if as_json:
        emit_json({"doc_id": doc, "versions": [_history_json(entry, versions[entry.version_id]) for entry in entries]})
        return
    for entry in reversed(entries):
        emit("\n".join(_history_lines(entry, versions[entry.version_id])))
    emit("* answers now")


def _history_json(entry: "HistoryEntry", version: "StoredVersion") -> dict[str, Any]:
    former = version.manifest.renamed_from
    return asdict(entry) | {
        "replaced_by_hand": [graft.node_id for graft in version.grafts()],
        "renamed_from": None if former is None else former.model_dump(mode="json"),
    }


def _history_lines(entry: "HistoryEntry", version: "StoredVersion") -> list[str]:
    """Two lines: when, how large, what it cost and who pins it; then how it differs from the one before."""
    former = version.manifest.renamed_from
    words = [f"{count} {kind}" for kind, count in entry.changes.items() if count and kind != "kept"]
    if entry.parent_version is None:
        words = ["first version"]
        if former is not None:
            words = [f"first version under this name, was {inert(former.doc_id)} {former.version_id}"]
    by_hand = len(version.grafts())
    if by_hand:
        words.append(f"{by_hand} {'is' if by_hand == 1 else 'are'} by hand")
    names = entry.releases
    shown = f"release{'s' if len(names) > 1 else ''} {' '.join(names)}"
    if len(names) > 2:
        in_a_row = int(names[-1]) - int(names[0]) == len(names) - 1
        shown = f"{'' if in_a_row else f'{len(names)} '}releases {names[0]} to {names[-1]}"
    tokens = entry.usage.input_tokens + entry.usage.output_tokens
    unit = unit_of_pages(version.manifest.media_type)
    figures = [plural(entry.pages, unit), plural(entry.nodes, "node"), plural(entry.usage.model_calls, "call")]
    if tokens:
        figures.append(f"{count_text(tokens)} tokens")
    when = entry.created_at[:16].replace("T", " ")
    return [
        f"{entry.version_id}{'*' if entry.is_live else ' '}  {when}  {', '.join(figures)}",
        f"          {shown if names else 'in no release'}: {', '.join(words) or 'nothing changed'}",
    ]


def diff(
    doc: DocArgument,
    old: Annotated[
        str | None, typer.Argument(metavar="A", help="Older version (default: the one before B).", show_default=False)
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="B", help="Newer version (default: the live one).", show_default=False)
    ] = None,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    output_format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORM", help=f"One of {', '.join(_FORMATS)}.")
    ] = "text",
    markdown: Annotated[
        bool, typer.Option("--markdown", metavar="", help="Write Markdown, for a pull request (as --format markdown).")
    ] = False,
    text: Annotated[
        bool, typer.Option("--text", metavar="", help="Show how the text of every edited section changed, too.")
    ] = False,
    node: Annotated[
        str | None, typer.Option("--node", "-n", metavar="NODE_ID", help="Show how the text of this section changed.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two versions of a document, section by section.

    With --node the text of one section (and of those in it) is shown as a unified diff.
    """
    from pageindex_local.store.history import diff_text, diff_versions

    check_choice("--format", output_format, _FORMATS)
    store = open_store(index, collection, load_settings(config))
    before, after = _two_versions(store, doc, old, new)
    names = {"doc_id": doc, "old": before.version_id, "new": after.version_id}
    if node is not None:
        unified = diff_text(before, after, node)
        if as_json:
            emit_json({**names, "node_id": node, "diff": unified})
        else:
            emit(inert(unified, keep_lines=True) or "no difference")
        return
    changes = diff_versions(store, before, after)
    trees = before.tree(), after.tree()
    has_pages = after.manifest.has_pages

    def read_diff(node_id: str) -> str:
        return diff_text(before, after, node_id)

    if as_json:
        emit_json({**names, **diff_json(changes)})
    elif markdown or output_format == "markdown":
        lines = markdown_lines(doc, changes, *trees, has_pages=has_pages, read_diff=read_diff if text else None)
        emit("\n".join(lines))
    else:
        told = tell(changes, *trees)
        emit(f"{inert(doc)} {before.version_id} -> {after.version_id}: {count_words(told, changes)}")
        for line in change_lines(changes, *trees, has_pages=has_pages):
            emit(line)
        for entry in told if text else ():
            if "edited" in entry.what:
                emit("\n" + inert(read_diff(entry.node.node_id), keep_lines=True))


def _two_versions(
    store: "IndexStore", doc: str, old: str | None, new: str | None
) -> "tuple[StoredVersion, StoredVersion]":
    after = open_document(store, doc, version=version_name(new))
    if old is None:
        old = after.manifest.parent_version
        if old is None:
            raise IndexNotFoundError(
                f"{after.version_id} is the first version, there is none before it",
                subject=doc,
                next_step="See `tree`.",
            )
    return open_document(store, doc, version=version_name(old)), after


def version_name(version: str | None) -> str | None:
    """`v000003` for `3` or `v3`."""
    digits = (version or "").removeprefix("v")
    return f"v{digits:0>6}" if digits.isdecimal() else version


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
    text: Annotated[
        bool, typer.Option("--text", metavar="", help="Print the text of the section, as `replace --from` takes it.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a section id stands for: the section, or what became of it."""
    from pageindex_local.store.history import resolve_node

    if text and as_json:
        raise SettingsError("--text and --json exclude each other", subject="resolve")
    store = open_store(index, collection, load_settings(config))
    pinned = read_release(store, release)
    doc_keys = {entry.doc_id: doc_key for doc_key, entry in pinned.documents.items()}
    doc_key = None if doc is None else doc_keys[check_document(doc, doc_keys, f"release {pinned.name}")]
    if text:
        from pageindex_local.grafts.section import PAGE_BREAK, find_section, read_section

        doc_key, node = find_section(store, pinned, node_id, doc_key)
        section = read_section(store.open_document(pinned, doc_key), node.node_id)
        # Piped, it comes out byte for byte, so that it can be edited and put back.
        emit(inert(section.text().replace(PAGE_BREAK, ""), keep_lines=True) if sys.stdout.isatty() else section.text())
        return
    found = resolve_node(store, pinned, node_id, doc_key)
    if as_json:
        node_record = None if found.node is None else node_json(found.node)
        record = {key: value for key, value in asdict(found).items() if key not in {"node", "doc_key"}}
        emit_json({"release": pinned.name, **record, "node": node_record})
        return
    emit("\n".join(_resolution_lines(found, pinned, store)))


def _resolution_lines(found: "Resolution", pinned: "Release", store: "IndexStore") -> list[str]:
    entry = pinned.documents[found.doc_key]
    where = ""
    if found.node is not None:
        where = f"[{place_text(found.node, has_pages=entry.media_type.value == 'application/pdf')}]"
    document = f"{inert(found.doc_id)} {found.version_id}"
    title = inert(found.title)
    if found.node is None:
        lines = [f"“{title}” was removed in {found.ended_in} of {inert(found.doc_id)}"]
    elif found.node.node_id == found.node_id:
        lines = [f"{title}  {where}  in {document}"]
        tree = store.open_document(pinned, found.doc_key).tree()
        above = [inert(tree.nodes[node_id].title) for node_id in tree.path(found.node_id)[:-1]]
        lines += [f"    in {' > '.join(above)}"] if above else []
    else:
        lines = [
            f"“{title}” was merged in {found.ended_in} into:",
            f"{inert(found.node.title)}  {where}  {found.node.node_id}  in {document}",
        ]
    return [*lines, *(f"split off: {piece}" for piece in found.pieces)]
