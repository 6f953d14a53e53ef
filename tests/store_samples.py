"""Small documents in an index: the material of the store's tests."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from pageindex_local.records import SummarySource
from pageindex_local.settings import StoreSettings, read_settings
from pageindex_local.store.bundle import export_bundle
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import VersionDraft, VersionRef
from pageindex_local.tree.identity import assign_ids
from tests.sections import Section, render


def store_settings(**changes: float) -> StoreSettings:
    """The default store settings with some changes."""
    return read_settings(overrides={"store": {"lock_timeout_s": 0.2, "grace_s": 0} | changes}).store


def make_store(root: Path, **changes: float) -> IndexStore:
    """A store on the local disk."""
    return IndexStore(root, "main", store_settings(**changes))


def sample_sections(mark: str = "one") -> list[Section]:
    """A small manual; `mark` goes into the text of one section."""
    return [
        Section(
            "scope",
            "1 Scope",
            ["This manual describes the pump and how it is kept in good order."],
            [
                Section("parts", "1.1 Parts", ["The pump has a housing, a rotor and a seal."]),
                Section("tools", "1.2 Tools", [f"The fitter needs a wrench and a gauge, edition {mark}."]),
            ],
        ),
        Section("care", "2 Care", ["Oil the bearing every week and look at the seal each month."]),
    ]


def make_draft(store: IndexStore, sections: Sequence[Section], doc_id: str = "pump.md") -> VersionDraft:
    """A draft whose ids are carried on from the live version, with a description that names the document."""
    rendered = render(sections, doc_id=doc_id)
    doc_key = rendered.document.source.doc_key
    live = store.current()
    entry = live.documents.get(doc_key) if live else None
    previous = store.open_document(live, doc_key) if live and entry else None
    version_id = store.next_version_id(doc_key)
    identified = assign_ids(
        rendered.tree,
        previous.tree() if previous else None,
        doc_id=doc_id,
        version_id=version_id,
        document=rendered.document,
        old_text=previous.own_text if previous else None,
        ended_ids=previous.changes().tombstones.keys() if previous else (),
    )
    tree = identified.tree.__class__(
        identified.tree.roots, identified.tree.nodes, f"About {doc_id}.", SummarySource.EXTRACTIVE
    )
    return VersionDraft(
        version_id=version_id,
        parent_version=entry.version_id if entry else None,
        document=rendered.document,
        tree=tree,
        report=identified.report,
        settings_hash="settings",
        fingerprint={"package": "0"},
    )


def write_sections(store: IndexStore, sections: Sequence[Section], doc_id: str = "pump.md") -> VersionRef:
    """Write a version without publishing it."""
    return store.write_version(make_draft(store, sections, doc_id))


def publish_sections(store: IndexStore, sections: Sequence[Section], doc_id: str = "pump.md") -> VersionRef:
    """Write a version and publish it."""
    ref = write_sections(store, sections, doc_id)
    live = store.current()
    store.publish({ref.doc_key: ref}, expected_parent=live.name if live else None)
    return ref


def export_two_documents(folder: Path) -> Path:
    """A bundle of an index with two documents."""
    store = make_store(folder / "elsewhere")
    publish_sections(store, sample_sections("one"))
    publish_sections(store, sample_sections("other"), "valve.md")
    target = folder / "index.bundle"
    export_bundle(store, target)
    return target


def run_together(*jobs: Callable[[], None]) -> None:
    """Run each in a thread of its own; none may fail."""
    failures: list[Exception] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except Exception as error:  # noqa: BLE001 - a thread hands it to the test
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
