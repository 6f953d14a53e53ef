"""A folder of sources in, a published release out: what changed is built, what failed is reported, the rest is kept.

How one document is built is the caller's choice (`DocumentBuilder`): by the library alone, or by the same stages under
Dagster.
"""

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pageindex_local.build import BuildJob, Fingerprint, build_document, make_fingerprint
from pageindex_local.errors import EmptySourceError, PageindexError, StoreError
from pageindex_local.ids import make_doc_key
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel, guess_strength
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import SourceFile, find_sources, read_source
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.records import Source, Usage
from pageindex_local.renames import find_renames
from pageindex_local.settings import ParseSettings, Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, ReleaseEntry, VersionDraft, VersionRef

# Above this the assets of a document cost more than they show: Dagster adds about half a second to each.
MANY_DOCUMENTS = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """What a build looks at: files and folders, path patterns to leave out.

    A folder among the inputs is the collection's root: documents of the release that it no longer holds are removed,
    unless `keep_missing`. Where only files are given, the release's other documents stay. `force` builds again what has
    not changed.
    """

    inputs: tuple[Path, ...]
    exclude: tuple[str, ...] = ()
    keep_missing: bool = False
    force: bool = False


class Action(StrEnum):
    """What a build has to do about a document."""

    KEEP = "unchanged"
    ADD = "new"
    REBUILD = "changed"
    REMOVE = "removed"
    FAIL = "failed"


@dataclass(frozen=True, slots=True)
class PlannedDocument:
    """What is to be done about one document and why. `source` is there for ADD and REBUILD, `error` for FAIL.

    `renamed_from` is the release's entry of a document that is gone and that this new one goes on with.
    """

    doc_id: str
    doc_key: str
    action: Action
    reason: str
    source: Source | None = None
    parent_version: str | None = None
    error: PageindexError | None = None
    renamed_from: ReleaseEntry | None = None

    def job(self, store: IndexStore) -> BuildJob:
        """The work of ADD and REBUILD, as the next version."""
        assert self.source is not None
        old = self.renamed_from
        before = None if old is None else (make_doc_key(old.doc_id), old.version_id)
        return BuildJob(self.source, store.next_version_id(self.doc_key), self.parent_version, before)

    @property
    def is_change(self) -> bool:
        """Whether a build would make something else of the release for this document."""
        return self.action in (Action.ADD, Action.REBUILD, Action.REMOVE)


@dataclass(frozen=True, slots=True)
class BuiltVersion:
    """A written version with what it cost."""

    ref: VersionRef
    usage: Usage
    nodes_reused: int
    nodes_rebuilt: int
    warnings: tuple[str, ...] = ()


class DocumentBuilder(Protocol):
    """Builds and writes one version; does not publish it."""

    def __call__(self, job: BuildJob) -> BuiltVersion:
        """The written version.

        Raises:
            PageindexError: the document could not be built.
        """
        ...


