"""Releases and the pointer to the live one: read, checked, written. Does not look into versions.

A release is what the parent chain from CURRENT leads to. Any other release file never became live: its publisher died,
or was overtaken by another. Where its number is not above the live one's it never can become live, for the swap of
CURRENT that would make it so expects an older one.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import BaseModel

from pageindex_local.errors import ConflictError, CorruptIndexError, IndexNotFoundError, StoreError
from pageindex_local.ids import sha256_hex
from pageindex_local.store.condemned import read_versions
from pageindex_local.store.files import FileSystem
from pageindex_local.store.layout import MANIFEST, Layout, canonical_json, release_name
from pageindex_local.store.reader import check_bytes, read_checked, read_record
from pageindex_local.store.records import FORMAT_VERSION, Manifest, Pointer, Release, ReleaseEntry, VersionRef

GC_MARK = "gc"  # the reason of a release that gc makes in a bucket, see `condemned`
IMPORT = "import of "  # how the reason of a release begins that came out of a bundle


@dataclass(frozen=True, slots=True)
class Chain:
    """The releases that are or were live and are kept: name -> sha256 of the file, newest first.

    `missing` is the parent of the oldest, where it has one: gc removed it, or it stayed where a bundle came from.
    `marks` are those that hold what the one before holds and only mark that gc was at work. `last_foreign` is the
    newest whose documents may have a history that was never here: the oldest, if its parent is missing, or one from a
    bundle.
    """

    hashes: dict[str, str]
    missing: str | None
    marks: frozenset[str]
    last_foreign: str | None = None

    def dead_numbers(self, numbers: list[int]) -> list[int]:
        """Of the numbers of release files those that never became live and never can."""
        live = int(next(iter(self.hashes)))
        first = int(self.missing) if self.missing is not None else 0
        return [number for number in numbers if first < number < live and release_name(number) not in self.hashes]


class _Link(BaseModel):
    """What of a release names its place among the others."""

    name: str
    parent: str | None
    parent_sha256: str | None
    reason: str


def now() -> str:
    """The time in UTC as it is written into manifests and releases."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def list_numbers(files: FileSystem, layout: Layout) -> list[int]:
    """The numbers of all release files, ascending, those that never became live included."""
    names = (name.removesuffix(".json") for name in files.list_names(layout.releases) if name.endswith(".json"))
    return sorted(int(name) for name in names if name.isdecimal())


def read_pointer(files: FileSystem, layout: Layout) -> Pointer | None:
    """What CURRENT says; None where nothing was ever published.

    Raises:
        CorruptIndexError: CURRENT is damaged, or missing although several releases exist.
        FormatVersionError: written by a newer format.
        StoreError: the place of the index is a file.
    """
    subject = str(layout.current)
    try:
        data = files.read_bytes(layout.current)
    except FileNotFoundError:
        # What a crash before the very first publication leaves is no loss.
        if _has_followers(files, layout):
            raise CorruptIndexError(
                "is missing although the collection has releases",
                subject=subject,
                next_step="Restore the file from a copy or import a bundle; the releases themselves are still there.",
            ) from None
        return None
    except NotADirectoryError:
        raise StoreError(
            "lies below a file, not a folder", subject=str(layout.folder), next_step="Give --index a folder."
        ) from None
    pointer = read_record(data, Pointer, subject=subject)
    if data != pointer_bytes(pointer):
        raise CorruptIndexError("is not the text that was written", subject=subject, next_step="Restore the file.")
    return pointer


def _has_followers(files: FileSystem, layout: Layout) -> bool:
    """Whether a release file follows another that is there: so CURRENT once named the first of them."""
    names = [release_name(number) for number in list_numbers(files, layout)]
    if len(names) < 2:
        return False
    links = (_Link.model_validate_json(files.read_bytes(layout.release(name))) for name in names)
    try:
        return any(link.parent in names for link in links)
    except (ValueError, OSError):
        return True


def read_chain(files: FileSystem, layout: Layout, live: tuple[Release, str]) -> Chain:
    """The live release and those before it.

    Raises:
        CorruptIndexError: one of them is damaged.
    """
    there = {release_name(number) for number in list_numbers(files, layout)}
    hashes = {live[0].name: live[1]}
    marks = {live[0].name} if live[0].reason == GC_MARK else set()
    foreign = live[0].name if live[0].reason.startswith(IMPORT) else None
    name, sha256 = live[0].parent, live[0].parent_sha256
    while name is not None and sha256 is not None:
        try:
            # A copy near by may outlive the release, so the list decides what is there.
            data = files.read_known(layout.release(name), sha256) if name in there else None
        except FileNotFoundError:
            data = None  # gc was here between the two
        if data is None:
            break
        subject = str(layout.release(name))
        check_bytes(data, sha256, subject)
        link = read_record(data, _Link, subject=subject)
        hashes[name] = sha256
        if link.reason == GC_MARK:
            marks.add(name)
        if foreign is None and link.reason.startswith(IMPORT):
            foreign = name
        name, sha256 = link.parent, link.parent_sha256
    if foreign is None and name is not None:
        foreign = next(reversed(hashes))
    return Chain(hashes, name, frozenset(marks), foreign)


