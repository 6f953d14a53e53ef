"""Whether printed citations hold, by reading the stored files alone: bytes of an index in, reasons for doubt out.

Shares no code with the querying side or the store's reader: the release, the manifests and the tables are read here as
docs/format.md describes them, so that a fault over there cannot vouch for itself.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]")


@dataclass(frozen=True, slots=True)
class PrintedCitation:
    """A citation as it was printed."""

    doc_id: str
    version: str
    node_id: str
    title: str
    first_page: int
    last_page: int
    quote: str
    columns: str = ""


@dataclass(frozen=True, slots=True)
class _Document:
    version_id: str
    nodes: dict[str, tuple[str, int, int]]  # id -> title, first and last page
    pages: dict[int, str]  # number -> text


class CitationChecker:
    """Checks citations against one release of one collection.

    Args:
        folder: the collection's folder.
        release: the name of the pinned release.
        read: the bytes of a file; the only way in which the index is touched.
    """

    def __init__(self, folder: Path, release: str, read: Callable[[Path], bytes]) -> None:
        self._folder = folder
        self._read = read
        self._entries = json.loads(read(folder / "releases" / f"{release}.json"))["documents"]
        self._documents: dict[str, _Document] = {}

    def find_fault(self, citation: PrintedCitation) -> str | None:
        """Why a citation does not hold, or None where it does.

        It holds where the pinned version of the document has the section by that id and title, the pages exist and are
        the section's, and the quote stands on them letter by letter, white space and invisible characters aside.
        """
        document = self._document(citation.doc_id)
        if document is None:
            return "the release has no such document, or its files are not those it pins"
        if document.version_id != citation.version:
            return f"the release pins {document.version_id}"
        if citation.node_id not in document.nodes:
            return "no such section"
        title, first, last = document.nodes[citation.node_id]
        if title != citation.title:
            return f"the section is called {title!r}"
        cited = range(citation.first_page, citation.last_page + 1)
        if not cited or any(number not in document.pages for number in cited):
            return "no such page"
        if not first <= cited[0] <= cited[-1] <= last:
            return f"the section stands on pages {first} to {last}"
        quote, page = _letters(citation.quote), _letters("".join(document.pages[number] for number in cited))
        if not quote or quote not in page:
            return "the quote does not stand on the page"
        if _letters(citation.columns) not in page:
            return "the heads of the columns do not stand on the page"
        return None

    def _document(self, doc_id: str) -> _Document | None:
        if doc_id not in self._documents:
            found = [(key, entry) for key, entry in self._entries.items() if entry["doc_id"] == doc_id]
            loaded = self._load(*found[0]) if len(found) == 1 else None
            if loaded is None:
                return None
            self._documents[doc_id] = loaded
        return self._documents[doc_id]

    def _load(self, key: str, entry: dict[str, Any]) -> _Document | None:
        folder = self._folder / "documents" / key / "versions" / entry["version_id"]
        manifest_bytes = self._read(folder / "manifest.json")
        if hashlib.sha256(manifest_bytes).hexdigest() != entry["manifest_sha256"]:
            return None
        known = {file["name"]: file["sha256"] for file in json.loads(manifest_bytes)["files"]}
        tables = []
        for name in ("nodes.parquet", "pages.parquet"):
            data = self._read(folder / name)
            if hashlib.sha256(data).hexdigest() != known.get(name):
                return None
            # No threads: one that still reads when the program ends would abort it.
            table = pq.read_table(pa.BufferReader(data), use_threads=False, pre_buffer=False)
            tables.append(table.to_pylist())
        nodes, pages = tables
        return _Document(
            entry["version_id"],
            {row["node_id"]: (row["title"], row["first_page"], row["last_page"]) for row in nodes},
            {row["page_number"]: row["text"] for row in pages},
        )


def _letters(text: str) -> str:
    visible = _ESCAPES.sub("", text)
    return "".join(char for char in visible if not char.isspace() and unicodedata.category(char)[0] != "C")