@dataclass(frozen=True, slots=True)
class DocumentReport:
    """What a build did about one document.

    `version` is the one that answers now; None where there is none. `renamed_from` is the id that it had before.
    """

    doc_id: str
    action: Action
    version: str | None = None
    pages: int = 0
    nodes: int = 0
    nodes_reused: int = 0
    nodes_rebuilt: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    error: PageindexError | None = None
    warnings: tuple[str, ...] = ()
    renamed_from: str | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the release holds something else for this document than before."""
        return self.action in (Action.ADD, Action.REBUILD, Action.REMOVE)


@dataclass(frozen=True, slots=True)
class CollectionReport:
    """What a build did. `release` is the name of the current one afterwards; None where nothing was ever published."""

    release: str | None
    is_new_release: bool
    documents: tuple[DocumentReport, ...]
    seconds: float

    @property
    def exit_code(self) -> int:
        """0, or the highest code among the documents that failed."""
        return max((report.error.exit_code for report in self.documents if report.error is not None), default=0)


def plan_collection(
    scope: Scope,
    current: Release | None,
    settings: ParseSettings,
    fingerprint: Fingerprint,
    *,
    store: IndexStore | None = None,
    progress: Progress = NO_PROGRESS,
) -> list[PlannedDocument]:
    """What a build would do, document by document in order of `doc_id`. Reads and hashes every source.

    With a `store`, new documents are compared with those that are gone, to find the renamed ones.

    Raises:
        SourceError: an input is missing, or no document was found at all (nothing is removed then).
    """
    files = find_sources(scope.inputs, exclude=scope.exclude)
    if not files:
        raise EmptySourceError(
            "holds no document",
            subject=", ".join(str(path) for path in scope.inputs),
            next_step="Documents are .pdf, .md, .markdown, .txt and .text files.",
        )
    progress.start("comparing sources", len(files))
    planned = []
    for file in files:
        planned.append(_plan_document(file, current, settings, fingerprint, force=scope.force))
        progress.advance()
    progress.finish()
    if current is not None and not scope.keep_missing and any(path.is_dir() for path in scope.inputs):
        there = {entry.doc_key for entry in planned}
        planned += [
            PlannedDocument(entry.doc_id, doc_key, Action.REMOVE, "is no longer in the folder")
            for doc_key, entry in current.documents.items()
            if doc_key not in there
        ]
        if store is not None:
            planned = _link_renamed(planned, current, store, settings)
    return sorted(planned, key=lambda entry: entry.doc_id)


def _link_renamed(
    planned: list[PlannedDocument], current: Release, store: IndexStore, settings: ParseSettings
) -> list[PlannedDocument]:
    added = {e.doc_key: e.source for e in planned if e.action is Action.ADD and e.source is not None}
    gone = {entry.doc_key: current.documents[entry.doc_key] for entry in planned if entry.action is Action.REMOVE}
    renames = find_renames(added, gone, store, settings) if added and gone else {}
    new_ids = {old: added[new].doc_id for new, old in renames.items()}
    result = []
    for entry in planned:
        if entry.doc_key in renames:
            old = gone[renames[entry.doc_key]]
            result.append(replace(entry, renamed_from=old, reason=f"was {old.doc_id}"))
        elif entry.doc_key in new_ids:
            result.append(replace(entry, reason=f"is now {new_ids[entry.doc_key]}"))
        else:
            result.append(entry)
    return result


def _plan_document(
    file: SourceFile, current: Release | None, settings: ParseSettings, fingerprint: Fingerprint, *, force: bool
) -> PlannedDocument:
    doc_key = make_doc_key(file.doc_id)
    old = None if current is None else current.documents.get(doc_key)
    parent = None if old is None else old.version_id
    try:
        source = read_source(file.doc_id, file.path, settings)
    except PageindexError as error:
        return PlannedDocument(file.doc_id, doc_key, Action.FAIL, error.problem, None, parent, error)
    if old is None:
        return PlannedDocument(file.doc_id, doc_key, Action.ADD, "is new", source)
    if old.source_sha256 != source.sha256:
        return PlannedDocument(file.doc_id, doc_key, Action.REBUILD, "content changed", source, parent)
    if not fingerprint.accepts(old.settings_hash):
        reason = "settings, model or program changed"
        return PlannedDocument(file.doc_id, doc_key, Action.REBUILD, reason, source, parent)
    if force:
        return PlannedDocument(file.doc_id, doc_key, Action.REBUILD, "is forced", source, parent)
    return PlannedDocument(file.doc_id, doc_key, Action.KEEP, "is unchanged", source, parent)


def build_collection(
    scope: Scope,
    store: IndexStore,
    settings: Settings,
    model: LazyModel | None,
    builder: DocumentBuilder,
    *,
    bulk_builder: DocumentBuilder | None = None,
    progress: Progress = NO_PROGRESS,
) -> CollectionReport:
    """Build what changed and publish it as one release.

    A document that fails is reported and its last good version stays; the others are published. Where nothing changed,
    no release is made and neither the model nor a parser is started. A version that an interrupted build wrote, and
    that today's source and settings would give again, is published as it is. `bulk_builder` builds in place of
    `builder` where there are more than `MANY_DOCUMENTS` to build.

    Raises:
        SourceError: an input is missing, or there is no document at all.
        StoreError: the index cannot be read or written, or somebody else published changes to the same documents.
    """
    started = time.monotonic()
    current = store.current()
    fingerprint = make_fingerprint(settings, model)
    planned = plan_collection(scope, current, settings.parse, fingerprint, store=store, progress=progress)
    work = sum(entry.is_change and entry.source is not None for entry in planned)
    if bulk_builder is not None and work > MANY_DOCUMENTS:
        builder = bulk_builder
    changes: dict[str, VersionRef | None] = {}
    reports = []
    done = 0
    for entry in planned:
        if entry.is_change and entry.source is not None:
            done += 1
            progress.enter_document(entry.doc_id, done, work)
        report, ref = _build_planned(entry, current, store, fingerprint, builder, resume=not scope.force)
        reports.append(report)
        if report.is_changed:
            changes[entry.doc_key] = ref
    progress.leave_documents()
    release = current
    if changes:
        release = store.publish(changes, expected_parent=None if current is None else current.name)
        progress.start("updating the full-text index", None)
        build_search_index(store, release, current)
        progress.finish()
    return CollectionReport(
        None if release is None else release.name, release != current, tuple(reports), time.monotonic() - started
    )


def _build_planned(
    entry: PlannedDocument,
    current: Release | None,
    store: IndexStore,
    fingerprint: Fingerprint,
    builder: DocumentBuilder,
    *,
    resume: bool,
) -> tuple[DocumentReport, VersionRef | None]:
    old = None if current is None else current.documents.get(entry.doc_key)
    kept = DocumentReport(
        entry.doc_id,
        entry.action,
        version=None if old is None else old.version_id,
        pages=0 if old is None else old.pages,
        nodes=0 if old is None else old.nodes,
        nodes_reused=0 if old is None else old.nodes,
    )
    if entry.action is Action.KEEP:
        return kept, None
    if entry.action is Action.REMOVE:
        return DocumentReport(entry.doc_id, entry.action), None
    if entry.source is None:
        return replace(kept, error=entry.error, nodes_reused=0), None
    started = time.monotonic()
    try:
        resume = resume and entry.renamed_from is None
        built = _find_written(entry.source, store, fingerprint) if resume else None
        if built is None:
            built = builder(entry.job(store))
    except PageindexError as error:
        seconds = time.monotonic() - started
        return replace(kept, action=Action.FAIL, error=error, nodes_reused=0, seconds=seconds), None
    report = DocumentReport(
        entry.doc_id,
        entry.action,
        version=built.ref.version_id,
        pages=built.ref.entry.pages,
        nodes=built.ref.entry.nodes,
        nodes_reused=built.nodes_reused,
        nodes_rebuilt=built.nodes_rebuilt,
        usage=built.usage,
        seconds=time.monotonic() - started,
        warnings=built.warnings,
        renamed_from=None if entry.renamed_from is None else entry.renamed_from.doc_id,
    )
    return report, built.ref


def _find_written(source: Source, store: IndexStore, fingerprint: Fingerprint) -> BuiltVersion | None:
    """The version that a build wrote and could not publish, where it is whole and would come out the same today."""
    try:
        version = store.find_unpublished(source.doc_key)
        if version is None or version.manifest.source_sha256 != source.sha256:
            return None
        if not fingerprint.accepts(version.manifest.settings_hash):
            return None
        for file in version.manifest.files:
            version.read_file(file.name)
        ref = store.version_ref(source.doc_key, version.version_id)
    except StoreError:
        return None
    counts = version.manifest.counts
    note = f"{version.version_id} was written by a build that was interrupted, and is published as it is"
    return BuiltVersion(ref, Usage(), counts.nodes_reused, counts.nodes_rebuilt, (*version.manifest.warnings, note))


def publish_candidates(store: IndexStore, waiting: Mapping[str, str], scope: Scope) -> Release | None:
    """Publish written versions (document key -> version id) and drop documents whose source is gone.

    A version whose parent is not the one that is live for its document has been overtaken, by another build or by a
    rollback, and is left out.

    Raises:
        StoreError: the index cannot be read or written.
    """
    current = store.current()
    pinned = {} if current is None else current.documents
    changes: dict[str, VersionRef | None] = {}
    for doc_key, version_id in waiting.items():
        live = pinned[doc_key].version_id if doc_key in pinned else None
        if store.open_version(doc_key, version_id).manifest.parent_version == live:
            changes[doc_key] = store.version_ref(doc_key, version_id)
    if not scope.keep_missing and any(path.is_dir() for path in scope.inputs):
        there = {make_doc_key(file.doc_id) for file in find_sources(scope.inputs, exclude=scope.exclude)}
        if there:
            changes |= {doc_key: None for doc_key in pinned if doc_key not in there}
    if not changes:
        return current
    release = store.publish(changes, expected_parent=None if current is None else current.name)
    build_search_index(store, release, current)
    return release


def read_previous(store: IndexStore, job: BuildJob, fingerprint: Fingerprint) -> tuple[StoredVersion | None, bool]:
    """The version whose ids are carried on, and whether its summaries are what today's settings would give."""
    if job.parent_version is not None:
        stored = store.open_version(job.source.doc_key, job.parent_version)
    elif job.renamed_from is not None:
        stored = store.open_version(*job.renamed_from)
    else:
        return None, False
    reuse = stored.manifest.fingerprint.get("summaries") == fingerprint.parts["summaries"]
    return stored, reuse


