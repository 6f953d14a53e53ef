"""A document's versions over time, and what became of a node: stored versions in, data out. Writes nothing."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from pageindex_local.errors import IndexNotFoundError
from pageindex_local.records import Node, Usage
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import CHANGES, TREE
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release
from pageindex_local.tree.diff import TreeDiff, diff_trees
from pageindex_local.tree.match_report import Fate


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One version of a document, the releases that pin it, and how it differs from its parent (counts by kind)."""

    version_id: str
    parent_version: str | None
    created_at: str
    source_sha256: str
    pages: int
    nodes: int
    usage: Usage
    changes: dict[str, int]
    releases: tuple[str, ...]
    is_live: bool


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """Two versions compared. `fates` says for removed nodes what became of them, `origins` where added ones came from.

    `fates` maps an old id to the id that holds its text now (None: deleted); `origins` maps a new id to the old ids.
    """

    old_version: str
    new_version: str
    tree: TreeDiff
    fates: dict[str, str | None]
    origins: dict[str, tuple[str, ...]]

    def counts(self) -> dict[str, int]:
        """`TreeDiff.counts` plus split and merged."""
        merged = sum(into is not None for into in self.fates.values())
        return self.tree.counts() | {"split": len(self.origins), "merged": merged}


class NodeState(StrEnum):
    """What an id stands for in a release."""

    NODE = "node"
    MERGED_INTO = "merged_into"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Resolution:
    """What an id stands for in a release.

    `node` is the section itself, or for `merged_into` the section that holds its text now. `pieces` are ids of living
    nodes that were split off it in the versions still kept. For a node that ended, `ended_in` says in which version.
    """

    node_id: str
    state: NodeState
    doc_key: str
    doc_id: str
    version_id: str
    title: str
    node: Node | None
    ended_in: str | None = None
    pieces: tuple[str, ...] = ()


def list_history(store: IndexStore, doc_key: str) -> tuple[HistoryEntry, ...]:
    """All versions of a document on disk, oldest first.

    Raises:
        IndexNotFoundError: no such document.
        CorruptIndexError: a manifest or release is damaged.
    """
    versions = store.version_ids(doc_key)
    if not versions:
        raise IndexNotFoundError("there is no such document", subject=doc_key, next_step="See `status`.")
    live = store.current()
    pinned: dict[str, list[str]] = {}
    for name in store.releases():
        entry = store.release(name).documents.get(doc_key)
        if entry is not None:
            pinned.setdefault(entry.version_id, []).append(name)
    live_entry = live.documents.get(doc_key) if live else None
    entries: list[HistoryEntry] = []
    for version_id in versions:
        version = store.open_version(doc_key, version_id)
        manifest = version.manifest
        entries.append(
            HistoryEntry(
                version_id=version_id,
                parent_version=manifest.parent_version,
                created_at=manifest.created_at,
                source_sha256=manifest.source_sha256,
                pages=manifest.counts.pages,
                nodes=manifest.counts.nodes,
                usage=Usage(**manifest.usage.model_dump()),
                changes=version.changes().report.counts(),
                releases=tuple(pinned.get(version_id, ())),
                is_live=live_entry is not None and live_entry.version_id == version_id,
            )
        )
    return tuple(entries)


def diff_versions(store: IndexStore, old: StoredVersion, new: StoredVersion) -> VersionDiff:
    """How two versions of one document differ, with lineage where the versions between them are still there."""
    tree = diff_trees(old.tree(), new.tree(), old.own_text, new.own_text)
    tombstones = new.changes().tombstones
    living = new.tree().nodes
    fates: dict[str, str | None] = {}
    for node in tree.removed:
        into: str | None = node.node_id
        while into is not None and into not in living:
            stone = tombstones.get(into)
            into = stone.into if stone is not None and stone.fate is Fate.MERGED_INTO else None
        fates[node.node_id] = into
    return VersionDiff(old.version_id, new.version_id, tree, fates, _origins(store, old, new, tree))


