"""A folder of sources in, a published release out: what changed is built, what failed is reported, the rest is kept.

How one document is built is the caller's choice (`DocumentBuilder`): by the library alone, or by the same stages under
Dagster.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Protocol

from pageindex_local.build import BuildJob, Fingerprint, build_document, make_fingerprint
from pageindex_local.errors import IndexNotFoundError, PageindexError, StoreError
from pageindex_local.ids import make_doc_key
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import find_sources
from pageindex_local.planning import (
    Action,
    PlannedDocument,
    Scope,
    plan_collection,
    read_previous,
)
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.records import MediaType, Usage
from pageindex_local.renames import find_renamed_away
from pageindex_local.settings import Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release, VersionRef
from pageindex_local.unreadable import NOT_TRIED, read_unreadable, remember_unreadable

# Above this the assets of a document cost more than they show: Dagster adds about half a second to each.
MANY_DOCUMENTS = 100
_NO_RENAMES: Mapping[str, str] = {}


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
    media_type: MediaType | None = None
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


def build_collection(
    scope: Scope,
    store: IndexStore,
    settings: Settings,
    model: LazyModel | None,
    builder: DocumentBuilder,
    *,
    bulk_builder: DocumentBuilder | None = None,
    parser: ParserProcess | None = None,
    progress: Progress = NO_PROGRESS,
) -> CollectionReport:
    """Build what changed and publish it as one release.

    A document that fails is reported and its last good version stays, under its old name where it has a new one; the
    others are published. One that could not be read is noted (`unreadable`), and reported again without another try
    while its bytes and the settings stay. Where nothing changed, no release is made and neither the model nor a parser
    is started. A version that an interrupted build wrote, and that today's source and settings would give again, is
    published as it is. `bulk_builder` builds in place of `builder` where there are more than `MANY_DOCUMENTS` to build.
    `parser` reads new PDF files that may be old ones under another name.

    Raises:
        SourceError: an input is missing, or there is no document at all.
        StoreError: the index cannot be read or written, or somebody else published changes to the same documents.
    """
    started = time.monotonic()
    current = store.current()
    fingerprint = make_fingerprint(settings, model)
    known = read_unreadable(store, settings.parse)
    planned = plan_collection(
        scope,
        current,
        settings.parse,
        fingerprint,
        store=store,
        unreadable=known,
        is_build=True,
        parser=parser,
        progress=progress,
    )
    work = sum(entry.is_change and entry.source is not None for entry in planned)
    if bulk_builder is not None and work > MANY_DOCUMENTS:
        builder = bulk_builder
    changes: dict[str, VersionRef | None] = {}
    reports = []
    failed, read = [], []
    done = 0
    renamed_away = cache(lambda: find_renamed_away(store))
    waiting: dict[str, str] = {}  # documents that stay under this name, because under that one they cannot be built
    for entry in sorted(planned, key=lambda entry: entry.action is Action.REMOVE):
        if entry.doc_id in waiting:
            entry = entry.keep_for(waiting[entry.doc_id])  # noqa: PLW2901 - what the plan would have said
        if entry.is_change and entry.source is not None:
            done += 1
            progress.enter_document(entry.doc_id, done, work)
        find_written = None if scope.force else partial(_find_written, store, fingerprint, renamed_away)
        report, ref = _build_planned(entry, current, store, builder, find_written)
        reports.append(report)
        if report.is_changed:
            changes[entry.doc_key] = ref
        if report.error is not None and entry.renamed_from is not None:
            waiting[entry.renamed_from.doc_id] = entry.doc_id
        if entry.source is not None and report.error is not None:
            failed.append((entry.source, report.error))
        elif entry.source is not None:
            read.append(entry.source)
    progress.leave_documents()
    remember_unreadable(store, settings.parse, known, failed, read)
    release = current
    if changes:
        release = store.publish(changes, expected_parent=None if current is None else current.name)
        progress.start("updating the full-text index", None)
        build_search_index(store, release)
        progress.finish()
    reports.sort(key=lambda report: report.doc_id)
    return CollectionReport(
        None if release is None else release.name, release != current, tuple(reports), time.monotonic() - started
    )


def _build_planned(
    entry: PlannedDocument,
    current: Release | None,
    store: IndexStore,
    builder: DocumentBuilder,
    find_written: Callable[[PlannedDocument], BuiltVersion | None] | None,
) -> tuple[DocumentReport, VersionRef | None]:
    old = None if current is None else current.documents.get(entry.doc_key)
    kept = DocumentReport(
        entry.doc_id,
        entry.action,
        version=None if old is None else old.version_id,
        media_type=None if old is None else old.media_type,
        pages=0 if old is None else old.pages,
        nodes=0 if old is None else old.nodes,
        nodes_reused=0 if old is None else old.nodes,
    )
    if entry.action is Action.KEEP:
        return replace(kept, warnings=(entry.reason,) if entry.is_waiting else ()), None
    if entry.action is Action.REMOVE:
        return DocumentReport(entry.doc_id, entry.action), None
    if entry.source is None:
        warnings = (NOT_TRIED,) if entry.is_known else ()
        return replace(kept, error=entry.error, nodes_reused=0, warnings=warnings), None
    started = time.monotonic()
    try:
        built = find_written(entry) if find_written is not None and entry.renamed_from is None else None
        if built is None:
            built = builder(entry.job(store))
    except PageindexError as error:
        seconds = time.monotonic() - started
        return replace(kept, action=Action.FAIL, error=error, nodes_reused=0, seconds=seconds), None
    report = DocumentReport(
        entry.doc_id,
        entry.action,
        version=built.ref.version_id,
        media_type=built.ref.entry.media_type,
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


def _find_written(
    store: IndexStore, fingerprint: Fingerprint, renamed_away: Callable[[], frozenset[str]], entry: PlannedDocument
) -> BuiltVersion | None:
    """The version that a build wrote and could not publish, where it is whole and would come out the same today.

    Not where another document may bear its ids by now: one that this was renamed from, or that went on with it.
    """
    source = entry.source
    assert source is not None
    try:
        version = store.find_unpublished(source.doc_key)
        if version is None or version.manifest.source_sha256 != source.sha256:
            return None
        if entry.parent_version is None and (version.manifest.renamed_from or source.doc_key in renamed_away()):
            return None
        if not fingerprint.accepts(version.manifest.settings_hash):
            return None
        for file in version.manifest.files:
            version.read_file(file.name)
        ref = store.version_ref(source.doc_key, version.version_id)
    except StoreError:
        return None
    counts = version.manifest.counts
    note = f"{version.version_id} was written before for this source and these settings, and is published as it is"
    return BuiltVersion(ref, Usage(), counts.nodes_reused, counts.nodes_rebuilt, (*version.manifest.warnings, note))


def publish_candidates(
    store: IndexStore, waiting: Mapping[str, str], scope: Scope, renames: Mapping[str, str] = _NO_RENAMES
) -> Release | None:
    """Publish written versions (document key -> version id) and drop documents whose source is gone.

    A version whose parent is not the one that is live for its document has been overtaken, by another build or by a
    rollback, and is left out; so is one that gc removed while it waited, and one that goes on with a document under
    another name whose file is back, or with which somebody else goes on already. `renames` are documents to be built
    (new key -> old key): while the new one is not published the old one stays.

    Raises:
        StoreError: the index cannot be read or written.
    """
    current = store.current()
    pinned = {} if current is None else current.documents
    there = {make_doc_key(file.doc_id) for file in find_sources(scope.inputs, exclude=scope.exclude)}
    changes: dict[str, VersionRef | None] = {}
    taken = set(there)
    for doc_key, version_id in waiting.items():
        live = pinned[doc_key].version_id if doc_key in pinned else None
        with suppress(IndexNotFoundError):
            manifest = store.open_version(doc_key, version_id).manifest
            former = None if manifest.renamed_from is None else manifest.renamed_from.doc_key
            if manifest.parent_version != live or former in taken:
                continue
            if former is not None and former not in pinned and former in find_renamed_away(store):
                continue
            if former is not None:
                taken.add(former)
            changes[doc_key] = store.version_ref(doc_key, version_id)
    if not scope.keep_missing and scope.is_whole:
        wanted = {old for new, old in renames.items() if new in there and new not in pinned and new not in changes}
        if there:
            changes |= {doc_key: None for doc_key in pinned if doc_key not in there and doc_key not in wanted}
    if not changes:
        return current
    release = store.publish(changes, expected_parent=None if current is None else current.name)
    build_search_index(store, release)
    return release


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
