"""Input paths in, source records out: ids relative to the collection's root, media type by content, hashes.

A `doc_id` is data for people and records; it never becomes part of a path.
"""

import fnmatch
import hashlib
import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.errors import EmptySourceError, SourceError, SourceLimitError, UnsupportedSourceError
from pageindex_local.ids import make_doc_key
from pageindex_local.parsing.decode import find_wide_encoding
from pageindex_local.records import MediaType, Source
from pageindex_local.settings import ParseSettings

SUFFIXES = frozenset({".pdf", ".md", ".markdown", ".txt", ".text"})
_MARKDOWN_SUFFIXES = frozenset({".md", ".markdown"})
_PDF_MARK = b"%PDF-"
_PDF_MARK_WITHIN = 1024  # readers accept junk before the mark up to here (ISO 32000-1, annex H)
_SNIFF_BYTES = 8192
_READ_BYTES = 1 << 20
_UTF_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
_KNOWN_BINARY = (
    (b"PK\x03\x04", "a zip archive or an office document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\xd0\xcf\x11\xe0", "an old office document"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "RTF"),
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that belongs to a collection, not yet read."""

    doc_id: str
    path: Path


def find_sources(inputs: Sequence[Path], *, exclude: Sequence[str] = ()) -> list[SourceFile]:
    """The files to index, sorted by `doc_id`.

    A folder is a collection's root: its files of the known suffixes are taken at any depth, with their path below it as
    `doc_id` (POSIX, NFC). Hidden files and folders, and links that leave the root, are left out. A file given by itself
    is taken whatever its suffix, under its name. `exclude` are shell patterns over `doc_id`.

    Raises:
        SourceError: an input does not exist, is no file or folder, or two files would get the same `doc_id`.
    """
    found: dict[str, Path] = {}
    for given in inputs:
        if given.is_dir():
            entries = _walk(given)
        elif given.is_file():
            entries = iter([(given.name, given)])
        else:
            problem = "is neither a file nor a folder." if given.exists() else "does not exist."
            raise SourceError(problem, subject=str(given), next_step="Check the path.")
        for name, path in entries:
            doc_id = unicodedata.normalize("NFC", name)
            if any(fnmatch.fnmatchcase(doc_id, pattern) for pattern in exclude):
                continue
            other = found.get(doc_id)
            if other is not None and other.resolve() != path.resolve():
                raise SourceError(
                    f"two files would be the same document: {other} and {path}.",
                    subject=doc_id,
                    next_step="Index them from a common folder, or rename one.",
                )
            found[doc_id] = path
    return [SourceFile(doc_id, found[doc_id]) for doc_id in sorted(found)]


def _walk(root: Path) -> Iterator[tuple[str, Path]]:
    """Relative POSIX names and paths of the files below a root."""
    real_root = root.resolve()
    for folder, folders, files in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        here = Path(folder)
        above = here.relative_to(root).as_posix()
        prefix = "" if above == "." else f"{above}/"
        for name in sorted(files):
            path = here / name
            if name.startswith(".") or path.suffix.lower() not in SUFFIXES:
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(real_root):
                continue
            if path.is_file():
                yield prefix + name, path


def read_source(doc_id: str, path: Path, settings: ParseSettings) -> Source:
    """The source's record. Reads the whole file once, in pieces.

    Raises:
        SourceError: cannot be read.
        EmptySourceError: no bytes.
        SourceLimitError: more bytes than `max_size_bytes`.
        UnsupportedSourceError: neither PDF nor text.
    """
    if any("\ud800" <= character <= "\udfff" for character in doc_id):
        raise SourceError("has a name that is not UTF-8.", subject=doc_id, next_step="Rename the file.")
    digest = hashlib.sha256()
    size = 0
    start = b""
    try:
        with path.open("rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise SourceError("is not a regular file.", subject=doc_id)
            while piece := stream.read(_READ_BYTES):
                start = start or piece[:_SNIFF_BYTES]
                digest.update(piece)
                size += len(piece)
                if size > settings.max_size_bytes:
                    raise SourceLimitError(
                        f"is larger than parse.max_size_bytes = {settings.max_size_bytes:,}.",
                        subject=doc_id,
                        next_step="Raise the limit, or split the file.",
                    )
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror}).", subject=doc_id, next_step="Check the path and its permissions."
        ) from None
    if size == 0:
        raise EmptySourceError(
            "has no bytes.", subject=doc_id, next_step="Copy the file again from where it came from."
        )
    media_type = _media_type(doc_id, path, start)
    return Source(doc_id, make_doc_key(doc_id), str(path), digest.hexdigest(), size, media_type)


def _media_type(doc_id: str, path: Path, start: bytes) -> MediaType:
    """What the content is. The suffix only decides between Markdown and text, which look alike."""
    suffix = path.suffix.lower()
    if _PDF_MARK in start[:_PDF_MARK_WITHIN]:
        return MediaType.PDF
    for mark, name in _KNOWN_BINARY:
        if start.startswith(mark):
            raise _unsupported(doc_id, f"is {name}")
    if suffix == ".pdf":
        raise _unsupported(doc_id, "is named .pdf but holds no PDF")
    if b"\0" in start and not start.startswith(_UTF_MARKS) and not find_wide_encoding(start):
        raise _unsupported(doc_id, "holds binary data")
    return MediaType.MARKDOWN if suffix in _MARKDOWN_SUFFIXES else MediaType.TEXT


def _unsupported(doc_id: str, what: str) -> UnsupportedSourceError:
    return UnsupportedSourceError(
        f"{what}; PDF, Markdown and text can be indexed.",
        subject=doc_id,
        next_step="Convert it first, or leave it out.",
    )
