"""Is the index what was written? Every byte that a release vouches for is hashed; deep, the contents are checked too.

Finds everything it can and raises nothing about damage: problems are data. Changes nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pageindex_local.errors import CorruptIndexError, FormatVersionError, IndexNotFoundError
from pageindex_local.export import to_pageindex
from pageindex_local.ids import DOC_KEY_PATTERN, NODE_ID_PATTERN, own_hash, sha256_hex, subtree_hash
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.store import layout as names
from pageindex_local.store import releases as release_files
from pageindex_local.store.condemned import read_condemned
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import (
    MANIFEST,
    SEAL_SUFFIX,
    TEMPORARY,
    VERSION_FILES,
    canonical_json,
    release_name,
    seal_bytes,
)
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release
from pageindex_local.store.search_copies import CALIBRATION_SUFFIX
from pageindex_local.tree.validate import validate_tree


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written: where, and what is wrong with it."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was checked and what is wrong. `leftovers` are harmless remains of crashes and unpublished versions."""

    releases: int
    versions: int
    files: int
    size_bytes: int
    problems: tuple[Problem, ...]
    leftovers: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass
class _Findings:
    releases: int = 0
    files: int = 0
    size_bytes: int = 0
    problems: list[Problem] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    versions: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def add(self, where: Path | str, what: object) -> None:
        self.problems.append(Problem(str(where), str(what)))

    def want(self, doc_key: str, version_id: str, manifest_sha256: str) -> None:
        known = self.versions.setdefault((doc_key, version_id), manifest_sha256)
        if known != manifest_sha256:
            self.add(f"{doc_key} {version_id}", "two releases name different manifests for it")


def verify_index(store: IndexStore, *, deep: bool = False, progress: Progress = NO_PROGRESS) -> VerifyReport:
    """Check CURRENT, all kept releases and all versions on disk.

    Without `deep` every file is hashed against what its manifest, release or successor says of it. With it trees and
    pages are read as well: invariants, logical hashes and the nested JSON are computed anew.
    """
    store = store.uncached()
    found = _Findings()
    _check_releases(store, found)
    _find_unpinned(store, found)
    _check_search(store, found)
    progress.start("verifying", len(found.versions))
    for (doc_key, version_id), manifest_sha256 in sorted(found.versions.items()):
        _check_version(store, found, doc_key, version_id, manifest_sha256, deep=deep)
        progress.advance()
    progress.finish()
    return VerifyReport(
        found.releases,
        len(found.versions),
        found.files,
        found.size_bytes,
        tuple(found.problems),
        tuple(found.leftovers),
    )


def _check_releases(store: IndexStore, found: _Findings) -> None:
    files, layout = store.files, store.layout
    numbers = release_files.list_numbers(files, layout)
    try:
        pointer = release_files.read_pointer(files, layout)
    except (CorruptIndexError, FormatVersionError) as error:
        found.add(layout.current, error)
        pointer = None
        live = max(numbers, default=0)
    else:
        live = int(pointer.release) if pointer else 0
    found.files += pointer is not None
    try:
        read_condemned(files, layout)
    except (CorruptIndexError, FormatVersionError) as error:
        found.add(layout.condemned, error)
    expected: tuple[str, str] | None = (pointer.release, pointer.sha256) if pointer else None
    for number in reversed(numbers):
        name = release_name(number)
        if number > live:
            found.leftovers.append(str(layout.release(name)))
            continue
        if expected is not None and number > int(expected[0]):
            found.leftovers.append(str(layout.release(name)))  # its publisher was overtaken
            continue
        if expected is not None and expected[0] != name:
            found.add(layout.release(expected[0]), "is missing although a newer release names it")
            expected = None
        release = _check_release(store, found, name, expected[1] if expected else None)
        expected = None
        if release is not None and release.parent is not None and release.parent_sha256 is not None:
            expected = (release.parent, release.parent_sha256)
    # The parent of the oldest release may have been removed by gc, or have stayed where a bundle came from.
    if live and not any(number <= live for number in numbers):
        found.add(layout.release(release_name(live)), "is missing although CURRENT names it")


def _check_release(store: IndexStore, found: _Findings, name: str, sha256: str | None) -> Release | None:
    found.releases += 1
    path = store.layout.release(name)
    try:
        release, _ = release_files.read_release(store.files, store.layout, name, sha256)
    except (CorruptIndexError, FormatVersionError) as error:
        found.add(path, error)
        return None
    data = store.files.read_bytes(path)
    found.files += 1
    found.size_bytes += len(data)
    if data != canonical_json(release.model_dump(mode="json"), indent=None):
        found.add(path, "is not in the form in which releases are written")
    for doc_key, entry in release.documents.items():
        found.want(doc_key, entry.version_id, entry.manifest_sha256)
    return release


