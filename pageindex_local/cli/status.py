"""`status`: what an index holds."""

from typing import TYPE_CHECKING, Any

import typer

from pageindex_local.cli.commands import ASKING, add_command
from pageindex_local.cli.console import emit, emit_json, out_console
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
    IndexOption,
    JsonOption,
    choose_collection,
    collections_in,
    load_settings,
)
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import pages_heading, plural, size_text

if TYPE_CHECKING:
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

_READ_DOCUMENTS = 200  # of a larger collection warnings are not read: each is a file of its own
_EXAMPLES = ("status --index ./indexes", "status --index ./indexes --json | jq .collections")


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, status, panel=ASKING, examples=_EXAMPLES)


def status(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show collections, their current release, its documents and what went less well when they were built."""
    from pageindex_local.store import IndexStore

    settings = load_settings(config)
    names = collections_in(index, settings) if collection is None else []
    found = []
    measured: dict[str, list[dict[str, Any]]] = {}
    for name in names or [choose_collection(index, collection, settings)]:
        store = IndexStore(index, name, settings.store)
        size_bytes = store.files.total_bytes(store.layout.folder)
        release = store.current()
        found.append((name, release, len(store.releases()), size_bytes, _read_warnings(store, release)))
        measured[name] = _read_measured(store, release)
    if as_json:
        emit_json(
            {
                "index": str(index),
                "collections": [_json(*entry) | {"calibrated": measured[entry[0]]} for entry in found],
            }
        )
        return
    for entry in found:
        _show(*entry)
        for model in measured[entry[0]]:
            emit(_measured_line(model))


def _read_measured(store: "IndexStore", release: "Release | None") -> list[dict[str, Any]]:
    """What `calibrate` measured of each model, newest first, and whether it counts for the current release."""
    if release is None:
        return []
    from pageindex_local.query.calibration import list_measurements

    return [
        {
            "model": measured.model_name,
            "fingerprint": measured.model_fingerprint,
            "release": name,
            "strategy": measured.strategy.value,
            "section_share": measured.section_share,
            "page_share": measured.page_share,
            "document_share": measured.document_share,
            "counts": counts,
        }
        for measured, name, counts in list_measurements(store, release)
    ]


def _measured_line(model: dict[str, Any]) -> str:
    shares = ", ".join(f"{model[f'{part}_share']:g} of {part}s" for part in ("section", "page", "document"))
    told = f"calibrated with {inert(model['model'])} on release {model['release']}: {model['strategy']}, {shares}"
    return told if model["counts"] else f"{told}; no longer counts, too many documents have changed since"


def _read_warnings(store: "IndexStore", release: "Release | None") -> dict[str, tuple[str, ...]]:
    """For each document built with warnings, by id, what they say; empty for a very large collection."""
    if release is None or len(release.documents) > _READ_DOCUMENTS:
        return {}
    found = {}
    for key, entry in sorted(release.documents.items(), key=lambda item: item[1].doc_id):
        manifest = store.open_version(key, entry.version_id, entry.manifest_sha256).manifest
        if manifest.warnings:
            found[entry.doc_id] = manifest.warnings
    return found


def _json(
    name: str,
    release: "Release | None",
    count: int,
    size_bytes: int,
    warnings: dict[str, tuple[str, ...]],
) -> dict[str, Any]:
    documents = [] if release is None else release.documents.values()
    return {
        "name": name,
        "release": None if release is None else release.name,
        "created_at": None if release is None else release.created_at,
        "releases": count,
        "size_bytes": size_bytes,
        "documents": [
            {
                "doc_id": entry.doc_id,
                "version": entry.version_id,
                "media_type": entry.media_type.value,
                "pages": entry.pages,
                "nodes": entry.nodes,
                "description": entry.description,
                "source_sha256": entry.source_sha256,
                "warnings": list(warnings.get(entry.doc_id, ())),
            }
            for entry in documents
        ],
    }


def _show(
    name: str,
    release: "Release | None",
    count: int,
    size_bytes: int,
    warnings: dict[str, tuple[str, ...]],
) -> None:
    if release is None:
        emit(f"{inert(name)}: nothing published")
        return
    documents = sorted(release.documents.values(), key=lambda entry: entry.doc_id)
    emit(
        f"{inert(name)}: release {release.name} of {release.created_at[:16].replace('T', ' ')} UTC\n"
        f"{plural(len(documents), 'document')}, {plural(count, 'release')} kept, {size_text(size_bytes)}"
    )
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold", expand=True)
    table.add_column("document", overflow="fold", min_width=14, ratio=1)
    table.add_column("version", no_wrap=True)
    table.add_column(pages_heading(entry.media_type for entry in documents), justify="right", no_wrap=True)
    table.add_column("nodes", justify="right", no_wrap=True)
    table.add_column("about", overflow="ellipsis", no_wrap=True, ratio=1)
    for entry in documents:
        cells = (inert(entry.doc_id), entry.version_id, str(entry.pages), str(entry.nodes), inert(entry.description))
        table.add_row(*(Text(cell) for cell in cells))
    out_console().print(table)
    for doc_id, sentences in warnings.items():
        for sentence in sentences:
            emit(f"{inert(doc_id)}: {inert(sentence)}")
