"""Input paths in, source records out: ids relative to the collection root, media type by content, hashes."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.errors import SourceError, SourceLimitError
from pageindex_local.ids import make_doc_key, sha256_hex
from pageindex_local.records import MediaType, Source
from pageindex_local.settings import ParseSettings

SUFFIXES = (".pdf", ".md", ".markdown", ".txt", ".text")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that belongs to a collection, not yet read."""

    doc_id: str
    path: Path


def find_sources(inputs: Sequence[Path], *, exclude: Sequence[str] = ()) -> list[SourceFile]:
    """The files to index, sorted by `doc_id`."""
    found: dict[str, Path] = {}
    for given in inputs:
        if given.is_dir():
            for path in sorted(given.rglob("*")):
                relative = path.relative_to(given)
                if (
                    path.is_file()
                    and path.suffix.lower() in SUFFIXES
                    and not any(p.startswith(".") for p in relative.parts)
                ):
                    found[unicodedata.normalize("NFC", relative.as_posix())] = path
        else:
            found[unicodedata.normalize("NFC", given.name)] = given
    return [SourceFile(doc_id, path) for doc_id, path in sorted(found.items())]


def read_source(doc_id: str, path: Path, settings: ParseSettings) -> Source:
    """The source record: hash, size and media type by content."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SourceError(f"cannot be read ({error.strerror})", subject=doc_id) from None
    if len(data) > settings.max_size_bytes:
        raise SourceLimitError(f"has {len(data)} bytes", subject=doc_id)
    if b"%PDF-" in data[:1024]:
        media_type = MediaType.PDF
    elif path.suffix.lower() in (".md", ".markdown"):
        media_type = MediaType.MARKDOWN
    else:
        media_type = MediaType.TEXT
    return Source(doc_id, make_doc_key(doc_id), str(path), sha256_hex(data), len(data), media_type)
