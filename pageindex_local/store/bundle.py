"""A release as one file to carry to another machine, and back: nothing of it is visible before all of it is verified.

A bundle is a plain tar archive with exactly one possible form: `bundle.json` (what is in it, sizes, hashes, root hash),
then the files in that order. Import compares every byte with that form, headers and padding included, and so needs no
general tar reader: there are no links, devices, odd names or extra members it could fall for.
"""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from pageindex_local.errors import ConflictError, CorruptIndexError, StoreError
from pageindex_local.ids import hash_parts, sha256_hex
from pageindex_local.store import releases as release_files
from pageindex_local.store.files import LocalFiles
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import MANIFEST, OPTIONAL_FILES, VERSION_FILES, canonical_json, temporary_name
from pageindex_local.store.reader import StoredVersion, read_record
from pageindex_local.store.records import FORMAT_VERSION, RELEASE_PATTERN, SHA256_PATTERN, Release
from pageindex_local.store.verify import deep_problems

_BLOCK = 512
_RECORD = 10_240
_LISTING = "bundle.json"
_RELEASE = "release.json"
_MEMBER = re.compile(
    r"documents/(?P<doc_key>[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{10})/(?P<version>v[0-9]{6,})/(?P<name>[a-z]+\.(?:json|parquet))"
)
_MAX_LISTING_BYTES = 1_000_000_000
_TAR_MAX_FILE_BYTES = 8 * 1024**3 - 1  # eleven octal digits


