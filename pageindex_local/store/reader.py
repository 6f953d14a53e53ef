"""One stored version, read and checked: bytes become records only after their hash was found right. Writes nothing."""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from pageindex_local.errors import CorruptIndexError, FormatVersionError, IndexNotFoundError
from pageindex_local.ids import sha256_hex
from pageindex_local.records import Graft, Node, SectionTree, Span
from pageindex_local.store import layout
from pageindex_local.store.files import FileReader
from pageindex_local.store.records import FORMAT_VERSION, Changes, Grafts, Manifest, StoredPage

if TYPE_CHECKING:
    from pageindex_local.store.lazy_rows import PageRows

_Record = TypeVar("_Record", bound=BaseModel)


def read_record(data: bytes, kind: type[_Record], *, subject: str) -> _Record:
    """A pydantic record from its JSON.

    Raises:
        FormatVersionError: written by a newer format.
        CorruptIndexError: not such a record.
    """
    try:
        record = kind.model_validate_json(data)
    except ValidationError as error:
        found = _format_version(data)
        if found is None or found <= FORMAT_VERSION:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise CorruptIndexError(
                f"is no {kind.__name__.lower()} ({where}: {first['msg']})",
                subject=subject,
                next_step="Run `pageindex-local verify`, and restore the file from a copy or a bundle.",
            ) from None
    else:
        found = getattr(record, "format_version", FORMAT_VERSION)
        if found <= FORMAT_VERSION:
            return record
    raise FormatVersionError(
        f"has format {found}; this program knows formats up to {FORMAT_VERSION}",
        subject=subject,
        next_step="Use a newer pageindex-local.",
    )


class _FormatProbe(BaseModel):
    format_version: int


def _format_version(data: bytes) -> int | None:
    try:
        return _FormatProbe.model_validate_json(data).format_version
    except ValidationError:
        return None


def read_checked(files: FileReader, path: Path, sha256: str | None, size_bytes: int | None = None) -> bytes:
    """A file whose hash is known.

    Raises:
        CorruptIndexError: missing, or not the bytes that the hash names.
    """
    try:
        data = files.read_bytes(path) if sha256 is None else files.read_known(path, sha256)
    except FileNotFoundError:
        raise CorruptIndexError(
            "is missing", subject=str(path), next_step="Restore it from a copy, or build the document again."
        ) from None
    if sha256 is not None:
        check_bytes(data, sha256, str(path), size_bytes)
    return data


def check_bytes(data: bytes, sha256: str, subject: str, size_bytes: int | None = None) -> None:
    """Compare a file with its hash.

    Raises:
        CorruptIndexError: not the bytes that the hash names.
    """
    if sha256_hex(data) != sha256 or (size_bytes is not None and len(data) != size_bytes):
        raise CorruptIndexError(
            f"has {len(data)} bytes that are not the ones that were written (sha256 differs)",
            subject=subject,
            next_step="Restore it from a copy, or build the document again.",
        )


