"""The store against a dictionary: any order of publishing, removing, going back, collecting and crashing."""

from contextlib import suppress
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pageindex_local.ids import make_doc_key
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.index import IndexStore
from pageindex_local.store.verify import verify_index
from tests.faults.disk import MemoryFiles, PowerCut, Recorder
from tests.store_samples import publish_sections, sample_sections, store_settings, write_sections

DOCUMENTS = st.sampled_from(["pump.md", "valve.md", "motor/notes.md"])
MARKS = st.integers(min_value=0, max_value=10**6).map(str)


class StoreMachine(RuleBasedStateMachine):
    """`releases` says for each kept release which mark each document bears; `live` names the live one."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryFiles()
        self.releases: dict[str, dict[str, str]] = {}
        self.live: str | None = None
        self.seen_versions: set[tuple[str, str, str]] = set()

    @initialize()
    def start(self) -> None:
        self.disk.make_folder(Path("/indexes"))
        self.disk.sync_folder(Path("/"))

    def store(self) -> IndexStore:
        return IndexStore(Path("/indexes"), "main", store_settings(), self.disk)

    def note(self, documents: dict[str, str]) -> None:
        live = self.store().require_current().name
        assert self.live is None or int(live) >= int(self.live)
        self.live = live
        self.releases[live] = documents

    @rule(doc_id=DOCUMENTS, mark=MARKS)
    def publish(self, doc_id: str, mark: str) -> None:
        publish_sections(self.store(), sample_sections(mark), doc_id)
        before = self.releases[self.live] if self.live else {}
        self.note(before | {doc_id: mark})

    @rule(doc_id=DOCUMENTS, mark=MARKS)
    def write_only(self, doc_id: str, mark: str) -> None:
        write_sections(self.store(), sample_sections(mark), doc_id)

    @precondition(lambda self: self.live is not None)
    @rule(doc_id=DOCUMENTS)
    def remove(self, doc_id: str) -> None:
        assert self.live is not None
        self.store().publish({make_doc_key(doc_id): None}, expected_parent=self.live)
        self.note({key: mark for key, mark in self.releases[self.live].items() if key != doc_id})

    @precondition(lambda self: self.live is not None)
    @rule(data=st.data())
    def roll_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.releases)))
        self.store().rollback(name)
        self.note(self.releases[name])

    @precondition(lambda self: self.live is not None)
    @rule(keep=st.integers(min_value=1, max_value=3))
    def collect(self, keep: int) -> None:
        apply_gc(self.store(), keep)
        self.releases = {name: self.releases[name] for name in sorted(self.releases)[-keep:]}

    @precondition(lambda self: self.live is not None)
    @rule(doc_id=DOCUMENTS, mark=MARKS, stop_at=st.integers(min_value=1, max_value=30), seed=st.integers(0, 99))
    def cut_power(self, doc_id: str, mark: str, stop_at: int, seed: int) -> None:
        assert self.live is not None
        before = self.releases[self.live]
        self.disk.hook = Recorder(stop_at)
        with suppress(PowerCut):
            publish_sections(self.store(), sample_sections(mark), doc_id)
        self.disk = self.disk.after_power_cut(seed)
        if self.store().require_current().name != self.live:
            self.note(before | {doc_id: mark})

    @invariant()
    def releases_are_as_noted(self) -> None:
        store = self.store()
        assert (store.current().name if store.current() else None) == self.live  # type: ignore[union-attr]
        assert set(store.releases()) == self.releases.keys()
        for name, documents in self.releases.items():
            release = store.release(name)
            found = {}
            for doc_key, entry in release.documents.items():
                text = store.open_document(release, doc_key).pages()[0].text
                found[entry.doc_id] = text.partition("edition ")[2].partition(".")[0]
            assert found == documents

    @invariant()
    def version_ids_are_never_used_twice(self) -> None:
        store = self.store()
        for doc_id in ("pump.md", "valve.md", "motor/notes.md"):
            key = make_doc_key(doc_id)
            published = {
                (key, entry.version_id, entry.manifest_sha256)
                for name in self.releases
                for doc_key, entry in store.release(name).documents.items()
                if doc_key == key
            }
            self.seen_versions |= published
            names = [version_id for doc_key, version_id, _ in self.seen_versions if doc_key == key]
            assert len(names) == len(set(names))

    def teardown(self) -> None:
        assert verify_index(self.store(), deep=True).problems == ()


StoreMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
TestStoreMachine = StoreMachine.TestCase