def _find_unpinned(store: IndexStore, found: _Findings) -> None:
    """Versions on disk that no release pins: older ones that a child vouches for, and ones never published."""
    files, layout = store.files, store.layout
    unpinned: list[tuple[str, str]] = []
    for doc_key in files.list_names(layout.documents):
        if not re.fullmatch(DOC_KEY_PATTERN, doc_key):
            found.leftovers.append(str(layout.documents / doc_key))
            continue
        try:
            store.last_version(doc_key)
        except CorruptIndexError as error:
            found.add(layout.last_version(doc_key), error)
        found.leftovers.extend(
            str(layout.versions(doc_key) / name)
            for name in files.list_names(layout.versions(doc_key))
            if name.startswith(TEMPORARY) or names.version_number(name) is None
        )
        whole = store.version_ids(doc_key)
        begun = set(store.begun_version_ids(doc_key)) - set(whole)
        found.leftovers.extend(str(layout.version(doc_key, version_id)) for version_id in sorted(begun))
        unpinned.extend((doc_key, version_id) for version_id in whole if (doc_key, version_id) not in found.versions)
    for folder in (layout.folder, layout.releases):
        found.leftovers.extend(str(folder / name) for name in files.list_names(folder) if name.startswith(TEMPORARY))
    for doc_key, version_id in unpinned:
        found.versions[doc_key, version_id] = None
    # Newest first, so that a chain of unpinned versions is vouched for link by link.
    for doc_key, version_id in sorted(found.versions, reverse=True):
        try:
            version = store.open_version(doc_key, version_id, found.versions[doc_key, version_id])
        except (CorruptIndexError, FormatVersionError, IndexNotFoundError):
            continue
        parent, sha256 = version.manifest.parent_version, version.manifest.parent_manifest_sha256
        if parent is not None and sha256 is not None and found.versions.get((doc_key, parent), sha256) is None:
            found.versions[doc_key, parent] = sha256
    live = {key for key, sha256 in found.versions.items() if sha256 is not None}
    found.leftovers.extend(
        str(layout.version(doc_key, version_id))
        for doc_key, version_id in unpinned
        if (doc_key, version_id) not in live
    )


def _check_search(store: IndexStore, found: _Findings) -> None:
    """Derived files against the hash written beside them; one without is only mentioned, it can be made anew.

    Those that a publisher drops or replaces at this moment are passed over.
    """
    files, folder = store.files, store.layout.search
    names_there = set(files.list_names(folder))
    for name in sorted(names_there):
        if name.startswith(TEMPORARY):
            found.leftovers.append(str(folder / name))
        if name.startswith(TEMPORARY) or name.endswith(SEAL_SUFFIX):
            continue
        if name + SEAL_SUFFIX not in names_there:
            found.leftovers.append(str(folder / name))
            continue
        try:
            seal = files.read_bytes(folder / (name + SEAL_SUFFIX))
            data = files.read_bytes(folder / name)
            is_damaged = seal != seal_bytes(sha256_hex(data)) and seal == files.read_bytes(
                folder / (name + SEAL_SUFFIX)
            )
        except FileNotFoundError:
            continue
        found.files += 1
        found.size_bytes += len(data)
        if is_damaged:
            anew = "`calibrate` measures" if name.endswith(CALIBRATION_SUFFIX) else "the next question builds"
            found.add(folder / name, f"is not what was written. Delete it: {anew} it anew.")


def _check_version(
    store: IndexStore, found: _Findings, doc_key: str, version_id: str, manifest_sha256: str | None, *, deep: bool
) -> None:
    folder = store.layout.version(doc_key, version_id)
    try:
        version = store.open_version(doc_key, version_id, manifest_sha256)
    except (CorruptIndexError, FormatVersionError, IndexNotFoundError) as error:
        found.add(folder / MANIFEST, error)
        return
    found.files += 1
    listed = {entry.name for entry in version.manifest.files}
    for name in sorted(set(store.files.list_names(folder)) - listed - {MANIFEST}):
        found.add(folder / name, "does not belong there")
    for name in sorted(set(VERSION_FILES) - listed):
        found.add(folder / name, "is not in the manifest")
    sound = True
    for entry in version.manifest.files:
        found.files += 1
        found.size_bytes += entry.size_bytes
        try:
            version.read_file(entry.name)
        except CorruptIndexError as error:
            sound = False
            found.add(folder / entry.name, error)
    if deep and sound:
        try:
            for what in deep_problems(version):
                found.add(folder, what)
        except CorruptIndexError as error:
            found.add(folder, error)


def deep_problems(version: StoredVersion) -> Iterator[str]:
    """What is wrong with the contents of a version whose files are the ones that were written."""
    # Imported here because pyarrow costs 0.1 s, which a shallow check need not pay.
    from pageindex_local.store.writer import content_hash, tree_hash  # noqa: PLC0415

    manifest, tree, pages = version.manifest, version.tree(), version.pages()
    yield from validate_tree(tree, pages)
    if tree_hash(tree) != manifest.tree_hash:
        yield "the tree is not the one whose logical hash the manifest holds"
    if content_hash(tree, pages) != manifest.content_hash:
        yield "tree and pages are not those whose content hash the manifest holds"
    if (len(tree.nodes), len(pages)) != (manifest.counts.nodes, manifest.counts.pages):
        yield f"{len(tree.nodes)} nodes and {len(pages)} pages, but the manifest counts others"
    nested = to_pageindex(manifest.doc_id, tree, has_pages=manifest.has_pages, details=True)
    if version.read_file(names.TREE) != canonical_json(nested):
        yield "tree.json does not say what nodes.parquet says"
    changes = version.changes()
    if (changes.version_id, changes.parent_version) != (manifest.version_id, manifest.parent_version):
        yield "changes.json belongs to another version"
    living = {kept.node_id for kept in changes.report.kept} | {added.node_id for added in changes.report.added}
    if living != tree.nodes.keys():
        yield "changes.json reports other nodes than the tree has"
    if changes.tombstones.keys() & tree.nodes.keys():
        yield "an id is both in the tree and among the ended ones"
    hashes: dict[str, str] = {}
    for node in reversed(list(tree.walk())):
        if not re.fullmatch(NODE_ID_PATTERN, node.node_id):
            yield f"{node.node_id!r} is no node id"
        if node.own_hash and own_hash(node.title, version.own_text(node)) != node.own_hash:
            yield f"the text of {node.node_id} is not the one that its hash covers"
        hashes[node.node_id] = subtree_hash(node.own_hash, [hashes[child] for child in node.children])
        if node.subtree_hash and hashes[node.node_id] != node.subtree_hash:
            yield f"the subtree of {node.node_id} is not the one that its hash covers"
