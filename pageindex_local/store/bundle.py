"""A release as one file to carry to another machine, and back: nothing of it is visible before all of it is verified.

A bundle is a plain tar archive with exactly one possible form: `bundle.json` (what is in it, sizes, hashes, root hash),
then the files in that order. Import compares every byte with that form, headers and padding included, and so needs no
general tar reader: there are no links, devices, odd names or extra members it could fall for.
"""

import hashlib
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from pageindex_local.errors import ConflictError, CorruptIndexError, StoreError
from pageindex_local.ids import hash_parts, sha256_hex
from pageindex_local.store import condemned
from pageindex_local.store import releases as release_files
from pageindex_local.store.disk import LocalFiles
from pageindex_local.store.index import IndexStore
from pageindex_local.store.layout import MANIFEST, OPTIONAL_FILES, VERSION_FILES, canonical_json, temporary_name
from pageindex_local.store.reader import StoredVersion, read_record
from pageindex_local.store.records import FORMAT_VERSION, RELEASE_PATTERN, SHA256_PATTERN, Release
from pageindex_local.store.verify import deep_problems

_BLOCK = 512
_RECORD = 10_240
_PIECE = 1 << 20
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
    """Make the release in a bundle the live one. Nothing is written before all of it is verified.

    The bundle is read twice: checked where it lies, then copied, and every byte is checked again on the way.

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
    with stream:
        reader = _Reader(stream, source)
        listing = _read_listing(reader, store.settings.max_bundle_bytes)
        if expected_root_hash is not None and listing.root_hash != expected_root_hash:
            raise CorruptIndexError(f"has the root hash {listing.root_hash}, not the expected one", subject=str(source))
        members = _read_members(reader, listing)
        release_data = members.read_bytes(Path(_RELEASE))
        release, versions = _check_release(listing, release_data, members, source)
        with store.publishing():
            _install(store, release, release_data, versions)
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
        self.stream = stream
        self._source = source
        self.offset = 0

    def take(self, count: int) -> bytes:
        data = self.stream.read(count)
        if len(data) != count:
            raise self.damage(f"ends after {self.offset + len(data)} bytes")
        self.offset += count
        return data

    def expect(self, expected: bytes, what: str) -> None:
        if self.take(len(expected)) != expected:
            raise self.damage(f"has an unexpected {what} before byte {self.offset}")

    def hash(self, count: int) -> str:
        """The sha256 of the next bytes, read piece by piece."""
        digest = hashlib.sha256()
        while count:
            piece = self.take(min(count, _PIECE))
            digest.update(piece)
            count -= len(piece)
        return digest.hexdigest()

    def finish(self) -> None:
        self.expect(_end(self.offset), "ending")
        if self.stream.read(1):
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


@dataclass(slots=True)
class _Members:
    """The files in a bundle, read where they lie. What a reader asks for by hash it checks itself."""

    stream: BinaryIO
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def read_bytes(self, path: Path) -> bytes:
        """See FileReader."""
        if path not in self.places:
            raise FileNotFoundError(2, "No such file", str(path))
        offset, size_bytes = self.places[path]
        self.stream.seek(offset)
        return self.stream.read(size_bytes)

    def read_known(self, path: Path, sha256: str) -> bytes:  # noqa: ARG002 - there are no copies to look for
        """See FileReader."""
        return self.read_bytes(path)

    def exists(self, path: Path) -> bool:
        """See FileReader."""
        return path in self.places


def _read_members(reader: _Reader, listing: _Bundle) -> _Members:
    """Where each file lies, once every byte of the bundle was found to be what the listing says."""
    members = _Members(reader.stream)
    for member in listing.members:
        reader.expect(_header(member.path, member.size_bytes), "header")
        members.places[Path(member.path)] = reader.offset, member.size_bytes
        if reader.hash(member.size_bytes) != member.sha256:
            raise reader.damage(f"holds {member.path} with other bytes than listed")
        reader.expect(_padding(member.size_bytes), "padding")
    reader.finish()
    return members


def _check_release(
    listing: _Bundle, data: bytes, members: _Members, source: Path
) -> tuple[Release, dict[str, StoredVersion]]:
    """The release with its versions, once its files are exactly those in the bundle and every version is sound."""
    release = read_record(data, Release, subject=_RELEASE)
    if release.name != listing.release or sha256_hex(data) != listing.release_sha256:
        raise CorruptIndexError("is not the release that the listing names", subject=_RELEASE)
    if data != canonical_json(release.model_dump(mode="json"), indent=None):
        raise CorruptIndexError("is not in the form in which releases are written", subject=_RELEASE)
    listed = {member.path for member in listing.members} - {_RELEASE}
    versions: dict[str, StoredVersion] = {}
    for doc_key, entry in release.documents.items():
        folder = Path("documents") / doc_key / entry.version_id
        version = StoredVersion(members, folder, doc_key, entry.version_id, entry.manifest_sha256)
        needed = {f"{folder}/{name}" for name in (MANIFEST, *(file.name for file in version.manifest.files))}
        if not needed <= listed:
            raise CorruptIndexError(f"lacks files of {doc_key}", subject=str(source))
        listed -= needed
        for problem in deep_problems(version):
            raise CorruptIndexError(problem, subject=f"{doc_key} {entry.version_id}")
        # A fresh one, so that what was read for the check need not stay in memory.
        versions[doc_key] = StoredVersion(members, folder, doc_key, entry.version_id, entry.manifest_sha256)
    if listed:
        raise CorruptIndexError(
            f"holds files that its release does not pin, such as {min(listed)}", subject=str(source)
        )
    return release, versions


def _install(store: IndexStore, release: Release, data: bytes, versions: dict[str, StoredVersion]) -> None:
    """Write the versions, then publish. The caller is publishing."""
    files, layout = store.files, store.layout
    fresh: list[StoredVersion] = []
    for doc_key, version in versions.items():
        path = layout.version(doc_key, version.version_id) / MANIFEST
        if not files.exists(path):
            fresh.append(version)
        elif sha256_hex(files.read_bytes(path)) != version.manifest_sha256:
            raise _other_version(version)
    for version in fresh:
        folder = layout.versions(version.doc_key)
        files.make_folders(folder)
        names = [file.name for file in version.manifest.files]
        contents = {name: version.read_file(name) for name in names} | {MANIFEST: version.read_manifest()}
        with files.lock(
            layout.document_lock(version.doc_key), store.settings.lock_timeout_s, what=f"document {version.doc_key}"
        ):
            files.clear_unfinished(folder)
            try:
                files.create_folder(folder / version.version_id, contents)
            except FileExistsError:
                raise _other_version(version) from None
    live = store.live()
    going = condemned.read_versions(files, layout)
    if any((version.doc_key, version.version_id) in going for version in versions.values()):
        raise ConflictError(
            "gc is removing a version that the bundle holds",
            subject=str(layout.folder),
            next_step="Import into another collection.",
        )
    if live is None:
        _install_first(store, release, data)
    elif live[0].documents != release.documents:
        reason = f"import of {release.name}"
        release_files.write_release(files, layout, live, dict(release.documents), reason, at_least=int(release.name))


def _install_first(store: IndexStore, release: Release, data: bytes) -> None:
    files, layout = store.files, store.layout
    if files.has_locks:
        files.remove(layout.release(release.name))  # if a crashed publisher left one, it never became live
    try:
        release_files.install_release(files, layout, release.name, data, None)
    except FileExistsError:
        raise ConflictError(
            f"somebody has begun another release {release.name} here",
            subject=str(layout.folder),
            next_step="Import into another collection, or see whether somebody else is publishing.",
        ) from None


def _other_version(version: StoredVersion) -> ConflictError:
    return ConflictError(
        f"there is another version {version.version_id} of this document here",
        subject=version.manifest.doc_id,
        next_step="Import into an empty collection.",
    )