def diff_text(old: StoredVersion, new: StoredVersion, node_id: str) -> str:
    """A unified diff of a node's whole text (everything below it included); empty where it is the same.

    Raises:
        IndexNotFoundError: neither version has the node.
    """
    before, after = old.tree().nodes.get(node_id), new.tree().nodes.get(node_id)
    if before is None and after is None:
        raise IndexNotFoundError(
            f"is in neither {old.version_id} nor {new.version_id}", subject=node_id, next_step="See `resolve`."
        )
    lines = difflib.unified_diff(
        old.span_text(before.span).split("\n") if before else [],
        new.span_text(after.span).split("\n") if after else [],
        f"{old.version_id} {before.title if before else ''}".rstrip(),
        f"{new.version_id} {after.title if after else ''}".rstrip(),
        lineterm="",
    )
    return "\n".join(lines)


def resolve_node(store: IndexStore, release: Release, node_id: str, doc_key: str | None = None) -> Resolution:
    """What an id stands for in a release. Without `doc_key` every document is looked through until one knows the id.

    Raises:
        IndexNotFoundError: no document of the release ever had such a node.
        CorruptIndexError: a version is damaged.
    """
    for key in [doc_key] if doc_key is not None else release.documents:
        version = store.open_document(release, key)
        if doc_key is None and not _mentions(version, node_id):
            continue
        found = _resolve_in(store, version, node_id)
        if found is not None:
            return found
    whose = "no document" if doc_key is None else release.documents[doc_key].doc_id
    never = "has or had" if doc_key is None else "neither has nor had"
    raise IndexNotFoundError(
        f"{whose} in release {release.name} {never} such a node",
        subject=node_id,
        next_step="`tree DOC` shows node ids; name another --release if it is an old one.",
    )


def _mentions(version: StoredVersion, node_id: str) -> bool:
    """Whether the id stands anywhere in the version's JSON files: ten times as quick as reading its records."""
    needle = node_id.encode()
    return needle in version.read_file(TREE) or needle in version.read_file(CHANGES)


def _resolve_in(store: IndexStore, version: StoredVersion, node_id: str) -> Resolution | None:
    tree = version.tree()
    manifest = version.manifest
    stones = version.changes().tombstones
    node = tree.nodes.get(node_id)
    if node is None and node_id not in stones:
        return None
    title = node.title if node else stones[node_id].title
    into: str | None = node_id
    while into is not None and into not in tree.nodes:
        stone = stones.get(into)
        into = stone.into if stone is not None and stone.fate is Fate.MERGED_INTO else None
    state = NodeState.NODE if node else NodeState.MERGED_INTO if into else NodeState.DELETED
    pieces = [
        added.node_id
        for older in _ancestors(store, version)
        for added in older.changes().report.added
        if node_id in added.derived_from and added.node_id in tree.nodes and added.node_id != into
    ]
    return Resolution(
        node_id=node_id,
        state=state,
        doc_key=manifest.doc_key,
        doc_id=manifest.doc_id,
        version_id=manifest.version_id,
        title=title,
        node=tree.nodes[into] if into is not None else None,
        ended_in=None if node else stones[node_id].ended_in,
        pieces=tuple(dict.fromkeys(pieces)),
    )


def _origins(store: IndexStore, old: StoredVersion, new: StoredVersion, tree: TreeDiff) -> dict[str, tuple[str, ...]]:
    derived: dict[str, tuple[str, ...]] = {}
    for version in _ancestors(store, new):
        if version.version_id == old.version_id:
            break
        for added in version.changes().report.added:
            if added.derived_from:
                derived[added.node_id] = added.derived_from
    known = old.tree().nodes
    origins: dict[str, tuple[str, ...]] = {}
    for node in tree.added:
        sources: dict[str, None] = {}
        queue = list(derived.get(node.node_id, ()))
        seen: set[str] = set()
        while queue:
            source = queue.pop(0)
            if source in known:
                sources[source] = None
            elif source not in seen:
                seen.add(source)
                queue.extend(derived.get(source, ()))
        if sources:
            origins[node.node_id] = tuple(sources)
    return origins


def _ancestors(store: IndexStore, version: StoredVersion) -> Iterator[StoredVersion]:
    """The version, its parent and so on, as far back as they are kept."""
    while True:
        yield version
        parent = version.manifest.parent_version
        if parent is None or parent not in store.version_ids(version.doc_key):
            return
        version = store.open_version(version.doc_key, parent, version.manifest.parent_manifest_sha256)
