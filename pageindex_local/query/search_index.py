"""What an open search file holds of a release: words and rows in, hits with their weights out.

Two FTS5 tables, one row a page and one a passage (see `search_rows`). Read only; builds and finds no file.
"""

import math
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pageindex_local.query.spelling import find_near_word, find_other_spelling, holds_word
from pageindex_local.query.words import quote_word

_LAST_ROW = 1 << 62
LARGEST_FREQUENCY = 2.2  # FTS5's k1 is 1.2, and one more the largest that the frequency part of a term can be
_ONE_BY_ONE = 4  # reading a row by its number costs about so many of those read in a row


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """One document of a search file. Rows are inclusive ranges; `opening` is prepared text of its first pages.

    `metadata` is what the file says of itself (see `store.records.STORED_METADATA`).
    """

    doc_key: str
    doc_id: str
    version_id: str
    page_rows: tuple[int, int]
    passage_rows: tuple[int, int]
    opening: str
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def page_count(self) -> int:
        """How many pages the document has."""
        return self.page_rows[1] - self.page_rows[0] + 1


@dataclass(frozen=True, slots=True)
class PageRow:
    """What ranking knows of a page beside its words.

    `figures` is the share of words with a digit, `mentions` on how many other pages a title of this page is named,
    `content_hash` is equal for pages with the same text.
    """

    page_number: int
    figures: float
    mentions: int
    content_hash: str


@dataclass(frozen=True, slots=True)
class TermHits:
    """Where one word or phrase occurs in a document: row -> frequency part of BM25 (0 to 2.2), and its weight idf."""

    idf: float
    rows: dict[int, float]


