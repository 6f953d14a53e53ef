"""Two releases compared, document by document: what was added, removed, renamed or changed. Writes nothing."""

from dataclasses import dataclass
from enum import StrEnum

from pageindex_local.errors import CorruptIndexError, IndexNotFoundError
from pageindex_local.store.history import VersionDiff, diff_versions
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, ReleaseEntry


class DocumentChange(StrEnum):
    """How a document differs between two releases."""

    ADDED = "added"
    REMOVED = "removed"
    RENAMED = "renamed"  # perhaps changed as well: see its sections
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class DocumentDiff:
    """One document that differs.

    `before` and `after` are what the releases pin (None where one has no such document), `sections` the difference
    between them where there are both.
    """

    doc_id: str
    change: DocumentChange
    before: StoredVersion | None = None
    after: StoredVersion | None = None
    sections: VersionDiff | None = None


def diff_releases(store: IndexStore, old: Release | None, new: Release | None) -> list[DocumentDiff]:
    """Every document that differs, in order of its id. None stands for an empty release.

    Raises:
        CorruptIndexError: a version is damaged.
        IndexNotFoundError: a version is gone.
    """
    before = {} if old is None else old.documents
    after = {} if new is None else new.documents
    found: list[DocumentDiff] = []
    renamed: set[str] = set()
    for doc_key, entry in after.items():
        if before.get(doc_key) == entry:
            continue
        version = store.open_version(doc_key, entry.version_id, entry.manifest_sha256)
        former = before.get(doc_key)
        change = DocumentChange.CHANGED
        former_key = doc_key
        if former is None:
            former_key, former = _former(store, version, before, after)
            change = DocumentChange.ADDED if former is None else DocumentChange.RENAMED
            renamed.add(former_key)
        if former is None:
            found.append(DocumentDiff(entry.doc_id, change, None, version))
            continue
        older = store.open_version(former_key, former.version_id, former.manifest_sha256)
        found.append(DocumentDiff(entry.doc_id, change, older, version, diff_versions(store, older, version)))
    for doc_key, entry in before.items():
        if doc_key not in after and doc_key not in renamed:
            version = store.open_version(doc_key, entry.version_id, entry.manifest_sha256)
            found.append(DocumentDiff(entry.doc_id, DocumentChange.REMOVED, version))
    return sorted(found, key=lambda diff: diff.doc_id)


def _former(
    store: IndexStore, version: StoredVersion, before: dict[str, ReleaseEntry], after: dict[str, ReleaseEntry]
) -> tuple[str, ReleaseEntry | None]:
    """The document of the older release that a new one was before, by the names that its versions remember."""
    older: StoredVersion | None = version
    while older is not None:
        if older.doc_key in before and older.doc_key not in after:
            return older.doc_key, before[older.doc_key]
        older = _version_before(store, older)
    return version.doc_key, None


def _version_before(store: IndexStore, version: StoredVersion) -> StoredVersion | None:
    """The version that a version was built on, under whatever name; None for a first one, or where gc removed it."""
    manifest = version.manifest
    try:
        if manifest.renamed_from is not None:
            return store.open_version(manifest.renamed_from.doc_key, manifest.renamed_from.version_id)
        if manifest.parent_version is not None:
            return store.open_version(version.doc_key, manifest.parent_version, manifest.parent_manifest_sha256)
    except (IndexNotFoundError, CorruptIndexError):
        return None
    return None
