"""Two builders on one index at the same time: nothing of either is lost, and what cannot be joined is a conflict."""

import threading
from pathlib import Path

from pageindex_local.errors import ConflictError
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_store, sample_sections, write_sections


def build(root: Path, doc_id: str, rounds: int, conflicts: list[ConflictError], failures: list[Exception]) -> None:
    """Publish a document so many times; a conflict is noted and the round taken again."""
    store = make_store(root, lock_timeout_s=30)
    done = 0
    while done < rounds:
        live = store.current()
        try:
            ref = write_sections(store, sample_sections(f"{done}"), doc_id)
            store.publish({ref.doc_key: ref}, expected_parent=live.name if live else None)
            done += 1
        except ConflictError as error:
            conflicts.append(error)
        except Exception as error:  # noqa: BLE001 - a thread hands it to the test
            failures.append(error)
            return


def run_together(root: Path, doc_ids: list[str], rounds: int) -> list[ConflictError]:
    conflicts: list[ConflictError] = []
    failures: list[Exception] = []
    threads = [threading.Thread(target=build, args=(root, doc_id, rounds, conflicts, failures)) for doc_id in doc_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
    return conflicts


def test_publish_two_builders_of_different_documents_never_lose_a_version(tmp_path: Path) -> None:
    conflicts = run_together(tmp_path, ["pump.md", "valve.md"], 8)

    store = make_store(tmp_path)
    release = store.require_current()
    assert {entry.doc_id: entry.version_id for entry in release.documents.values()} == {
        "pump.md": "v000008",
        "valve.md": "v000008",
    }
    assert len(store.releases()) == 16
    assert conflicts == []
    assert verify_index(store, deep=True).is_clean


def test_publish_two_builders_of_one_document_take_turns_by_conflict(tmp_path: Path) -> None:
    conflicts = run_together(tmp_path, ["pump.md", "pump.md"], 6)

    store = make_store(tmp_path)
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
