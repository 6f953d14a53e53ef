"""Versions and releases on a real disk: what is written comes back, what is not published is not seen."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pageindex_local.errors import (
    ConflictError,
    CorruptIndexError,
    FormatVersionError,
    IndexNotFoundError,
    SettingsError,
    StoreError,
    TreeError,
)
from pageindex_local.ids import make_doc_key
from pageindex_local.records import Line, Page
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import NODES, PAGES, TREE
from pageindex_local.tree.match_report import Added, MatchReport
from pageindex_local.tree.text import own_text
from tests.store_samples import (
    make_draft,
    make_store,
    publish_sections,
    sample_sections,
    store_settings,
    write_sections,
)

PUMP = make_doc_key("pump.md")


def test_current_of_missing_folder_is_none(tmp_path: Path) -> None:
    store = make_store(tmp_path / "nowhere")

    assert store.current() is None
    assert store.releases() == ()
    with pytest.raises(IndexNotFoundError):
        store.require_current()


def test_open_version_published_gives_back_what_was_written(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    draft = make_draft(store, sample_sections())
    ref = store.write_version(draft)
    release = store.publish({ref.doc_key: ref}, expected_parent=None)

    version = make_store(tmp_path).open_document(release, PUMP)

    assert version.tree() == draft.tree
    assert list(version.tree().nodes) == list(draft.tree.nodes)
    assert version.changes().report == draft.report
    assert [page.text for page in version.pages()] == [page.text for page in draft.document.pages]
    assert version.manifest.description == draft.tree.description
    assert release.documents[PUMP].pages == len(draft.document.pages)


def test_own_text_of_stored_version_equals_that_of_document(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    draft = make_draft(store, sample_sections())

    version = store.open_version(PUMP, store.write_version(draft).version_id)

    for node in draft.tree.walk():
        assert version.own_text(node) == own_text(draft.document, draft.tree, node)


def test_write_version_is_not_seen_before_it_is_published(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    before = store.require_current()

    write_sections(store, sample_sections("two"))

    assert make_store(tmp_path).require_current() == before


def test_write_version_same_draft_in_two_places_gives_equal_bytes(tmp_path: Path) -> None:
    versions = []
    for name in ("one", "two"):
        store = make_store(tmp_path / name)
        versions.append(store.open_version(PUMP, write_sections(store, sample_sections()).version_id))

    for name in (TREE, NODES, PAGES):
        assert versions[0].read_file(name) == versions[1].read_file(name)
    assert versions[0].manifest.content_hash == versions[1].manifest.content_hash


def test_write_version_parent_carries_ids_and_tombstones(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    gone = next(
        node for node in store.open_document(store.require_current(), PUMP).tree().walk() if node.title == "1.2 Tools"
    )
    sections = sample_sections()
    sections[0].children.pop()
    publish_sections(store, sections)
    publish_sections(store, sample_sections())

    version = store.open_document(store.require_current(), PUMP)

    assert version.manifest.parent_version == "v000002"
    assert version.changes().tombstones[gone.node_id].ended_in == "v000002"
    assert gone.node_id not in version.tree().nodes


def test_write_version_taken_id_is_a_conflict(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    first = make_draft(store, sample_sections("one"))
    second = make_draft(store, sample_sections("two"))
    store.write_version(first)

    with pytest.raises(ConflictError, match="another build"):
        store.write_version(second)


def test_write_version_held_lock_is_a_conflict_after_the_timeout(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    write_sections(store, sample_sections())
    draft = make_draft(store, sample_sections("two"))
    with (
        LocalFiles().lock(store.layout.document_lock(PUMP), 1, what="the document"),
        pytest.raises(ConflictError, match="another process"),
    ):
        store.write_version(draft)


def test_write_version_report_of_other_nodes_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    draft = make_draft(store, sample_sections())

    with pytest.raises(TreeError, match="match report"):
        store.write_version(replace(draft, report=MatchReport(added=(Added("nx", "x"),))))


def test_write_version_reissued_id_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    old = make_draft(store, sample_sections())
    sections = sample_sections()
    sections.pop()
    publish_sections(store, sections)

    with pytest.raises(TreeError, match="used again"):
        store.write_version(replace(old, version_id=store.next_version_id(PUMP), parent_version="v000002"))


def test_write_version_line_break_inside_a_line_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    draft = make_draft(store, sample_sections())
    page = draft.document.pages[0]
    broken = replace(draft.document, pages=(replace(page, lines=(Line("a\nb"), *page.lines[1:])),))

    with pytest.raises(StoreError, match="line break"):
        store.write_version(replace(draft, document=broken))


def test_pages_without_lines_and_with_empty_lines_come_back(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    draft = make_draft(store, sample_sections())
    count = draft.document.line_count
    extra = (Page(2, "", count, ()), Page(3, "iii", count, (Line(""), Line("x"), Line(""))))
    document = replace(draft.document, pages=(*draft.document.pages, *extra))

    version = store.open_version(PUMP, store.write_version(replace(draft, document=document)).version_id)

    assert [page.line_texts() for page in version.pages()[1:]] == [[], ["", "x", ""]]
    assert version.span_text((count, count + 3)) == "\nx\n"


def test_publish_nothing_changed_writes_no_release(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    ref = publish_sections(store, sample_sections())

    release = store.publish({ref.doc_key: ref}, expected_parent="000001")

    assert release.name == "000001"
    assert store.releases() == ("000001",)


def test_publish_none_removes_a_document(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())

    release = store.publish({PUMP: None}, expected_parent="000001")

    assert release.documents == {}
    assert store.version_ids(PUMP) == ("v000001",)


def test_publish_others_changed_meanwhile_keeps_both(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    mine = write_sections(store, sample_sections("two"))
    publish_sections(make_store(tmp_path), sample_sections(), "valve.md")

    release = store.publish({mine.doc_key: mine}, expected_parent="000001")

    assert release.parent == "000002"
    assert {entry.doc_id: entry.version_id for entry in release.documents.values()} == {
        "pump.md": "v000002",
        "valve.md": "v000001",
    }


def test_publish_same_document_changed_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    publish_sections(store, sample_sections("two"))
    mine = write_sections(store, sample_sections("three"))

    with pytest.raises(ConflictError, match=r"pump\.md.*published meanwhile") as caught:
        store.publish({mine.doc_key: mine}, expected_parent="000001")

    assert "again" in caught.value.next_step
    assert store.require_current().name == "000002"


def test_publish_version_altered_before_publication_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    ref = write_sections(store, sample_sections())
    manifest = store.layout.version(PUMP, ref.version_id) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b"pump.md", b"pimp.md"))

    with pytest.raises(CorruptIndexError):
        store.publish({ref.doc_key: ref}, expected_parent=None)


def test_rollback_makes_a_new_release_like_the_old_one(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    publish_sections(store, sample_sections(), "valve.md")

    release = store.rollback("000001")

    assert release.name == "000004"
    assert release.documents == store.release("000001").documents
    assert store.release("000003").documents.keys() == {PUMP, make_doc_key("valve.md")}


def test_pin_takes_one_document_back_and_next_version_goes_on(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))

    store.pin(PUMP, "v000001")
    publish_sections(store, sample_sections("three"))

    version = store.open_document(store.require_current(), PUMP)
    assert (version.version_id, version.manifest.parent_version) == ("v000003", "v000001")


def test_release_never_live_is_not_there(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    orphan = store.layout.release("000002")
    orphan.write_bytes(store.layout.release("000001").read_bytes().replace(b'"000001"', b'"000002"'))

    assert store.releases() == ("000001",)
    with pytest.raises(IndexNotFoundError):
        store.release("000002")


def test_publish_after_an_orphan_release_takes_another_number(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    store.layout.release("000002").write_bytes(b"cut")

    publish_sections(store, sample_sections("two"))

    assert store.releases() == ("000001", "000003")


def test_find_unpublished_after_a_crash_gives_the_waiting_version(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    assert store.find_unpublished(PUMP) is None
    write_sections(store, sample_sections("two"))

    waiting = store.find_unpublished(PUMP)

    assert waiting is not None
    assert waiting.version_id == "v000002"
    store.publish({PUMP: store.version_ref(PUMP, "v000002")}, expected_parent="000001")
    assert store.find_unpublished(PUMP) is None


def test_current_newer_format_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    data = json.loads(store.layout.current.read_bytes())
    store.layout.current.write_text(json.dumps(data | {"format_version": 2, "shape": "new"}))

    with pytest.raises(FormatVersionError, match="format 2"):
        make_store(tmp_path).current()


def test_current_missing_beside_several_releases_is_corrupt(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    store.layout.current.unlink()

    with pytest.raises(CorruptIndexError, match="missing"):
        make_store(tmp_path).current()


@pytest.mark.parametrize("name", ["manifest.json", "nodes.parquet", "pages.parquet", "changes.json"])
def test_open_document_altered_file_is_never_read(tmp_path: Path, name: str) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    path = store.layout.version(PUMP, "v000001") / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    def read() -> None:
        version = make_store(tmp_path).open_document(store.require_current(), PUMP)
        version.tree()
        version.pages()
        version.changes()

    with pytest.raises(CorruptIndexError, match=name.replace(".", r"\.")):
        read()


@pytest.mark.parametrize("collection", ["", "..", "a/b", ".hidden", "x" * 65, "a\0b"])
def test_layout_unsafe_collection_name_is_refused(tmp_path: Path, collection: str) -> None:
    with pytest.raises(SettingsError):
        IndexStore(tmp_path, collection, store_settings())


@pytest.mark.parametrize("doc_key", ["..", "a/b", "pump.md", "../pump-md-0123456789"])
def test_layout_unsafe_document_key_is_refused(tmp_path: Path, doc_key: str) -> None:
    with pytest.raises(IndexNotFoundError):
        make_store(tmp_path).version_ids(doc_key)


def test_publish_computed_from_a_release_that_gc_removed_goes_by_the_versions(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    ref = write_sections(store, sample_sections("mine"), "valve.md")
    other = write_sections(store, sample_sections("lost"))
    publish_sections(store, sample_sections("two"))
    apply_gc(make_store(tmp_path, grace_s=3_600), keep_releases=1)

    release = store.publish({ref.doc_key: ref}, expected_parent="000001")

    assert set(release.documents) == {PUMP, make_doc_key("valve.md")}
    with pytest.raises(ConflictError):
        store.publish({other.doc_key: other}, expected_parent="000001")
