"""Full text of an index in a bucket: few files there and here, fetched, shared, and made from the nearest."""

from pathlib import Path

import pytest

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.planning import Scope
from pageindex_local.query.fulltext import open_search_index, search_path
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.objects import BucketFiles
from pageindex_local.store.places import BucketPath
from pageindex_local.store.records import Release
from tests.faults.bucket import MemoryBucket

SETTINGS = read_settings(overrides={"summary": {"mode": "extractive"}, "tree": {"strategy": "layout"}})
ROOT = BucketPath("/", "harbour", "index")


@pytest.fixture
def bucket() -> MemoryBucket:
    return MemoryBucket()


def machine(bucket: MemoryBucket, folder: Path) -> IndexStore:
    """The index as one machine sees it, with its own folder for copies."""
    return IndexStore(ROOT, "main", SETTINGS.store, BucketFiles(bucket, folder, None))


def build(store: IndexStore, sources: Path, crowns: int) -> Release:
    sources.mkdir(exist_ok=True)
    (sources / "fees.md").write_text(f"# Fees\n\nWhoever lies at the quay pays {crowns} crowns.\n", encoding="utf-8")
    for name in ("locks", "ropes", "tides"):
        (sources / f"{name}.md").write_text(f"# On {name}\n\nThe {name} are looked at on Mondays.\n", encoding="utf-8")
    build_collection(Scope((sources,)), store, SETTINGS, None, library_builder(store, SETTINGS, None))
    return store.require_current()


def names(store: IndexStore) -> list[str]:
    return [name for name in store.files.list_names(store.layout.search) if name.endswith(".sqlite")]


def watch(store: IndexStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the documents that are read into a search file from now on."""
    opened: list[str] = []
    open_document = store.open_document

    def note(release: Release, doc_key: str) -> object:
        opened.append(release.documents[doc_key].doc_id)
        return open_document(release, doc_key)

    monkeypatch.setattr(store, "open_document", note)
    return opened


def test_bucket_keeps_the_files_of_the_newest_releases(bucket: MemoryBucket, tmp_path: Path) -> None:
    store = machine(bucket, tmp_path / "one")
    for crowns in range(3, 10):
        build(store, tmp_path / "sources", crowns)
    assert names(store) == ["000006.sqlite", "000007.sqlite"]
    assert len(list(store.search_folder.glob("*.sqlite"))) == 4


def test_another_machine_takes_the_file_from_the_bucket(
    bucket: MemoryBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = build(machine(bucket, tmp_path / "one"), tmp_path / "sources", 3)
    other = machine(bucket, tmp_path / "two")
    opened = watch(other, monkeypatch)
    with open_search_index(other, release) as index:
        assert len(index.documents) == 4
    assert opened == []


def test_dropped_file_is_made_from_the_nearest_in_the_bucket(
    bucket: MemoryBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = machine(bucket, tmp_path / "one")
    first = build(store, tmp_path / "sources", 3)
    for crowns in range(4, 8):
        build(store, tmp_path / "sources", crowns)
    other = machine(bucket, tmp_path / "two")
    opened = watch(other, monkeypatch)
    with open_search_index(other, other.release(first.name)) as index:
        (fees,) = [entry for entry in index.documents.values() if entry.doc_id == "fees.md"]
        assert index.page_hits("3", fees.page_rows, (1.0, 1.0, 1.0)).rows
        assert not index.page_hits("7", fees.page_rows, (1.0, 1.0, 1.0)).rows
    assert opened == ["fees.md"]


def test_machine_that_only_reads_keeps_few_files_too(bucket: MemoryBucket, tmp_path: Path) -> None:
    store, reader = machine(bucket, tmp_path / "one"), machine(bucket, tmp_path / "two")
    for crowns in range(3, 10):
        release = build(store, tmp_path / "sources", crowns)
        with open_search_index(reader, release):
            assert search_path(reader, release).exists()
    assert len(list(reader.search_folder.glob("*.sqlite"))) == 4
