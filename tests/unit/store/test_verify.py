"""What `verify` looks at beyond hashes of files: contents, derived files, remains. Bit flips are in tests/faults."""

import json
from pathlib import Path

import pytest

from pageindex_local.ids import make_doc_key, sha256_hex
from pageindex_local.query.fulltext import build_search_index, open_search_index
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import canonical_json
from pageindex_local.store.records import FORMAT_VERSION, Pointer
from pageindex_local.store.releases import pointer_bytes
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_store, publish_sections, sample_sections, write_sections

PUMP = make_doc_key("pump.md")


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    return store


def forge(store: IndexStore, name: str, data: bytes) -> None:
    """Replace a file of the live version and make every hash above it fit, as only the program's author could."""
    folder = store.layout.version(PUMP, "v000002")
    (folder / name).write_bytes(data)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for entry in manifest["files"]:
        if entry["name"] == name:
            entry |= {"size_bytes": len(data), "sha256": sha256_hex(data)}
    manifest_bytes = canonical_json(manifest)
    (folder / "manifest.json").write_bytes(manifest_bytes)
    path = store.layout.release("000002")
    release = json.loads(path.read_bytes())
    release["documents"][PUMP]["manifest_sha256"] = sha256_hex(manifest_bytes)
    release_bytes = canonical_json(release, indent=None)
    path.write_bytes(release_bytes)
    pointer = Pointer(format_version=FORMAT_VERSION, release="000002", sha256=sha256_hex(release_bytes))
    store.layout.current.write_bytes(pointer_bytes(pointer))


def test_verify_sound_index_is_clean_and_counts_everything(store: IndexStore) -> None:
    report = verify_index(store, deep=True)

    assert report.is_clean
    assert (report.releases, report.versions) == (2, 2)
    # CURRENT, two releases, and a manifest with four files for each version.
    assert report.files == 1 + 2 + 2 * 5
    assert report.leftovers == ()


def test_verify_deep_tree_json_that_says_something_else_is_found(store: IndexStore) -> None:
    path = store.layout.version(PUMP, "v000002") / "tree.json"
    forge(store, "tree.json", path.read_bytes().replace(b"1 Scope", b"1 Skope"))

    assert verify_index(store).is_clean
    problems = verify_index(store, deep=True).problems
    assert [problem.what for problem in problems] == ["tree.json does not say what nodes.parquet says"]


def test_verify_deep_pages_of_another_version_are_found(store: IndexStore) -> None:
    other = store.layout.version(PUMP, "v000001") / "pages.parquet"
    forge(store, "pages.parquet", other.read_bytes())

    whats = [problem.what for problem in verify_index(store, deep=True).problems]

    assert any("content hash" in what for what in whats)
    assert any("the text of" in what for what in whats)


def test_verify_unpublished_version_is_a_leftover_and_no_problem(store: IndexStore) -> None:
    write_sections(store, sample_sections("three"))

    report = verify_index(store, deep=True)

    assert report.is_clean
    assert report.leftovers == (str(store.layout.version(PUMP, "v000003")),)


def test_verify_missing_release_between_others_is_a_problem(store: IndexStore) -> None:
    publish_sections(store, sample_sections("three"))
    store.layout.release("000002").unlink()

    report = verify_index(store)

    assert [problem.where for problem in report.problems] == [str(store.layout.release("000002"))]


def test_verify_missing_live_release_is_a_problem(store: IndexStore) -> None:
    store.layout.release("000002").unlink()

    assert [problem.where for problem in verify_index(store).problems] == [str(store.layout.release("000002"))]


def test_verify_missing_folder_is_clean_and_empty(tmp_path: Path) -> None:
    report = verify_index(make_store(tmp_path / "nowhere"), deep=True)

    assert report.is_clean
    assert report.versions == 0


def test_verify_search_file_used_for_questions_stays_clean_and_a_turned_bit_is_found(store: IndexStore) -> None:
    release = store.require_current()
    path = build_search_index(store, release)
    with open_search_index(store, release):
        pass
    assert verify_index(store).is_clean
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)

    assert [problem.where for problem in verify_index(store).problems] == [str(path)]


def test_verify_search_file_without_a_seal_is_a_leftover(store: IndexStore) -> None:
    path = build_search_index(store, store.require_current())
    path.with_name(path.name + ".sha256").unlink()

    report = verify_index(store)

    assert report.is_clean
    assert report.leftovers == (str(path),)


@pytest.mark.parametrize("dropped", [".sqlite", ".sha256"])
def test_verify_beside_a_publisher_that_drops_old_search_files_passes_them_over(
    tmp_path: Path, store: IndexStore, dropped: str
) -> None:
    build_search_index(store, store.require_current())

    class Dropping(LocalFiles):
        def list_names(self, folder: Path) -> list[str]:
            names = super().list_names(folder)
            for name in names:
                if name.endswith(dropped):
                    (folder / name).unlink()
            return names

    assert verify_index(IndexStore(tmp_path, "main", store.settings, Dropping())).is_clean
