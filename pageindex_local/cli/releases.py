"""`release list|show|diff|pin|rollback`: the published states of a collection, and going back to one."""

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
    load_settings,
    open_document,
    open_store,
    read_release,
)
from pageindex_local.cli.versions import version_name
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Release, such as 000003 or 3.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="List releases, look into one, go back to one.")
    add_command(group, list_releases, name="list", examples=("release list --index ./indexes",))
    add_command(group, show, examples=("release show 000003",), needs_arguments=True)
    add_command(
        group,
        pin,
        examples=("release pin manual.pdf v000002",),
        remark="The next build of the document starts from the version that is pinned.",
        needs_arguments=True,
    )
    add_command(
        group,
        rollback,
        examples=("release rollback 000003",),
        remark="Nothing is removed: a new release pins what the old one pinned.",
        needs_arguments=True,
    )
    add_command(
        group,
        diff,
        examples=("release diff", "release diff 000003 000004 --markdown --text"),
    )
    app.add_typer(group, name="release", rich_help_panel=VERSIONS)


def list_releases(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List all releases that are kept, newest first."""
    store = open_store(index, collection, load_settings(config))
    live = store.require_current()
    found = [store.release(name) for name in reversed(store.releases())]
    if as_json:
        emit_json({"current": live.name, "releases": [_release_json(release, store, False) for release in found]})
        return
    for release in found:
        sign = "*" if release.name == live.name else " "
        built = release.created_at[:16].replace("T", " ")
        changed = _changes(store, release)
        emit(
            f"{sign} {release.name}  {built}  {plural(len(release.documents), 'document')}, "
            f"{len(changed)} changed  ({inert(release.reason)})"
        )


def show(
    name: NameArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which version of each document a release pins, and how it differs from the release before."""
    store = open_store(index, collection, load_settings(config))
    release = read_release(store, name)
    if as_json:
        emit_json(_release_json(release, store, True))
        return
    emit(f"release {release.name} of {release.created_at[:16].replace('T', ' ')} UTC ({inert(release.reason)})")
    changed = _changes(store, release)
    for doc_key, entry in sorted(release.documents.items(), key=lambda item: item[1].doc_id):
        emit(f"  {entry.version_id}  {inert(entry.doc_id)}{'  ' + changed[doc_key] if doc_key in changed else ''}")
    for doc_key, what in changed.items():
        if doc_key not in release.documents:
            emit(f"  {what}")


def diff(
    old: Annotated[
        str | None, typer.Argument(metavar="A", help="Older release (default: the one before B).", show_default=False)
    ] = None,
    new: Annotated[
        str | None, typer.Argument(metavar="B", help="Newer release (default: the current one).", show_default=False)
    ] = None,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", metavar="", help="Write Markdown, for a pull request.")
    ] = False,
    text: Annotated[
        bool, typer.Option("--text", metavar="", help="Markdown: show how the text of sections changed, too.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two releases: documents, and the sections in them."""
    from pageindex_local.release_diff import diff_releases
    from pageindex_local.wording.releases import release_json, release_lines, release_markdown, title_line

    store = open_store(index, collection, load_settings(config))
    after = read_release(store, new)
    before = read_release(store, old or after.parent) if old or after.parent else None
    diffs = diff_releases(store, before, after)
    names = {"old": None if before is None else before.name, "new": after.name}
    if as_json:
        emit_json({**names, "documents": release_json(diffs)})
    elif markdown:
        emit(release_markdown(diffs, [f"release {names['old'] or 'none'} → {names['new']}"], text=text))
    else:
        emit(f"{names['old'] or 'nothing'} -> {names['new']}: {title_line(diffs)}")
        for line in release_lines(diffs):
            emit(line)


def pin(
    doc: DocArgument,
    version: Annotated[
        str, typer.Argument(metavar="VERSION", help="Version to answer from, such as v000002.", show_default=False)
    ],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish a release in which one document is at an earlier version."""
    store = open_store(index, collection, load_settings(config))
    before = store.require_current()
    stored = open_document(store, doc, version=version_name(version) or version)
    _report(store, before, store.pin(stored.doc_key, stored.version_id), as_json=as_json)


def rollback(
    name: NameArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish a release that pins what an earlier one pinned."""
    store = open_store(index, collection, load_settings(config))
    before = store.require_current()
    _report(store, before, store.rollback(read_release(store, name).name), as_json=as_json)


def _report(store: "IndexStore", before: "Release", after: "Release", *, as_json: bool) -> None:
    from pageindex_local.query.fulltext import build_search_index

    if after != before:
        build_search_index(store, after)
    if as_json:
        emit_json(_release_json(after, store, True))
    elif after == before:
        emit(f"nothing to change, release {after.name} stays")
    else:
        emit(f"new release {after.name}: {plural(len(_changes(store, after)), 'document')} changed")


def _changes(store: "IndexStore", release: "Release") -> dict[str, str]:
    """What a release changed against its parent: document key -> words. Empty where the parent is gone."""
    if release.parent is None:
        return dict.fromkeys(release.documents, "new")
    if release.parent not in store.releases():
        return {}
    before = store.release(release.parent).documents
    words = {}
    for doc_key, entry in release.documents.items():
        if doc_key not in before:
            words[doc_key] = "new"
        elif before[doc_key].version_id != entry.version_id:
            words[doc_key] = f"was {before[doc_key].version_id}"
    words |= {
        doc_key: f"removed: {inert(entry.doc_id)} (was {entry.version_id})"
        for doc_key, entry in before.items()
        if doc_key not in release.documents
    }
    return words


def _release_json(release: "Release", store: "IndexStore", with_documents: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "release": release.name,
        "parent": release.parent,
        "created_at": release.created_at,
        "reason": release.reason,
        "changed": len(_changes(store, release)),
    }
    if with_documents:
        record["documents"] = [
            {"doc_id": entry.doc_id, "version": entry.version_id, "pages": entry.pages, "nodes": entry.nodes}
            for entry in release.documents.values()
        ]
    return record