def estimate_document(
    planned: PlannedDocument,
    store: IndexStore,
    settings: Settings,
    fingerprint: Fingerprint,
    parser: ParserProcess | None = None,
) -> VersionDraft | None:
    """What building a document would give and cost, tried with a stand-in for the model; None where nothing is to do.

    The stand-in is asked as a model of that strength would be. Calls are right up to retries and up to what the
    completion cache still holds; tokens are those of the stand-in's tokenizer, within about a third of a real one's.
    Nothing is written to the index.

    Raises:
        SourceError: the document cannot be read.
    """
    if planned.source is None or not planned.is_change:
        return None
    job = planned.job(store)
    previous, reuse = read_previous(store, job, fingerprint)
    with tempfile.TemporaryDirectory() as folder:
        context_tokens, strength = settings.model.context_tokens, guess_strength(settings.model)
        stand_in = LazyModel(
            lambda: ExtractiveModel(context_tokens=context_tokens, strength=strength),
            identity="estimate",
            cache_file=Path(folder) / "completions.sqlite",
        )
        try:
            return build_document(job, previous, stand_in, settings, reuse_summaries=reuse, parser=parser)
        finally:
            stand_in.close()


def library_builder(
    store: IndexStore,
    settings: Settings,
    model: LazyModel | None,
    progress: Progress = NO_PROGRESS,
    parser: ParserProcess | None = None,
) -> DocumentBuilder:
    """A builder that runs the stages one after another in this process; `parser` reads its PDFs and stays open."""

    def build(job: BuildJob) -> BuiltVersion:
        previous, reuse = read_previous(store, job, make_fingerprint(settings, model))
        draft = build_document(job, previous, model, settings, reuse_summaries=reuse, parser=parser, progress=progress)
        ref = store.write_version(draft)
        return BuiltVersion(ref, draft.usage, draft.nodes_reused, draft.nodes_rebuilt, draft.warnings)

    return build
