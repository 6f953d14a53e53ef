"""The one possible form of a bundle: what stands where, and a reader that compares every byte with it.

A plain tar archive: `bundle.json` (what is in it, sizes, hashes, root hash), then the files in that order. No general
tar reader is needed: there are no links, devices, odd names or extra members it could fall for.
"""

import hashlib
import re
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field

from pageindex_local.errors import CorruptIndexError, StoreError
from pageindex_local.ids import hash_parts
from pageindex_local.store.layout import MANIFEST, OPTIONAL_FILES, VERSION_FILES, canonical_json
from pageindex_local.store.reader import read_record
from pageindex_local.store.records import RELEASE_PATTERN, SHA256_PATTERN

_BLOCK = 512
_RECORD = 10_240
_PIECE = 1 << 20
LISTING = "bundle.json"
RELEASE = "release.json"
_MEMBER = re.compile(
    r"documents/(?P<doc_key>[a-z0-9]+(?:-[a-z0-9]+)*-[0-9a-f]{10})/(?P<version>v[0-9]{6,})/(?P<name>[a-z]+\.(?:json|parquet))"
)
_MAX_LISTING_BYTES = 1_000_000_000
_TAR_MAX_FILE_BYTES = 8 * 1024**3 - 1  # eleven octal digits


class Member(BaseModel):
    """One file in a bundle."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(max_length=100)
    size_bytes: int = Field(ge=0, le=_TAR_MAX_FILE_BYTES)
    sha256: str = Field(pattern=SHA256_PATTERN)


class Listing(BaseModel):
    """The first file of a bundle: what is in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format_version: int = Field(ge=1)
    release: str = Field(pattern=RELEASE_PATTERN)
    release_sha256: str = Field(pattern=SHA256_PATTERN)
    root_hash: str = Field(pattern=SHA256_PATTERN)
    members: tuple[Member, ...]


def root_hash(members: list[Member] | tuple[Member, ...]) -> str:
    """What vouches for every file: a hash over paths, sizes and hashes."""
    return hash_parts(part for member in members for part in (member.path, str(member.size_bytes), member.sha256))


def header(path: str, size_bytes: int) -> bytes:
    """The block before a file."""
    info = tarfile.TarInfo(path)
    info.size = size_bytes
    info.mode = 0o644
    return info.tobuf(tarfile.USTAR_FORMAT)


def padding(size_bytes: int) -> bytes:
    """The zeros after a file."""
    return bytes(-size_bytes % _BLOCK)


def padded_bytes(size_bytes: int) -> int:
    """How much of a bundle a file takes, its header included."""
    return _BLOCK + size_bytes + -size_bytes % _BLOCK


def ending(written: int) -> bytes:
    """The zeros at the end of a bundle of so many bytes."""
    return bytes(2 * _BLOCK + -(written + 2 * _BLOCK) % _RECORD)


class BundleReader:
    """A bundle's bytes, each compared with what must stand there."""

    def __init__(self, stream: BinaryIO, source: Path) -> None:
        self.stream = stream
        self._source = source
        self.offset = 0

    def take(self, count: int) -> bytes:
        """The next bytes. Raises CorruptIndexError where there are fewer."""
        data = self.stream.read(count)
        if len(data) != count:
            raise self.damage(f"ends after {self.offset + len(data)} bytes")
        self.offset += count
        return data

    def expect(self, expected: bytes, what: str) -> None:
        """Compare the next bytes. Raises CorruptIndexError, naming `what`."""
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
        """Compare the end. Raises CorruptIndexError where it is another, or more follows."""
        self.expect(ending(self.offset), "ending")
        if self.stream.read(1):
            raise self.damage(f"goes on after its end at byte {self.offset}")

    def damage(self, problem: str) -> CorruptIndexError:
        """The error to raise."""
        return CorruptIndexError(
            problem, subject=str(self._source), next_step="Nothing was imported. Copy the bundle again."
        )


def read_listing(reader: BundleReader, max_bytes: int) -> Listing:
    """The listing, once it is in the form in which listings are written.

    Raises:
        CorruptIndexError: no bundle, or altered.
        StoreError: it lists more than `max_bytes`.
    """
    first = reader.take(_BLOCK)
    try:
        size = tarfile.TarInfo.frombuf(first, "ascii", "strict").size
    except (tarfile.HeaderError, UnicodeDecodeError):
        raise reader.damage("is no bundle") from None
    if not 0 <= size <= min(_MAX_LISTING_BYTES, max_bytes) or first != header(LISTING, size):
        raise reader.damage("is no bundle")
    data = reader.take(size)
    reader.expect(padding(size), "padding")
    listing = read_record(data, Listing, subject=LISTING)
    if data != canonical_json(listing.model_dump(mode="json"), indent=None):
        raise reader.damage("has a listing in an unexpected form")
    if listing.root_hash != root_hash(listing.members):
        raise reader.damage("has a listing that its root hash does not cover")
    paths = [member.path for member in listing.members]
    if len(set(paths)) != len(paths) or paths[:1] != [RELEASE]:
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
class Members:
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


def read_members(reader: BundleReader, listing: Listing) -> Members:
    """Where each file lies, once every byte of the bundle was found to be what the listing says."""
    members = Members(reader.stream)
    for member in listing.members:
        reader.expect(header(member.path, member.size_bytes), "header")
        members.places[Path(member.path)] = reader.offset, member.size_bytes
        if reader.hash(member.size_bytes) != member.sha256:
            raise reader.damage(f"holds {member.path} with other bytes than listed")
        reader.expect(padding(member.size_bytes), "padding")
    reader.finish()
    return members
