"""Sources and the live release in, what a build would do and cost out, document by document. Changes nothing."""

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from pageindex_local.build import BuildJob, Fingerprint, build_document
from pageindex_local.errors import (
    EmptySourceError,
    EncryptedSourceError,
    PageindexError,
    ParserCrashError,
    SourceLimitError,
)
from pageindex_local.ids import make_doc_key
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel, guess_strength
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.parsing.sources import SourceFile, find_sources, read_source
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.records import Source
from pageindex_local.renames import find_renames
from pageindex_local.settings import ParseSettings, Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, ReleaseEntry, VersionDraft
from pageindex_local.unreadable import UNCHANGED, Unreadable

_NOTHING_KNOWN = Unreadable()
_OF_THE_MOMENT = SourceLimitError, ParserCrashError  # a busy machine or a broken installation may have been the reason


@dataclass(frozen=True, slots=True)
class Scope:
    """What a build looks at: files and folders, path patterns to leave out.

    A folder among the inputs is the collection's root: documents of the release that it no longer holds are removed,
    unless `keep_missing`. Where only files are given, the release's other documents stay. `force` builds again what has
    not changed. With `has_passwords` encrypted documents that could not be read are tried again.
    """

    inputs: tuple[Path, ...]
    exclude: tuple[str, ...] = ()
    keep_missing: bool = False
    force: bool = False
    has_passwords: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the inputs say which documents there are, and not only some of them."""
        return any(path.is_dir() for path in self.inputs)


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

    `renamed_from` is the release's entry of a document that is gone and that this new one goes on with. `is_known` says
    of a failure that an earlier build met it with the same bytes and settings: this one does not read them again. KEEP
    without a source is a document that is gone, while the one that goes on with it cannot be built.
    """

    doc_id: str
    doc_key: str
    action: Action
    reason: str
    source: Source | None = None
    parent_version: str | None = None
    error: PageindexError | None = None
    renamed_from: ReleaseEntry | None = None
    is_known: bool = False

    def job(self, store: IndexStore) -> BuildJob:
        """The work of ADD and REBUILD, as the next version."""
        assert self.source is not None
        old = self.renamed_from
        before = None if old is None else (make_doc_key(old.doc_id), old.version_id)
        return BuildJob(self.source, store.next_version_id(self.doc_key), self.parent_version, before)

    def keep_for(self, new_name: str) -> "PlannedDocument":
        """Of a REMOVE: the document stays, because under its new name it cannot be built yet."""
        return replace(self, action=Action.KEEP, reason=f"stays until {new_name}, as it is called now, can be built")

    @property
    def is_waiting(self) -> bool:
        """Whether the document is gone and stays until its new name can be built."""
        return self.action is Action.KEEP and self.source is None

    @property
    def is_change(self) -> bool:
        """Whether a build would make something else of the release for this document."""
        return self.action in (Action.ADD, Action.REBUILD, Action.REMOVE)


def plan_collection(
    scope: Scope,
    current: Release | None,
    settings: ParseSettings,
    fingerprint: Fingerprint,
    *,
    store: IndexStore | None = None,
    unreadable: Unreadable = _NOTHING_KNOWN,
    is_build: bool = False,
    parser: ParserProcess | None = None,
    progress: Progress = NO_PROGRESS,
) -> list[PlannedDocument]:
    """What a build would do, document by document in order of `doc_id`. Reads and hashes every source.

    With a `store`, new documents are compared with those that are gone, to find the renamed ones; `parser` reads the
    PDF files among them. `unreadable` is what earlier builds could not read: it fails again. But where the reason was a
    limit of time, memory or size, or a crash of the parser, which may have been a matter of the moment, a build
    (`is_build`) tries again.

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
    failing: dict[str, PageindexError] = {}
    for file in files:
        entry = _plan_document(file, current, settings, fingerprint, force=scope.force)
        error = _known_error(entry, scope, unreadable, is_build=is_build)
        if error is not None:
            failing[entry.doc_key] = error
        planned.append(entry)
        progress.advance()
    progress.finish()
    if current is not None and not scope.keep_missing and scope.is_whole:
        there = {entry.doc_key for entry in planned}
        planned += [
            PlannedDocument(entry.doc_id, doc_key, Action.REMOVE, "is no longer in the folder")
            for doc_key, entry in current.documents.items()
            if doc_key not in there
        ]
        if store is not None:
            planned = _link_renamed(planned, failing.keys(), current, store, settings, parser)
    return sorted(_fail_again(planned, failing), key=lambda entry: entry.doc_id)


def _known_error(
    entry: PlannedDocument, scope: Scope, unreadable: Unreadable, *, is_build: bool
) -> PageindexError | None:
    """The error that an earlier build met and that another try would meet again."""
    if entry.source is None or not entry.is_change or scope.force:
        return None
    error = unreadable.find(entry.source)
    if isinstance(error, EncryptedSourceError) and scope.has_passwords:
        return None
    return None if isinstance(error, _OF_THE_MOMENT) and is_build else error


def _fail_again(planned: list[PlannedDocument], failing: Mapping[str, PageindexError]) -> list[PlannedDocument]:
    """The same work without a try of documents that fail again; what they go on with stays."""
    waiting = {e.renamed_from.doc_id: e.doc_id for e in planned if e.doc_key in failing and e.renamed_from is not None}
    result = []
    for entry in planned:
        if entry.doc_key in failing:
            error = failing[entry.doc_key]
            failed = replace(entry, action=Action.FAIL, reason=UNCHANGED, source=None, error=error, is_known=True)
            result.append(failed)
        else:
            result.append(entry.keep_for(waiting[entry.doc_id]) if entry.doc_id in waiting else entry)
    return result


def _link_renamed(
    planned: list[PlannedDocument],
    failing: Collection[str],
    current: Release,
    store: IndexStore,
    settings: ParseSettings,
    parser: ParserProcess | None,
) -> list[PlannedDocument]:
    added = {e.doc_key: e.source for e in planned if e.action is Action.ADD and e.source is not None}
    gone = {entry.doc_key: current.documents[entry.doc_key] for entry in planned if entry.action is Action.REMOVE}
    renames = find_renames(added, gone, store, settings, parser, unread=failing) if added and gone else {}
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
    with stand_in_model(settings) as stand_in:
        return build_document(job, previous, stand_in, settings, reuse_summaries=reuse, parser=parser)


@contextmanager
def stand_in_model(settings: Settings) -> Iterator[LazyModel]:
    """A model that answers at once from the text itself, as strong as the one named: to count what would be asked."""
    with tempfile.TemporaryDirectory() as folder:
        context_tokens, strength = settings.model.context_tokens, guess_strength(settings.model)
        stand_in = LazyModel(
            lambda: ExtractiveModel(context_tokens=context_tokens, strength=strength),
            identity="estimate",
            cache_file=Path(folder) / "completions.sqlite",
        )
        try:
            yield stand_in
        finally:
            stand_in.close()
