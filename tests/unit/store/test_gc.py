"""What gc takes away, and above all what it leaves."""

import os
import time
from pathlib import Path

from pageindex_local.ids import make_doc_key
from pageindex_local.store.gc import apply_gc, plan_gc
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_draft, make_store, publish_sections, sample_sections, write_sections

PUMP = make_doc_key("pump.md")


def test_plan_gc_changes_nothing(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    for mark in ("one", "two", "three"):
        publish_sections(store, sample_sections(mark))
    before = sorted(path for path in tmp_path.rglob("*"))

    plan = plan_gc(store, keep_releases=1)

    assert plan.releases == ("000001", "000002")
    assert plan.versions == ((PUMP, "v000001"), (PUMP, "v000002"))
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_apply_gc_keeps_what_kept_releases_pin(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections(), "valve.md")
    publish_sections(store, sample_sections("two"))

    apply_gc(store, keep_releases=1)

    assert store.releases() == ("000003",)
    assert store.version_ids(PUMP) == ("v000002",)
    assert store.version_ids(make_doc_key("valve.md")) == ("v000001",)
    assert verify_index(store, deep=True).problems == ()


def test_apply_gc_leaves_young_versions_alone(tmp_path: Path) -> None:
    store = make_store(tmp_path, grace_s=3600)
    publish_sections(store, sample_sections("one"))
    write_sections(store, sample_sections("two"))

    assert apply_gc(store, keep_releases=1).is_empty
    assert store.version_ids(PUMP) == ("v000001", "v000002")


def test_apply_gc_removes_old_unpublished_version_and_never_gives_its_number_again(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    write_sections(store, sample_sections("two"))

    plan = apply_gc(store)

    assert plan.versions == ((PUMP, "v000002"),)
    assert store.next_version_id(PUMP) == "v000003"
    publish_sections(store, sample_sections("three"))
    assert store.require_current().documents[PUMP].version_id == "v000003"
    assert verify_index(store, deep=True).problems == ()


def test_apply_gc_while_a_first_version_is_prepared_does_not_stop_it(tmp_path: Path) -> None:
    """The number that a new name begins with rises with the oldest release that is kept."""
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    draft = make_draft(store, sample_sections("new"), "valve.md")
    publish_sections(store, sample_sections("two"))
    apply_gc(store, keep_releases=1)
    store = make_store(tmp_path)
    assert store.next_version_id(make_doc_key("valve.md")) != draft.version_id

    store.write_version(draft)

    assert store.version_ids(make_doc_key("valve.md")) == (draft.version_id,)


def test_apply_gc_document_gone_from_all_releases_keeps_counting(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    store.publish({PUMP: None}, expected_parent="000002")

    apply_gc(store, keep_releases=1)

    assert store.version_ids(PUMP) == ()
    assert store.next_version_id(PUMP) == "v000003"


def test_apply_gc_leased_release_and_all_after_it_stay(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    for mark in ("one", "two", "three", "four"):
        publish_sections(store, sample_sections(mark))

    with store.lease(store.release("000002")):
        apply_gc(store, keep_releases=1)
        assert store.releases() == ("000002", "000003", "000004")
    apply_gc(store, keep_releases=1)

    assert store.releases() == ("000004",)


def test_apply_gc_lease_that_ran_out_holds_nothing(tmp_path: Path) -> None:
    store = make_store(tmp_path, lease_s=0.01)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))

    with store.lease(store.release("000001")):
        time.sleep(0.05)
        plan = apply_gc(store, keep_releases=1)

    assert plan.releases == ("000001",)
    assert len(plan.leases) == 1


def test_apply_gc_removes_what_crashes_left(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections())
    left = store.layout.versions(PUMP) / ".tmp-0011223344556677"
    left.mkdir()
    (left / "tree.json").write_text("{")
    orphan = store.layout.release("000002")
    orphan.write_text("{")
    for path in (left, orphan):
        os.utime(path, (0, 0))

    apply_gc(store)

    assert not left.exists()
    assert not orphan.exists()
    assert store.current() is not None


def test_apply_gc_removes_full_text_that_publishing_should_have_dropped(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    for mark in ("one", "two", "three", "four"):
        publish_sections(store, sample_sections(mark))
    store.layout.search.mkdir()
    for name in store.releases():
        for suffix in (".sqlite", ".sqlite.sha256", ".calibration.json"):
            (store.layout.search / f"{name}{suffix}").write_text("made")
    with store.lease(store.release("000001")):
        apply_gc(store)

    left = {path.name for path in store.layout.search.iterdir() if ".sqlite" in path.name}
    assert left == {
        f"{name}{suffix}" for name in ("000001", "000003", "000004") for suffix in (".sqlite", ".sqlite.sha256")
    }
    assert len(list(store.layout.search.glob("*.calibration.json"))) == 4


def test_apply_gc_after_rollback_keeps_versions_of_live_release(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("two"))
    store.rollback("000001")

    apply_gc(store, keep_releases=1)

    assert store.version_ids(PUMP) == ("v000001",)
    assert store.next_version_id(PUMP) == "v000003"
