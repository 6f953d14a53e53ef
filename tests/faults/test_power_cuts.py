"""Every operation of every change to an index is a place where the power may go: afterwards old or new."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.errors import PageindexError, StoreError
from pageindex_local.ids import make_doc_key
from pageindex_local.store.bundle import import_bundle
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.faults.disk import MemoryFiles, PowerCut, Recorder
from tests.store_samples import export_two_documents, publish_sections, sample_sections, store_settings, write_sections

ROOT = Path("/indexes")
SEEDS = (0, 1)
Change = Callable[[IndexStore], object]


def open_store(disk: MemoryFiles) -> IndexStore:
    return IndexStore(ROOT, "main", store_settings(), disk)


def prepared() -> MemoryFiles:
    """Three releases of two documents, and one version that was written and never published."""
    disk = MemoryFiles()
    store = open_store(disk)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("alpha"), "valve.md")
    publish_sections(store, sample_sections("two"))
    write_sections(store, sample_sections("lost"), "valve.md")
    return disk


def state(store: IndexStore) -> object:
    """What a reader sees: for each document its nodes and page texts."""
    release = store.current()
    if release is None:
        return None
    versions = {key: store.open_document(release, key) for key in release.documents}
    return {key: (version.tree(), version.pages()) for key, version in versions.items()}


def content(store: IndexStore) -> object:
    """The same without ids: a version written again after a crash is a later version and mints others."""
    release = store.require_current()
    versions = {key: store.open_document(release, key) for key in release.documents}
    return {
        key: ([(node.title, node.span, node.own_hash) for node in version.tree().walk()], version.pages())
        for key, version in versions.items()
    }


def change_first_publication(store: IndexStore) -> None:
    publish_sections(store, sample_sections("one"))


def change_publication(store: IndexStore) -> None:
    publish_sections(store, sample_sections("three"))


def change_removal(store: IndexStore) -> None:
    release = store.require_current()
    store.publish({make_doc_key("valve.md"): None}, expected_parent=release.name)


def change_rollback(store: IndexStore) -> None:
    store.rollback("000001")


def change_gc(store: IndexStore) -> None:
    apply_gc(store, keep_releases=1)


CHANGES: dict[str, tuple[Change, bool]] = {
    "first publication": (change_first_publication, True),
    "publication": (change_publication, False),
    "removal of a document": (change_removal, False),
    "rollback": (change_rollback, False),
    "gc": (change_gc, False),
}


def starting_point(*, empty: bool) -> MemoryFiles:
    return MemoryFiles() if empty else prepared()


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return export_two_documents(tmp_path)


def count_operations(start: MemoryFiles, change: Change) -> int:
    disk = start.copy()
    disk.root.names.setdefault(ROOT.name, start.root.__class__(is_folder=True))
    recorder = Recorder()
    disk.hook = recorder
    change(open_store(disk))
    return len(recorder.operations)


def run_every_power_cut(start: MemoryFiles, change: Change) -> int:
    """Cut the power before each operation and after the last; returns how many endings were looked at."""
    start.root.names.setdefault(ROOT.name, start.root.__class__(is_folder=True))
    start = start.copy()
    old = state(open_store(start))
    finished = start.copy()
    change(open_store(finished))
    new = state(open_store(finished))
    new_content = content(open_store(finished))
    operations = count_operations(start, change)
    endings = 0
    for stop_at in range(1, operations + 2):
        disk = start.copy()
        disk.hook = Recorder(stop_at)
        try:
            change(open_store(disk))
        except PowerCut:
            pass
        else:
            assert stop_at == operations + 1
        for survivor in [disk.copy(), *(disk.after_power_cut(seed) for seed in SEEDS)]:
            endings += 1
            store = open_store(survivor)
            found = state(store)
            assert found in (old, new), f"cut before operation {stop_at}"
            if stop_at == operations + 1:
                assert found == new, "a finished change must survive"
            report = verify_index(store, deep=True)
            assert report.problems == (), f"cut before operation {stop_at}"
            change(store)
            assert content(store) == new_content, f"run again after a cut before operation {stop_at}"
            assert verify_index(store, deep=True).problems == ()
    return endings


@pytest.mark.parametrize("name", CHANGES)
def test_change_cut_by_power_anywhere_leaves_old_or_new(name: str) -> None:
    change, empty = CHANGES[name]

    endings = run_every_power_cut(starting_point(empty=empty), change)

    assert endings >= 3 * 5


def test_import_cut_by_power_anywhere_leaves_old_or_new(bundle: Path) -> None:
    def change(store: IndexStore) -> None:
        import_bundle(store, bundle)

    assert run_every_power_cut(MemoryFiles(), change) >= 3 * 5


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", [*CHANGES, "import"])
def test_change_failing_at_any_operation_reports_and_leaves_old_or_new(name: str, error: int, bundle: Path) -> None:
    change, empty = CHANGES.get(name, (lambda store: import_bundle(store, bundle), True))
    start = starting_point(empty=empty)
    start.root.names.setdefault(ROOT.name, start.root.__class__(is_folder=True))
    start = start.copy()
    old = state(open_store(start))
    finished = start.copy()
    change(open_store(finished))
    new = state(open_store(finished))
    new_content = content(open_store(finished))
    operations = count_operations(start, change)
    failed = 0
    for stop_at in range(1, operations + 1):
        disk = start.copy()
        disk.hook = Recorder(stop_at, error)
        try:
            change(open_store(disk))
        except StoreError:
            failed += 1
        disk.hook = Recorder()
        store = open_store(disk)
        assert state(store) in (old, new), f"failure of operation {stop_at}"
        assert verify_index(store, deep=True).problems == ()
        change(store)
        assert content(store) == new_content
    assert failed > operations / 2


def test_error_of_disk_is_never_a_bare_oserror(bundle: Path) -> None:
    for name, (change, empty) in CHANGES.items():
        start = starting_point(empty=empty)
        for stop_at in range(1, 60):
            disk = start.copy()
            disk.root.names.setdefault(ROOT.name, start.root.__class__(is_folder=True))
            disk.hook = Recorder(stop_at, errno.EDQUOT)
            try:
                change(open_store(disk))
            except PageindexError:
                continue
            except OSError as problem:
                pytest.fail(f"{name}: operation {stop_at} let {problem!r} through")
