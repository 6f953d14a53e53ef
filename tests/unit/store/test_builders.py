"""Two builders on one index at the same time: nothing of either is lost, and what cannot be joined is a conflict.

The same on a disk, where locks decide, and in a bucket, where conditions on puts do. Readers and gc run beside them.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.errors import ConflictError, IndexNotFoundError
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.objects import BucketFiles
from pageindex_local.store.places import BucketPath
from pageindex_local.store.verify import verify_index
from tests.faults.bucket import MemoryBucket
from tests.store_samples import (
    make_store,
    publish_sections,
    run_together,
    sample_sections,
    store_settings,
    write_sections,
)

Opener = Callable[..., IndexStore]


@pytest.fixture(params=["disk", "bucket"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    bucket = MemoryBucket()

    def open_one(**changes: float) -> IndexStore:
        changes = {"lock_timeout_s": 60} | changes
        if request.param == "disk":
            return make_store(tmp_path, **changes)
        files = BucketFiles(bucket, tmp_path, None)
        return IndexStore(BucketPath("/", "bucket", "indexes"), "main", store_settings(**changes), files)

    return open_one


def build(store: IndexStore, doc_id: str, rounds: int, conflicts: list[ConflictError]) -> None:
    """Publish a document so many times; a conflict is noted and the round taken again."""
    done = 0
    while done < rounds:
        live = store.current()
        try:
            ref = write_sections(store, sample_sections(f"{done}"), doc_id)
            store.publish({ref.doc_key: ref}, expected_parent=live.name if live else None)
            done += 1
        except ConflictError as error:
            conflicts.append(error)


def test_publish_two_builders_of_different_documents_never_lose_a_version(open_store: Opener) -> None:
    conflicts: list[ConflictError] = []

    run_together(
        lambda: build(open_store(), "pump.md", 8, conflicts), lambda: build(open_store(), "valve.md", 8, conflicts)
    )

    store = open_store()
    release = store.require_current()
    assert {entry.doc_id: entry.version_id for entry in release.documents.values()} == {
        "pump.md": "v000008",
        "valve.md": "v000008",
    }
    assert len(store.releases()) == 16
    assert conflicts == []
    assert verify_index(store, deep=True).is_clean


def test_publish_two_builders_of_one_document_take_turns_by_conflict(open_store: Opener) -> None:
    conflicts: list[ConflictError] = []

    run_together(
        lambda: build(open_store(), "pump.md", 6, conflicts), lambda: build(open_store(), "pump.md", 6, conflicts)
    )

    store = open_store()
    release = store.require_current()
    assert len(store.releases()) == 12
    assert all(conflict.next_step for conflict in conflicts)
    # Every release has the version that was built on the one before it.
    parents = [
        store.open_document(store.release(name), key).manifest.parent_version
        for name in store.releases()
        for key in release.documents
    ]
    versions = [entry.version_id for name in store.releases() for entry in store.release(name).documents.values()]
    assert parents == [None, *versions[:-1]]
    assert verify_index(store, deep=True).is_clean


def test_readers_beside_two_builders_and_gc_see_whole_releases_only(open_store: Opener) -> None:
    """Both documents bear the mark of their release; gc keeps nothing but the live one and what is leased."""
    finished = threading.Event()
    reads: list[int] = []

    def publish_pair(store: IndexStore, mark: int) -> None:
        live = store.current()
        refs = [write_sections(store, sample_sections(f"{mark}"), name) for name in ("pump.md", "valve.md")]
        store.publish({ref.doc_key: ref for ref in refs}, expected_parent=live.name if live else None)

    def publish() -> None:
        store = open_store()
        try:
            for mark in range(1, 13):
                publish_pair(store, mark)
        finally:
            finished.set()

    def publish_other() -> None:
        store = open_store()
        for mark in range(6):
            publish_sections(store, sample_sections(f"{mark}"), "seal.md")

    def collect() -> None:
        store = open_store(grace_s=2)  # of versions not yet published
        while not finished.wait(0.02):
            apply_gc(store, keep_releases=1)

    def read() -> None:
        store = open_store()
        last = 0
        while not finished.is_set():
            release = store.current()
            names = {entry.doc_id: key for key, entry in release.documents.items()} if release else {}
            if release is None or not {"pump.md", "valve.md"} <= names.keys():
                continue
            try:
                with store.lease(release):
                    pages = [store.open_document(release, names[name]).pages()[0] for name in ("pump.md", "valve.md")]
            except IndexNotFoundError:
                continue  # gc came between the two lines: said, and harmless
            marks = {int(page.text.partition("edition ")[2].partition(".")[0]) for page in pages}
            assert len(marks) == 1, f"release {release.name} bears {marks}"
            assert min(marks) >= last, f"{marks} after {last}"
            last = min(marks)
            reads.append(last)

    run_together(publish, publish_other, collect, read, read)

    store = open_store()
    assert len(reads) > 10
    assert verify_index(store, deep=True).problems == ()
    assert {entry.doc_id for entry in store.require_current().documents.values()} == {"pump.md", "valve.md", "seal.md"}