class SearchIndex:
    """An open search file. Read only; every answer comes from parameterised queries over quoted words."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        metadata = _read_metadata(connection)
        rows = connection.execute(
            "SELECT doc_key, doc_id, version_id, first_page_row, last_page_row, first_passage_row, last_passage_row, "
            "opening FROM document ORDER BY doc_key"
        )
        self.documents = {
            row[0]: IndexedDocument(
                row[0], row[1], row[2], (row[3], row[4]), (row[5], row[6]), row[7], metadata.get(row[0], {})
            )
            for row in rows
        }
        self._totals: dict[str, int] = {}
        self._counts: dict[tuple[str, str, tuple[int, int]], int] = {}
        self._bases: dict[tuple[str, str, tuple[int, int], tuple[float, ...]], dict[int, float]] = {}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def pages(self, document: IndexedDocument, rows: Collection[int] | None = None) -> dict[int, PageRow]:
        """The document's pages by row; only those of `rows`, where they are given."""
        found = self._look_up(
            "page_row, page_number, figures, mentions, content_hash", "page", document.page_rows, rows
        )
        return {row[0]: PageRow(*row[1:]) for row in found}

    def passages(
        self, document: IndexedDocument, rows: Collection[int] | None = None
    ) -> dict[int, tuple[str, int, int]]:
        """The document's passages by row, as `pages`: node id of the leaf, first and last page."""
        found = self._look_up("passage_row, node_id, first_page, last_page", "passage", document.passage_rows, rows)
        return {row[0]: row[1:] for row in found}

    def passage_texts(self, document: IndexedDocument) -> Iterator[tuple[int, str]]:
        """The document's passages by row: prepared titles and text."""
        yield from self._connection.execute(
            "SELECT rowid, titles || ' ' || body FROM passage_text WHERE rowid BETWEEN ? AND ? ORDER BY rowid",
            document.passage_rows,
        )

    def page_hits(
        self, text: str, rows: tuple[int, int], weights: Sequence[float], *, titles_only: bool = False
    ) -> TermHits:
        """Where a word or phrase occurs among the pages of one document, with its idf among these pages.

        `weights` are those of a hit in a title, in the head of the page, in its text.
        """
        return self._hits("page_text", text, rows, weights, titles_only=titles_only)

    def passage_hits(
        self,
        text: str,
        rows: tuple[int, int],
        weights: Sequence[float],
        *,
        titles_only: bool = False,
        among: Sequence[tuple[str, bool]] = (),
    ) -> TermHits:
        """As `page_hits` for passages; `weights` are those of a hit in a title and in the text.

        `among`: only passages that hold one of these words or phrases, each with its `titles_only`. Those without it
        are skipped unread, so that a word which stands nearly everywhere costs no more than the others.
        """
        others = " OR ".join(_match(*other) for other in among)
        return self._hits("passage_text", text, rows, weights, titles_only=titles_only, others=others)

    def count_pages(self, text: str, rows: tuple[int, int], *, column: str = "body") -> int:
        """On how many pages of a document a word or phrase occurs in one column."""
        return self._count("page_text", f"{{{column}}} : {quote_word(text)}", rows)

    def count_passages(self, text: str, rows: tuple[int, int] = (0, _LAST_ROW), *, titles_only: bool = False) -> int:
        """In how many passages a word or phrase occurs, of one document or of all."""
        return self._count("passage_text", _match(text, titles_only), rows)

    def has_word(self, word: str) -> bool:
        """Whether a word occurs anywhere in the release."""
        return holds_word(self._connection, word)

    def other_spelling(self, word: str) -> str | None:
        """How the release spells a word that occurs nowhere (see `spelling`)."""
        return find_other_spelling(self._connection, word)

    def near_word(self, word: str) -> str | None:
        """What a word that occurs nowhere may have been meant to be (see `spelling`)."""
        return find_near_word(self._connection, word)

    def best_passages(self, wanted: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """The best passages of the whole release for any of the words and phrases: row and BM25 (higher is better)."""
        if not wanted:
            return []
        query = " OR ".join(quote_word(text) for text in self._telling(wanted, limit))
        rows = self._connection.execute(
            "SELECT rowid, -bm25(passage_text, 1.0, 1.0) AS score FROM passage_text WHERE passage_text MATCH ? "
            "ORDER BY score DESC, rowid LIMIT ?",
            (query, limit),
        )
        return [(row[0], row[1]) for row in rows]

    def has_any(self, wanted: Sequence[str]) -> bool:
        """Whether any of the words and phrases occurs in a passage."""
        query = " OR ".join(quote_word(text) for text in wanted)
        sql = "SELECT rowid FROM passage_text WHERE passage_text MATCH ? LIMIT 1"
        return bool(wanted) and self._connection.execute(sql, (query,)).fetchone() is not None

    def _telling(self, wanted: Sequence[str], limit: int) -> Sequence[str]:
        """Without the words of more than half of all passages, if enough passages hold another.

        FTS5 gives such a word a millionth of what a word of few passages counts: it cannot put one before the others.
        """
        counts = {text: self.count_passages(text) for text in wanted}
        telling = [text for text, count in counts.items() if 2 * count <= self._total("passage_text")]
        return telling if max((counts[text] for text in telling), default=0) >= limit else wanted

    def _hits(
        self,
        table: str,
        text: str,
        rows: tuple[int, int],
        weights: Sequence[float],
        *,
        titles_only: bool,
        others: str = "",
    ) -> TermHits:
        query = _match(text, titles_only)
        if others:
            # BM25 of several phrases is their sum: what the others add is taken off again.
            key = table, others, rows, tuple(weights)
            if key not in self._bases:
                self._bases[key] = self._score(table, others, rows, weights)
            base = self._bases[key]
            both = self._score(table, f"{query} AND ({others})", rows, weights)
            found = {row: score - base[row] for row, score in both.items()}
            count = self._count(table, query, rows)
        else:
            found = self._score(table, query, rows, weights)
            count = len(found)
        if not count:
            return TermHits(0.0, {})
        total = self._total(table)
        everywhere = self._count(table, query, (0, _LAST_ROW))
        collection_idf = max(math.log((total - everywhere + 0.5) / (everywhere + 0.5)), 1e-6)  # as FTS5 computes it
        idf = rarity(count, rows)
        return TermHits(idf, {row: min(score / collection_idf, LARGEST_FREQUENCY) for row, score in found.items()})

    def _score(self, table: str, query: str, rows: tuple[int, int], weights: Sequence[float]) -> dict[int, float]:
        arguments = ", ".join(str(float(weight)) for weight in weights)
        sql = f"SELECT rowid, -bm25({table}, {arguments}) FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"  # noqa: S608 - table and weights are ours
        return dict(self._connection.execute(sql, (query, *rows)).fetchall())

    def _count(self, table: str, query: str, rows: tuple[int, int]) -> int:
        key = table, query, rows
        if key not in self._counts:
            sql = f"SELECT count(*) FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"  # noqa: S608 - table is ours
            self._counts[key] = int(self._connection.execute(sql, (query, *rows)).fetchone()[0])
        return self._counts[key]

    def _look_up(
        self, columns: str, table: str, bounds: tuple[int, int], rows: Collection[int] | None
    ) -> Iterator[tuple[Any, ...]]:
        """Rows of one of our tables between bounds, by its first column; few wanted rows are read one by one."""
        key = columns.partition(",")[0]
        sql = f"SELECT {columns} FROM {table} WHERE {key}"  # noqa: S608 - columns and table are ours
        if rows is None or len(rows) * _ONE_BY_ONE > bounds[1] - bounds[0]:
            yield from self._connection.execute(f"{sql} BETWEEN ? AND ?", bounds)
            return
        for row in rows:
            yield from self._connection.execute(f"{sql} = ?", (row,))

    def _total(self, table: str) -> int:
        if table not in self._totals:
            self._totals[table] = int(self._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608
        return self._totals[table]


def rarity(count: int, rows: tuple[int, int]) -> float:
    """The idf of what stands in `count` of the rows of a document."""
    size = rows[1] - rows[0] + 1
    return math.log(1 + (size - count + 0.5) / (count + 0.5))


def _match(text: str, titles_only: bool) -> str:
    return f"({{titles}} : {quote_word(text)})" if titles_only else quote_word(text)


def _read_metadata(connection: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """What each document's file says of itself; nothing in files that earlier programs made."""
    found: dict[str, dict[str, str]] = {}
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'document_metadata'").fetchone():
        for doc_key, name, value in connection.execute("SELECT doc_key, name, value FROM document_metadata"):
            found.setdefault(doc_key, {})[name] = value
    return found