class _Member(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(max_length=100)
    size_bytes: int = Field(ge=0, le=_TAR_MAX_FILE_BYTES)
    sha256: str = Field(pattern=SHA256_PATTERN)


class _Bundle(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = Field(ge=1)
    release: str = Field(pattern=RELEASE_PATTERN)
    release_sha256: str = Field(pattern=SHA256_PATTERN)
    root_hash: str = Field(pattern=SHA256_PATTERN)
    members: tuple[_Member, ...]


@dataclass(frozen=True, slots=True)
class BundleInfo:
    """What a bundle holds. `root_hash` covers every byte of it that matters: compare it by another channel."""

    release: str
    release_sha256: str
    root_hash: str
    documents: int
    files: int
    size_bytes: int


def export_bundle(store: IndexStore, target: Path, release: Release | None = None) -> BundleInfo:
    """Write a release with all versions that it pins into one file. The same release always gives the same bytes.

    Raises:
        IndexNotFoundError: nothing was published.
        CorruptIndexError: a file of the release is damaged; nothing is written then.
        StoreError: the target cannot be written, or exists.
    """
    wanted = release or store.require_current()
    data = store.files.read_bytes(store.layout.release(wanted.name))
    with store.lease(wanted):
        versions = [store.open_document(wanted, doc_key) for doc_key in wanted.documents]
        members = [_Member(path=_RELEASE, size_bytes=len(data), sha256=sha256_hex(data))]
        for version in versions:
            folder = f"documents/{version.doc_key}/{version.version_id}"
            size = len(store.files.read_bytes(store.layout.version(version.doc_key, version.version_id) / MANIFEST))
            members.append(_Member(path=f"{folder}/{MANIFEST}", size_bytes=size, sha256=version.manifest_sha256))
            members.extend(
                _Member(path=f"{folder}/{entry.name}", size_bytes=entry.size_bytes, sha256=entry.sha256)
                for entry in version.manifest.files
            )
        listing = _Bundle(
            format_version=FORMAT_VERSION,
            release=wanted.name,
            release_sha256=sha256_hex(data),
            root_hash=_root_hash(members),
            members=tuple(members),
        )
        try:
            _write_bundle(store, target, listing, data)
        except OSError as error:
            raise StoreError(
                f"cannot be written ({error.strerror or error})",
                subject=str(target),
                next_step="Choose a file that does not exist yet, in a folder with enough space.",
            ) from error
    return _info(listing)


def import_bundle(store: IndexStore, source: Path, *, expected_root_hash: str | None = None) -> BundleInfo:
    """Make the release in a bundle the live one. Nothing is visible before all is verified; on failure nothing stays.

    Into an empty collection the release comes with its own name and bytes. Elsewhere a new release with the same
    documents follows the live one; it bears the bundle's number where that is not taken yet.

    Raises:
        CorruptIndexError: not a bundle, cut, altered, or not with the expected root hash.
        ConflictError: the collection holds another version of the same name, or somebody is publishing.
        StoreError: larger than `settings.max_bundle_bytes`, or the disk refused.
    """
    try:
        stream = source.open("rb")
    except OSError as error:
        raise StoreError(f"cannot be read ({error.strerror})", subject=str(source)) from None
    with stream, store.publishing():
        release_files.remove_unfinished(store.files, store.layout)
        staging = store.layout.folder / temporary_name()
        try:
            reader = _Reader(stream, source)
            listing = _read_listing(reader, store.settings.max_bundle_bytes)
            if expected_root_hash is not None and listing.root_hash != expected_root_hash:
                raise CorruptIndexError(
                    f"has the root hash {listing.root_hash}, not the expected one", subject=str(source)
                )
            store.files.make_folder(staging)
            release_data = _stage(store, reader, listing, staging)
            release = _check_release(listing, release_data, staging, store, source)
            _install(store, release, release_data, staging)
        finally:
            store.files.remove(staging)
    return _info(listing)


def _info(listing: _Bundle) -> BundleInfo:
    return BundleInfo(
        release=listing.release,
        release_sha256=listing.release_sha256,
        root_hash=listing.root_hash,
        documents=sum(member.path.endswith(f"/{MANIFEST}") for member in listing.members),
        files=len(listing.members),
        size_bytes=sum(member.size_bytes for member in listing.members),
    )


def _root_hash(members: list[_Member] | tuple[_Member, ...]) -> str:
    return hash_parts(part for member in members for part in (member.path, str(member.size_bytes), member.sha256))


# Writing


def _write_bundle(store: IndexStore, target: Path, listing: _Bundle, release_data: bytes) -> None:
    temporary = target.with_name(target.name + temporary_name())
    if target.exists():
        raise FileExistsError(17, "File exists", str(target))
    try:
        with temporary.open("xb") as stream:
            for block in _blocks(listing, lambda path: _member_data(store, path, release_data)):
                stream.write(block)
        files = LocalFiles()
        files.sync_file(temporary)
        files.rename(temporary, target)
        files.sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _member_data(store: IndexStore, path: str, release_data: bytes) -> bytes:
    if path == _RELEASE:
        return release_data
    parts = path.split("/")
    return store.files.read_bytes(store.layout.version(parts[1], parts[2]) / parts[3])


def _blocks(listing: _Bundle, read: Callable[[str], bytes]) -> Iterator[bytes]:
    head = canonical_json(listing.model_dump(mode="json"), indent=None)
    yield _header(_LISTING, len(head)) + head + _padding(len(head))
    written = _padded(len(head))
    for member in listing.members:
        data = read(member.path)
        if len(data) != member.size_bytes or sha256_hex(data) != member.sha256:
            raise CorruptIndexError("is not what its manifest says", subject=member.path, next_step="Run `verify`.")
        yield _header(member.path, len(data)) + data + _padding(len(data))
        written += _padded(len(data))
    yield _end(written)


def _header(path: str, size_bytes: int) -> bytes:
    info = tarfile.TarInfo(path)
    info.size = size_bytes
    info.mode = 0o644
    return info.tobuf(tarfile.USTAR_FORMAT)


def _padding(size_bytes: int) -> bytes:
    return bytes(-size_bytes % _BLOCK)


def _padded(size_bytes: int) -> int:
    return _BLOCK + size_bytes + -size_bytes % _BLOCK


def _end(written: int) -> bytes:
    return bytes(2 * _BLOCK + -(written + 2 * _BLOCK) % _RECORD)


# Reading


class _Reader:
    """A bundle's bytes, each compared with what must stand there."""

    def __init__(self, stream: BinaryIO, source: Path) -> None:
        self._stream = stream
        self._source = source
        self.offset = 0

    def take(self, count: int) -> bytes:
        data = self._stream.read(count)
        if len(data) != count:
            raise self.damage(f"ends after {self.offset + len(data)} bytes")
        self.offset += count
        return data

    def expect(self, expected: bytes, what: str) -> None:
        if self.take(len(expected)) != expected:
            raise self.damage(f"has an unexpected {what} before byte {self.offset}")

    def finish(self) -> None:
        self.expect(_end(self.offset), "ending")
        if self._stream.read(1):
            raise self.damage(f"goes on after its end at byte {self.offset}")

    def damage(self, problem: str) -> CorruptIndexError:
        return CorruptIndexError(
            problem, subject=str(self._source), next_step="Nothing was imported. Copy the bundle again."
        )


def _read_listing(reader: _Reader, max_bytes: int) -> _Bundle:
    header = reader.take(_BLOCK)
    try:
        size = tarfile.TarInfo.frombuf(header, "ascii", "strict").size
    except (tarfile.HeaderError, UnicodeDecodeError):
        raise reader.damage("is no bundle") from None
    if not 0 <= size <= min(_MAX_LISTING_BYTES, max_bytes) or header != _header(_LISTING, size):
        raise reader.damage("is no bundle")
    data = reader.take(size)
    reader.expect(_padding(size), "padding")
    listing = read_record(data, _Bundle, subject=_LISTING)
    if data != canonical_json(listing.model_dump(mode="json"), indent=None):
        raise reader.damage("has a listing in an unexpected form")
    if listing.root_hash != _root_hash(listing.members):
        raise reader.damage("has a listing that its root hash does not cover")
    paths = [member.path for member in listing.members]
    if len(set(paths)) != len(paths) or paths[:1] != [_RELEASE]:
        raise reader.damage("lists a file twice, or no release first")
    for path in paths[1:]:
        found = _MEMBER.fullmatch(path)
        if found is None or found["name"] not in (MANIFEST, *VERSION_FILES, *OPTIONAL_FILES):
            raise reader.damage(f"lists a file that is no part of an index: {path!r}")
    total = sum(member.size_bytes for member in listing.members)
    if total > max_bytes:
        raise StoreError(
            f"holds {total} bytes, more than store.max_bundle_bytes = {max_bytes}",
            subject=listing.release,
            next_step="Raise the setting if the bundle is yours.",
        )
    return listing


def _stage(store: IndexStore, reader: _Reader, listing: _Bundle, staging: Path) -> bytes:
    """Unpack into the staging folder: `<doc_key>/<version>/<file>`. Returns the release file's bytes."""
    release_data = b""
    folders: set[Path] = set()
    for member in listing.members:
        reader.expect(_header(member.path, member.size_bytes), "header")
        data = reader.take(member.size_bytes)
        if hashlib.sha256(data).hexdigest() != member.sha256:
            raise reader.damage(f"holds {member.path} with other bytes than listed")
        reader.expect(_padding(member.size_bytes), "padding")
        if member.path == _RELEASE:
            release_data = data
            continue
        _, doc_key, version_id, name = member.path.split("/")
        for folder in (staging / doc_key, staging / doc_key / version_id):
            if folder not in folders:
                store.files.make_folder(folder)
                folders.add(folder)
        path = staging / doc_key / version_id / name
        store.files.write_new(path, data)
        store.files.sync_file(path)
    reader.finish()
    for folder in sorted(folders, reverse=True):
        store.files.sync_folder(folder)
    return release_data


def _check_release(listing: _Bundle, data: bytes, staging: Path, store: IndexStore, source: Path) -> Release:
    """The release, once its files are exactly those in the bundle and every version is sound."""
    release = read_record(data, Release, subject=_RELEASE)
    if release.name != listing.release or sha256_hex(data) != listing.release_sha256:
        raise CorruptIndexError("is not the release that the listing names", subject=_RELEASE)
    if data != canonical_json(release.model_dump(mode="json"), indent=None):
        raise CorruptIndexError("is not in the form in which releases are written", subject=_RELEASE)
    listed = {member.path for member in listing.members} - {_RELEASE}
    for doc_key, entry in release.documents.items():
        folder = f"documents/{doc_key}/{entry.version_id}"
        version = StoredVersion(
            store.files, staging / doc_key / entry.version_id, doc_key, entry.version_id, entry.manifest_sha256
        )
        needed = {f"{folder}/{MANIFEST}"} | {f"{folder}/{file.name}" for file in version.manifest.files}
        if not needed <= listed:
            raise CorruptIndexError(f"lacks files of {doc_key}", subject=str(source))
        listed -= needed
        for problem in deep_problems(version):
            raise CorruptIndexError(problem, subject=f"{doc_key} {entry.version_id}")
    if listed:
        raise CorruptIndexError(
            f"holds files that its release does not pin, such as {min(listed)}", subject=str(source)
        )
    return release


def _install(store: IndexStore, release: Release, data: bytes, staging: Path) -> None:
    """Move the versions to their places, then publish. The caller holds the publish lock."""
    files, layout = store.files, store.layout
    fresh: list[tuple[str, str]] = []
    for doc_key, entry in release.documents.items():
        target = layout.version(doc_key, entry.version_id)
        if not files.exists(target):
            fresh.append((doc_key, entry.version_id))
        elif sha256_hex(files.read_bytes(target / MANIFEST)) != entry.manifest_sha256:
            raise ConflictError(
                f"there is another version {entry.version_id} of this document here",
                subject=entry.doc_id,
                next_step="Import into an empty collection.",
            )
    for doc_key, version_id in fresh:
        store.make_folders(layout.versions(doc_key))
        with files.lock(layout.document_lock(doc_key), store.settings.lock_timeout_s, what=f"document {doc_key}"):
            files.rename(staging / doc_key / version_id, layout.version(doc_key, version_id))
            files.sync_folder(layout.versions(doc_key))
    live = store.live()
    if live is None:
        release_files.install_release(files, layout, release.name, data, live_number=0)
    elif live[0].documents != release.documents:
        reason = f"import of {release.name}"
        release_files.write_release(files, layout, live, dict(release.documents), reason, at_least=int(release.name))
