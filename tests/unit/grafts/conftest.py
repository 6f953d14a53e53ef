"""A port of two chapters in one Markdown file, built with the stand-in model, and the moves that a correction makes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.grafts.replace import draft_replacement, publish_draft
from pageindex_local.grafts.section import read_section
from pageindex_local.llm.lazy import LazyModel, open_lazily
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Node
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import VersionDraft


def paragraph(place: str, price: int) -> str:
    """Long enough that a model is asked about it."""
    return " ".join([f"Ships that lie at the {place} pay {price} crowns a day to the keeper of the {place}."] * 4)


PORT = f"""\
# Rules of the port

{paragraph("port", 2)}

## Quays

{paragraph("quay", 3)}

### North quay

{paragraph("north quay", 4)}

### South quay

{paragraph("south quay", 5)}

## Locks

{paragraph("lock", 6)}

## Ferries

{paragraph("ferry", 7)}
"""


class Port:
    """One document in one index. Every build and correction has a cache of its own, so that no call is free."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings: Settings = read_settings(None, {"model": {"name": "fake"}})
        self.store = IndexStore(folder / "index", "default", self.settings.store)
        self.file = folder / "port.md"
        self._caches = 0

    def model(self) -> LazyModel:
        self._caches += 1
        return open_lazily(self.settings.model, self.folder / f"cache{self._caches}.sqlite")

    def build(self, text: str) -> VersionDraft:
        """Build a text as the next version, publish it."""
        self.file.write_text(text, encoding="utf-8")
        source = read_source(self.file.name, self.file, self.settings.parse)
        live = self.store.current()
        previous = None if live is None else self.store.open_document(live, source.doc_key)
        parent = None if previous is None else previous.version_id
        job = BuildJob(source, self.store.next_version_id(source.doc_key), parent)
        draft = build_document(job, previous, self.model(), self.settings)
        ref = self.store.write_version(draft)
        self.store.publish({ref.doc_key: ref}, expected_parent=None if live is None else live.name)
        return draft

    @property
    def live(self) -> StoredVersion:
        release = self.store.require_current()
        return self.store.open_document(release, next(iter(release.documents)))

    def node(self, title: str) -> Node:
        return next(node for node in self.live.tree().walk() if node.title == title)

    def section_text(self, node_id: str) -> str:
        return read_section(self.live, node_id).text()

    def draft(self, node_id: str, text: str | None) -> VersionDraft | None:
        return draft_replacement(self.store, self.live, node_id, text, model=self.model(), settings=self.settings)

    def replace(self, title: str, change: Callable[[str], str] | None) -> VersionDraft:
        """Publish a section's text after a change; None restores it."""
        node = self.node(title)
        draft = self.draft(node.node_id, None if change is None else change(self.section_text(node.node_id)))
        assert draft is not None
        self.publish(draft)
        return draft

    def publish(self, draft: VersionDraft) -> None:
        publish_draft(self.store, draft, self.store.require_current(), "test")


@pytest.fixture
def port(tmp_path: Path) -> Port:
    port = Port(tmp_path)
    port.build(PORT)
    return port
