"""`verify`, `gc`, `export` and `import`: is the index sound, what can go, how it travels."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pageindex_local.cli.commands import KEEPING, add_command
from pageindex_local.cli.console import emit, emit_json, hint
from pageindex_local.cli.options import (
    DEFAULT_COLLECTION,
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
    IndexOption,
    JsonOption,
    ReleaseOption,
    load_settings,
    open_store,
    read_release,
)
from pageindex_local.cli.progress_bars import show_progress
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import plural, size_text

if TYPE_CHECKING:
    from pageindex_local.store.bundle import BundleInfo

_SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_command(app, verify, panel=KEEPING, examples=("verify --index ./indexes", "verify --deep --json"))
    add_command(
        app,
        gc,
        panel=KEEPING,
        examples=("gc --index ./indexes", "gc --keep 5 --apply"),
        remark="What a kept release or a reader holds is never removed, nor what is younger than store.grace_s.",
    )
    add_command(
        app,
        export,
        panel=KEEPING,
        name="export",
        examples=("export manuals.pil --index ./indexes",),
        needs_arguments=True,
    )
    add_command(
        app,
        import_bundle,
        panel=KEEPING,
        name="import",
        examples=("import manuals.pil --index ./indexes", "import manuals.pil --root-hash 4f0c..."),
        needs_arguments=True,
    )


def verify(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    deep: Annotated[
        bool, typer.Option("--deep", metavar="", help="Check contents too: trees, texts, logical hashes.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that an index is, byte for byte, what was written. Exits with 6 where it is not."""
    from pageindex_local.store.verify import verify_index

    store = open_store(index, collection, load_settings(config))
    with show_progress() as progress:
        report = verify_index(store, deep=deep, progress=progress)
    if as_json:
        emit_json({"clean": report.is_clean, **asdict(report)})
    else:
        for problem in report.problems:
            emit(f"{inert(problem.where)}: {inert(problem.what)}")
        for leftover in report.leftovers[:_SHOWN]:
            hint(f"harmless leftover: {leftover}")
        checked = (
            f"{plural(report.releases, 'release')}, {plural(report.versions, 'version')}, "
            f"{plural(report.files, 'file')}, {size_text(report.size_bytes)}"
        )
        emit(f"{'clean' if report.is_clean else plural(len(report.problems), 'problem')}: checked {checked}")
    raise typer.Exit(0 if report.is_clean else 6)


def gc(
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, metavar="N", help="Releases to keep (default: store.keep_releases).")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", metavar="", help="Remove it; without this it is only shown.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show, or remove with --apply, old releases, versions that no release pins, and leftovers of crashes."""
    from pageindex_local.store.gc import apply_gc, plan_gc

    store = open_store(index, collection, load_settings(config))
    plan = apply_gc(store, keep) if apply else plan_gc(store, keep)
    if as_json:
        emit_json(
            {
                "applied": apply,
                "kept_releases": list(plan.kept_releases),
                "releases": list(plan.releases),
                "versions": [{"doc_key": doc_key, "version": version_id} for doc_key, version_id in plan.versions],
                "leftovers": [str(path) for path in (*plan.leftovers, *plan.search, *plan.leases)],
            }
        )
        return
    if plan.is_empty:
        emit("nothing to remove")
        return
    for name in plan.releases:
        emit(f"release {name}")
    live = store.current()
    known = {} if live is None else {doc_key: entry.doc_id for doc_key, entry in live.documents.items()}
    for doc_key, version_id in plan.versions:
        emit(f"version {version_id} of {inert(known.get(doc_key, doc_key))}")
    for path in (*plan.leftovers, *plan.search, *plan.leases):
        emit(f"file {inert(str(path))}")
    emit("removed" if apply else "nothing was removed; add --apply to remove this")


def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Bundle to write.", show_default=False)],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    release: ReleaseOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a release with everything it needs into one file, to carry to another machine."""
    from pageindex_local.store.bundle import export_bundle

    store = open_store(index, collection, load_settings(config))
    _report(export_bundle(store, file, read_release(store, release)), f"wrote {file}", as_json=as_json)


def import_bundle(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Bundle to read.", show_default=False)],
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: Annotated[
        str, typer.Option("--collection", "-c", metavar="NAME", help="Collection to make or to update.")
    ] = DEFAULT_COLLECTION,
    root_hash: Annotated[
        str | None, typer.Option("--root-hash", metavar="HASH", help="Refuse the bundle if it has another root hash.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish the release in a bundle. Nothing is visible before all of it has been verified."""
    from pageindex_local.query.fulltext import build_search_index
    from pageindex_local.store import IndexStore
    from pageindex_local.store.bundle import import_bundle as read_bundle

    store = IndexStore(index, collection, load_settings(config).store)
    info = read_bundle(store, file, expected_root_hash=root_hash)
    build_search_index(store, store.require_current())
    _report(info, f"imported into {index / collection}", as_json=as_json)


def _report(info: "BundleInfo", done: str, *, as_json: bool) -> None:
    if as_json:
        emit_json(asdict(info))
        return
    emit(
        f"{inert(done)}: release {info.release}, {plural(info.documents, 'document')}, {plural(info.files, 'file')}, "
        f"{size_text(info.size_bytes)}"
    )
    emit(f"root hash {info.root_hash}")