def pointer_bytes(pointer: Pointer) -> bytes:
    """CURRENT as it is written; every byte of it is checked when read."""
    return canonical_json(pointer.model_dump(mode="json"))


def read_release(files: FileSystem, layout: Layout, name: str, sha256: str | None) -> tuple[Release, str]:
    """A release and the hash of its file.

    Raises:
        IndexNotFoundError: no such release.
        CorruptIndexError: not the bytes that `sha256` names, or no release.
    """
    path = layout.release(name)
    if sha256 is None and not files.exists(path):
        raise IndexNotFoundError("there is no such release", subject=name, next_step="See `release list`.")
    data = read_checked(files, path, sha256)
    release = read_record(data, Release, subject=str(path))
    if release.name != name:
        raise CorruptIndexError(f"says that it is release {release.name}", subject=str(path))
    return release, sha256_hex(data)


def write_release(
    files: FileSystem,
    layout: Layout,
    parent: tuple[Release, str] | None,
    documents: dict[str, ReleaseEntry],
    reason: str,
    at_least: int = 1,
) -> tuple[Release, str]:
    """Write the next release and make it live. The caller is publishing and has checked the parent.

    Release numbers are never used twice, not even those of releases that a crash kept from becoming live. `at_least`
    asks for a higher one than the next.

    Raises:
        ConflictError: the parent is not the live release any more.
    """
    while True:
        number = max(at_least, max(list_numbers(files, layout), default=0) + 1)
        release = Release(
            format_version=FORMAT_VERSION,
            name=release_name(number),
            parent=parent[0].name if parent else None,
            parent_sha256=parent[1] if parent else None,
            created_at=now(),
            reason=reason,
            documents=dict(sorted(documents.items())),
        )
        data = canonical_json(release.model_dump(mode="json"), indent=None)
        try:
            install_release(files, layout, release.name, data, parent)
        except FileExistsError:
            at_least = number + 1  # another publisher took the number a moment ago
            continue
        return release, sha256_hex(data)


def install_release(
    files: FileSystem, layout: Layout, name: str, data: bytes, parent: tuple[Release, str] | None
) -> None:
    """Write the file of a release and make it live. The caller is publishing.

    Raises:
        FileExistsError: there is another release file of that name.
        ConflictError: the parent is not the live release any more.
    """
    for folder in (layout.folder, layout.releases):
        files.clear_unfinished(folder)
    files.make_folders(layout.releases)
    files.create_file(layout.release(name), data)
    files.replace_file(
        layout.current,
        pointer_bytes(_pointer(name, sha256_hex(data))),
        pointer_bytes(_pointer(parent[0].name, parent[1])) if parent else None,
    )
    # The release is live. What lies between it and its parent is dead, and may as well be removed by the next one.
    before = int(parent[0].name) if parent else 0
    with suppress(OSError, StoreError):
        for number in list_numbers(files, layout):
            if before < number < int(name):
                files.remove(layout.release(release_name(number)))


def join_documents(
    files: FileSystem, layout: Layout, live: tuple[Release, str] | None, changes: Mapping[str, VersionRef | None]
) -> dict[str, ReleaseEntry]:
    """The documents of the next release, once each version that it pins anew was found on the medium.

    Raises:
        ConflictError: gc is removing one of them.
        CorruptIndexError: one of them is not there as referenced.
    """
    documents = dict(live[0].documents) if live else {}
    going = read_versions(files, layout)
    for doc_key, ref in changes.items():
        if ref is None:
            documents.pop(doc_key, None)
        elif documents.get(doc_key) != ref.entry:
            if (doc_key, ref.version_id) in going:
                raise ConflictError(
                    f"gc is removing version {ref.version_id}, which no release pins",
                    subject=ref.entry.doc_id,
                    next_step="Build the document again.",
                )
            path = layout.version(doc_key, ref.version_id) / MANIFEST
            read_checked(files.uncached(), path, ref.entry.manifest_sha256)
            documents[doc_key] = ref.entry
    return documents


def make_entry(manifest: Manifest, sha256: str) -> ReleaseEntry:
    """What a release says of a version; `sha256` is that of its manifest."""
    return ReleaseEntry(
        doc_id=manifest.doc_id,
        version_id=manifest.version_id,
        manifest_sha256=sha256,
        source_sha256=manifest.source_sha256,
        settings_hash=manifest.settings_hash,
        media_type=manifest.media_type,
        pages=manifest.counts.pages,
        nodes=manifest.counts.nodes,
        description=manifest.description,
    )


def _pointer(name: str, sha256: str) -> Pointer:
    return Pointer(format_version=FORMAT_VERSION, release=name, sha256=sha256)
