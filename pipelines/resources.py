"""What every asset works with: the index, the settings, the model and the sources, opened once a run."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg

from pageindex_local.build import BuildJob, Fingerprint, make_fingerprint, may_use_model
from pageindex_local.errors import SourceError
from pageindex_local.ids import make_doc_key
from pageindex_local.llm.lazy import LazyModel, open_lazily
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import find_sources, read_source
from pageindex_local.planning import PlannedDocument, Scope, plan_collection
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.records import Source
from pageindex_local.renames import gone_documents
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import read_place
from pageindex_local.store.records import ReleaseEntry, VersionRef
from pageindex_local.unreadable import read_unreadable
from pipelines.renames import names_of, read_names, write_names


@dataclass
class Workspace:
    """One collection being built.

    `jobs` are the documents whose work is known already (the command line's). `parser` reads PDFs; where there is none,
    each starts one of its own.
    """

    store: IndexStore
    settings: Settings
    model: LazyModel | None
    scope: Scope
    progress: Progress = NO_PROGRESS
    jobs: dict[str, BuildJob] = field(default_factory=dict)
    parser: ParserProcess | None = None

    def fingerprint(self) -> Fingerprint:
        """What decides the content of a version beside its source."""
        return make_fingerprint(self.settings, self.model)

    def source_version(self, sha256: str) -> str:
        """What decides a document's next version: its content, and settings, prompts and model."""
        return f"{sha256[:16]}-{self.fingerprint().with_model[:16]}"

    def source_versions(self) -> dict[str, str]:
        """The versions of all sources that can be read, by document key. Hashes each file.

        Raises:
            SourceError: the folder of sources is missing.
        """
        versions: dict[str, str] = {}
        for file in find_sources(self.scope.inputs, exclude=self.scope.exclude):
            with suppress(SourceError):
                source = read_source(file.doc_id, file.path, self.settings.parse)
                versions[source.doc_key] = self.source_version(source.sha256)
        return versions

    def find_job(self, doc_key: str) -> BuildJob:
        """The work to do for a document: the one handed over, or read from the sources as they are now.

        Raises:
            SourceError: no source has that key, or it cannot be read.
        """
        if doc_key in self.jobs:
            return self.jobs[doc_key]
        current = self.store.current()
        files = {
            make_doc_key(file.doc_id): file for file in find_sources(self.scope.inputs, exclude=self.scope.exclude)
        }
        if doc_key not in files:
            raise SourceError(
                "no source of that key", subject=doc_key, next_step="Remove the partition, or bring the file back."
            )
        source = read_source(files[doc_key].doc_id, files[doc_key].path, self.settings.parse)
        entry = None if current is None else current.documents.get(doc_key)
        version_id = self.store.next_version_id(doc_key)
        if entry is not None:
            return BuildJob(source, version_id, entry.version_id)
        return BuildJob(source, version_id, renamed_from=self._find_former(source, gone_documents(current, files)))

    def _find_former(self, source: Source, gone: Mapping[str, ReleaseEntry]) -> tuple[str, str] | None:
        """The document that is gone and that a new one goes on with: key and version."""
        if not gone:
            return None
        names = read_names(self.names_file)
        if not names.knows(source, gone):
            names = names_of(self.plan())
            write_names(self.names_file, names)
        return names.find_former(source.doc_key, gone)

    @property
    def names_file(self) -> Path:
        """Where the last plan's documents under another name are kept."""
        return self.store.work_folder / "renames.json"

    def plan(self) -> list[PlannedDocument]:
        """What there is to do. Reads every source, and compares new documents with those that are gone."""
        parse = self.settings.parse
        unreadable = read_unreadable(self.store, parse)
        return plan_collection(
            self.scope,
            self.store.current(),
            parse,
            self.fingerprint(),
            store=self.store,
            unreadable=unreadable,
            parser=self.parser,
        )


class WorkspaceSettings(dg.ConfigurableResource[Any]):
    """Where a collection is built from and to. Paths are relative to the folder in which Dagster was started."""

    sources: str
    index: str = "indexes"
    collection: str = "default"
    config: str = ""
    model: str = ""

    def settings(self) -> Settings:
        """The settings that this configuration names."""
        return read_settings(Path(self.config) if self.config else None, {"model": {"name": self.model or None}})

    def open_store(self, collection: str = "") -> IndexStore:
        """The index of the collection that this configuration names, or of another one beside it."""
        return IndexStore(read_place(self.index), collection or self.collection, self.settings().store)

    def open(self) -> Workspace:
        """The workspace that this configuration names. Its model is not opened yet."""
        settings = self.settings()
        store = self.open_store()
        cache_file = store.work_folder / "completions.sqlite"
        model = open_lazily(settings.model, cache_file) if may_use_model(settings) else None
        return Workspace(store, settings, model, Scope((Path(self.sources),)))


@dg.resource(required_resource_keys={"workspace_settings"})
def open_workspace(context: dg.InitResourceContext) -> Iterator[Workspace]:
    """One workspace a run; its model is closed at the end."""
    workspace: Workspace = context.resources.workspace_settings.open()
    try:
        yield workspace
    finally:
        if workspace.model is not None:
            workspace.model.close()


@dataclass(frozen=True, slots=True)
class Candidates:
    """Written versions that wait for the next release: one small file a document in the work folder.

    A queue and not "the newest version on disk", so that a version that a rollback has left is not published again.
    """

    folder: Path

    def add(self, ref: VersionRef) -> None:
        """Queue a version; an earlier one of the same document that still waits is replaced."""
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = self.folder / f".{ref.doc_key}.partial"
        partial.write_text(json.dumps({"doc_key": ref.doc_key, "version_id": ref.version_id}) + "\n")
        partial.replace(self.folder / f"{ref.doc_key}.json")

    def read(self) -> dict[str, str]:
        """The waiting versions: document key -> version id."""
        waiting = {}
        for file in sorted(self.folder.glob("[!.]*.json")):
            record = json.loads(file.read_text())
            waiting[str(record["doc_key"])] = str(record["version_id"])
        return waiting

    def remove(self, published: dict[str, str]) -> None:
        """Take published versions off the queue, unless a newer one took their place meanwhile."""
        waiting = self.read()
        for doc_key, version_id in published.items():
            if waiting.get(doc_key) == version_id:
                (self.folder / f"{doc_key}.json").unlink(missing_ok=True)


def candidates_of(workspace: Workspace) -> Candidates:
    """The queue of a workspace's collection."""
    return Candidates(workspace.store.work_folder / "candidates")
