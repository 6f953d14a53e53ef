"""One bit turned anywhere in an index: `verify` says so, and no reader gets a changed answer."""

import random
from pathlib import Path

import pytest

from pageindex_local.errors import StoreError
from pageindex_local.ids import make_doc_key
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.faults.disk import MemoryFiles
from tests.store_samples import make_store, publish_sections, sample_sections, store_settings

ROOT = Path("/indexes")
FLIPS = 1_000


def build() -> MemoryFiles:
    """Releases of two documents with history, one of them with a version that gc removed as the newest."""
    disk = MemoryFiles()
    disk.make_folder(ROOT)
    store = IndexStore(ROOT, "main", store_settings(), disk)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"), "valve.md")
    store.publish({make_doc_key("valve.md"): None}, expected_parent="000002")
    publish_sections(store, sample_sections("three"))
    apply_gc(store, keep_releases=1)
    publish_sections(store, sample_sections("four"))
    publish_sections(store, sample_sections("five"), "valve.md")
    return disk


def read_all(disk: MemoryFiles) -> object:
    store = IndexStore(ROOT, "main", store_settings(), disk)
    release = store.require_current()
    found = {}
    for key in release.documents:
        version = store.open_document(release, key)
        found[key] = (version.manifest, version.tree(), version.pages(), version.changes())
    return release, found


def test_flip_any_bit_is_found_by_verify_and_never_changes_an_answer() -> None:
    disk = build()
    right = read_all(disk)
    files = disk.files()
    assert verify_index(IndexStore(ROOT, "main", store_settings(), disk), deep=True).problems == ()
    assert {path.name for path in files} >= {"CURRENT", "LAST", "manifest.json", "pages.parquet", "000006.json"}
    lot = random.Random(1)
    refused = 0
    for number in range(FLIPS):
        # Every file gets its share, however small it is.
        path = list(files)[number % len(files)]
        bit = lot.randrange(len(files[path]) * 8)
        disk.flip(path, bit)
        report = verify_index(IndexStore(ROOT, "main", store_settings(), disk))
        assert report.problems, f"bit {bit} of {path} turned unnoticed"
        try:
            assert read_all(disk) == right, f"bit {bit} of {path} changed what is read"
        except StoreError:
            refused += 1
        disk.flip(path, bit)
    assert refused > FLIPS / 4
    assert read_all(disk) == right


def test_flip_any_bit_of_derived_files_is_found_by_verify(tmp_path: Path) -> None:
    """Full text and its seal; vectors and calibrations are sealed alike."""
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    build_search_index(store, store.require_current())
    lot = random.Random(2)
    files = sorted(store.layout.search.iterdir())
    assert len(files) == 2
    for number in range(200):
        path = files[number % 2]
        data = path.read_bytes()
        bit = lot.randrange(len(data) * 8)
        turned = bytearray(data)
        turned[bit // 8] ^= 1 << bit % 8
        path.write_bytes(turned)
        assert verify_index(store).problems, f"bit {bit} of {path.name} turned unnoticed"
        path.write_bytes(data)
    assert verify_index(store).is_clean


@pytest.mark.parametrize("name", ["tree.json", "nodes.parquet", "pages.parquet", "changes.json", "manifest.json"])
def test_verify_missing_file_is_a_problem(name: str) -> None:
    disk = build()
    path = next(path for path in disk.files() if path.name == name)

    disk.remove(path)

    report = verify_index(IndexStore(ROOT, "main", store_settings(), disk))
    assert [problem.where for problem in report.problems] == [str(path)]


def test_verify_extra_file_in_a_version_is_a_problem() -> None:
    disk = build()
    path = next(path for path in disk.files() if path.name == "tree.json").with_name("extra.json")

    disk.write_new(path, b"{}")

    report = verify_index(IndexStore(ROOT, "main", store_settings(), disk))
    assert [(problem.where, problem.what) for problem in report.problems] == [(str(path), "does not belong there")]