class StoredVersion:
    """One version of one document. Files are read when first asked for, checked against the manifest, and kept.

    Open one with `IndexStore.open_version`. Not for several threads at once.
    """

    def __init__(
        self, files: FileReader, folder: Path, doc_key: str, version_id: str, manifest_sha256: str | None
    ) -> None:
        self._files = files
        self._folder = folder
        path = folder / layout.MANIFEST
        if manifest_sha256 is None and not files.exists(path):
            raise IndexNotFoundError(
                "there is no such version", subject=f"{doc_key} {version_id}", next_step="See `history`."
            )
        data = read_checked(files, path, manifest_sha256)
        self.manifest_sha256 = sha256_hex(data)
        self.manifest = read_record(data, Manifest, subject=str(path))
        if (self.manifest.doc_key, self.manifest.version_id) != (doc_key, version_id):
            raise CorruptIndexError(
                f"is the manifest of {self.manifest.doc_key} {self.manifest.version_id}", subject=str(path)
            )

    @property
    def doc_key(self) -> str:
        """The document's folder name."""
        return self.manifest.doc_key

    @property
    def version_id(self) -> str:
        """Such as `v000007`."""
        return self.manifest.version_id

    def read_manifest(self) -> bytes:
        """The bytes of the manifest.

        Raises:
            CorruptIndexError: missing or altered meanwhile.
        """
        return read_checked(self._files, self._folder / layout.MANIFEST, self.manifest_sha256)

    def read_file(self, name: str) -> bytes:
        """The bytes of one of the version's files, checked against the manifest.

        Raises:
            CorruptIndexError: missing, altered, or not in the manifest.
        """
        path = self._folder / name
        for entry in self.manifest.files:
            if entry.name == name:
                return read_checked(self._files, path, entry.sha256, entry.size_bytes)
        raise CorruptIndexError("is not in the manifest", subject=str(path))

    def tree(self) -> SectionTree:
        """The section tree, exactly as it was written; only nodes that are looked at become records."""
        return self._tree

    def pages(self) -> Sequence[StoredPage]:
        """Every page in order; only those that are looked at become records."""
        return self._pages

    def changes(self) -> Changes:
        """How this version differs from its parent, and the ids that ended."""
        return self._changes

    def grafts(self) -> tuple[Graft, ...]:
        """What in this version was put in by hand, in the order of the document; mostly nothing."""
        if all(entry.name != layout.GRAFTS for entry in self.manifest.files):
            return ()
        stored = read_record(self.read_file(layout.GRAFTS), Grafts, subject=str(self._folder / layout.GRAFTS))
        return tuple(Graft(**graft.model_dump()) for graft in stored.grafts)

    def span_text(self, span: Span, *, running: bool = False) -> str:
        """The lines of a span joined by newlines, without running heads and page numbers unless `running`."""
        return "\n".join(text for _, text in self._lines(span, running=running))

    def own_text(self, node: Node) -> str:
        """As `tree.text.own_text` for the document itself: a leaf's lines without headings and running lines."""
        if node.children:
            return ""
        tree = self.tree()
        headings = [tree.nodes[node_id].heading for node_id in tree.path(node.node_id)]
        return "\n".join(
            text
            for number, text in self._lines(node.span, running=False)
            if not any(start <= number < end for start, end in headings)
        )

    def _lines(self, span: Span, *, running: bool) -> list[tuple[int, str]]:
        start, end = span
        lines: list[tuple[int, str]] = []
        pages = self._pages
        index = max(bisect_right(pages.first_lines, start) - 1, 0)
        while index < len(pages) and pages.first_lines[index] < end:
            page = pages[index]
            skipped = () if running else page.running_lines
            first = max(start - page.first_line, 0)
            texts = self._page_lines(index)[first : end - page.first_line]
            lines.extend(
                (number, text) for number, text in enumerate(texts, page.first_line + first) if number not in skipped
            )
            index += 1
        return lines

    def _page_lines(self, index: int) -> list[str]:
        lines = self._split.get(index)
        if lines is None:
            lines = self._split[index] = self._pages[index].line_texts()
        return lines

    @cached_property
    def _split(self) -> dict[int, list[str]]:
        return {}

    @cached_property
    def _tree(self) -> SectionTree:
        from pageindex_local.store.columns import read_nodes  # noqa: PLC0415 - pyarrow costs 0.1 s and is not always needed

        return read_nodes(
            self.read_file(layout.NODES),
            subject=str(self._folder / layout.NODES),
            description=self.manifest.description,
            description_source=self.manifest.description_source,
        )

    @cached_property
    def _pages(self) -> "PageRows":
        from pageindex_local.store.columns import read_pages  # noqa: PLC0415 - as above

        return read_pages(self.read_file(layout.PAGES), subject=str(self._folder / layout.PAGES))

    @cached_property
    def _changes(self) -> Changes:
        return read_record(self.read_file(layout.CHANGES), Changes, subject=str(self._folder / layout.CHANGES))
