"""Two commits of a git repository in, the index of the second and its difference from the first out.

Made for continuous integration: the index may be there from an earlier run, whatever commit that was for. Only what
differs is built. The working tree is left alone.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pageindex_local.build import Fingerprint, make_fingerprint
from pageindex_local.collection import CollectionReport, DocumentBuilder, DocumentReport, build_collection
from pageindex_local.errors import EmptySourceError, SourceError
from pageindex_local.git_commits import Commits, extract_folder
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import find_sources, read_source
from pageindex_local.planning import Action, Scope
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.records import Usage
from pageindex_local.release_diff import DocumentDiff, diff_releases
from pageindex_local.settings import Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from pageindex_local.unreadable import read_unreadable


@dataclass(frozen=True, slots=True)
class ReindexReport:
    """What reindexing did: the documents that differ, what the head cost, and what it cost to have the base first.

    `base_failed` are the documents that cannot be read in the base and can be in the head, or are gone from it: the
    difference compares them with their last good version, or with nothing.
    """

    commits: Commits
    base_release: str | None
    head_release: str | None
    diffs: tuple[DocumentDiff, ...]
    head: CollectionReport
    base: CollectionReport | None
    base_failed: tuple[DocumentReport, ...] = ()

    @property
    def usage(self) -> Usage:
        """What the documents of the head cost."""
        return sum((document.usage for document in self.head.documents), Usage())

    @property
    def base_usage(self) -> Usage:
        """What it cost to have the index of the base first."""
        return sum((document.usage for document in self.base.documents), Usage()) if self.base else Usage()


def reindex(
    folder: Path,
    commits: Commits,
    store: IndexStore,
    settings: Settings,
    model: LazyModel | None,
    builder: DocumentBuilder,
    *,
    exclude: Sequence[str] = (),
    progress: Progress = NO_PROGRESS,
) -> ReindexReport:
    """Bring the index to the base commit, then to the head, and compare.

    An older release of the index that holds just what a commit has is gone back to, unless corrections made by hand
    would be lost; otherwise what differs from the live one is built, with the ids that it has.

    Args:
        folder: the documents' folder in the working tree.
        commits: from `find_commits`.
        store: the index; may be empty.
        settings: of the build.
        model: None where settings ask for no model.
        builder: builds one document.
        exclude: patterns over document ids to leave out.
        progress: told about each stage.

    Raises:
        SourceError: git fails, or the head has no document.
        StoreError: the index cannot be read or written.
    """
    with tempfile.TemporaryDirectory(prefix="pageindex-reindex-") as scratch:
        base_report: CollectionReport | None = None
        base_failed: Sequence[DocumentReport] = ()
        before: Release | None = None
        base = Path(scratch, "base")
        if commits.base is not None and extract_folder(folder, commits.base, base):
            scope = Scope((base,), tuple(exclude))
            if find_sources(scope.inputs, exclude=scope.exclude):  # not if all are hidden or left out
                unread = _go_back(scope, store, settings, make_fingerprint(settings, model))
                if unread is None:
                    base_report = build_collection(scope, store, settings, model, builder, progress=progress)
                    unread = [document for document in base_report.documents if document.error is not None]
                base_failed = unread
                before = store.current()
        head = Path(scratch, "head")
        scope = Scope((head,), tuple(exclude))
        if not extract_folder(folder, commits.head, head) or not find_sources(scope.inputs, exclude=scope.exclude):
            raise EmptySourceError(
                f"holds no document in commit {commits.head[:12]}",
                subject=str(folder),
                next_step="Give a folder of the repository with documents that are committed.",
            )
        _go_back(scope, store, settings, make_fingerprint(settings, model))
        report = build_collection(scope, store, settings, model, builder, progress=progress)
    after = store.current()
    diffs = tuple(diff_releases(store, before, after))
    failed = {document.doc_id for document in report.documents if document.error is not None}
    return ReindexReport(
        commits,
        None if before is None else before.name,
        None if after is None else after.name,
        diffs,
        _with_warnings(report, diffs),
        base_report,
        tuple(document for document in base_failed if document.doc_id not in failed),
    )


def _go_back(
    scope: Scope, store: IndexStore, settings: Settings, fingerprint: Fingerprint
) -> list[DocumentReport] | None:
    """Make live, by a rollback where it is not, the release that a build of these sources would give.

    Of several that are, the newest counts: it has the corrections that were made by hand. None where there is no such
    release; else the documents that cannot be read, for which it has nothing.
    """
    live = store.current()
    if live is None:
        return None
    unreadable = read_unreadable(store, settings.parse)
    hashes: dict[str, str] = {}
    failed = []
    for file in find_sources(scope.inputs, exclude=scope.exclude):
        try:
            source = read_source(file.doc_id, file.path, settings.parse)
            error = unreadable.find(source)
        except SourceError as problem:
            error = problem
        if error is not None:  # it has no version in any release
            failed.append(DocumentReport(file.doc_id, Action.FAIL, error=error))
        else:
            hashes[source.doc_key] = source.sha256
    for name in reversed(store.releases()):
        release = store.release(name)
        found = {key: entry.source_sha256 for key, entry in release.documents.items()}
        if found != hashes or not all(fingerprint.accepts(entry.settings_hash) for entry in release.documents.values()):
            continue
        if release.documents != live.documents:
            if not _corrections(store, live, release) <= _corrections(store, release, live):
                continue
            build_search_index(store, store.rollback(name))
        return failed
    return None


def _with_warnings(report: CollectionReport, diffs: Sequence[DocumentDiff]) -> CollectionReport:
    """The report with what was warned of when those versions were built that an earlier run left."""
    known = {diff.doc_id: diff.after.manifest.warnings for diff in diffs if diff.after is not None}
    documents = (
        replace(document, warnings=known.get(document.doc_id, document.warnings))
        if document.action is Action.KEEP
        else document
        for document in report.documents
    )
    return replace(report, documents=tuple(documents))


def _corrections(store: IndexStore, release: Release, other: Release) -> set[tuple[str, tuple[str, ...]]]:
    """What was put in by hand (section, lines) in the documents of a release that another has otherwise."""
    return {
        (graft.node_id, tuple(graft.lines))
        for doc_key, entry in release.documents.items()
        if other.documents.get(doc_key) != entry
        for graft in store.open_document(release, doc_key).grafts()
    }
