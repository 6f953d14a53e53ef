"""Stored versions in, rows of the full-text file out: what is kept of each page and passage, and how it is replaced.

Works on one private SQLite file that nobody reads yet. It reads stored versions and changes nothing else.
"""

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from pageindex_local.ids import hash_parts, normalise_text
from pageindex_local.query.passages import PASSAGE_WORDS, cut_passages
from pageindex_local.query.search_bases import copy_base, create_file, rank_bases
from pageindex_local.query.words import index_text, is_stop_word, quote_word
from pageindex_local.records import Node, Origin, SectionTree
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, StoredPage

SEARCH_FORMAT = "2"
_HEAD_LINES = 4
_TITLE_LINES = 10
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE document (
    doc_key TEXT PRIMARY KEY, doc_id TEXT NOT NULL, version_id TEXT NOT NULL, manifest_sha256 TEXT NOT NULL,
    first_page_row INTEGER NOT NULL, last_page_row INTEGER NOT NULL,
    first_passage_row INTEGER NOT NULL, last_passage_row INTEGER NOT NULL, opening TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE page (
    page_row INTEGER PRIMARY KEY, page_number INTEGER NOT NULL, figures REAL NOT NULL, mentions INTEGER NOT NULL,
    content_hash TEXT NOT NULL);
CREATE TABLE passage (
    passage_row INTEGER PRIMARY KEY, node_id TEXT NOT NULL, first_page INTEGER NOT NULL, last_page INTEGER NOT NULL);
CREATE VIRTUAL TABLE page_text USING fts5(titles, head, body, tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE passage_text USING fts5(titles, body, tokenize='porter unicode61 remove_diacritics 2');
"""
# A table of its own, made where it is missing: files of earlier programs go on without it.
_METADATA_SCHEMA = """
CREATE TABLE IF NOT EXISTS document_metadata (
    doc_key TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (doc_key, name)) WITHOUT ROWID;
"""
_LETTERS = re.compile(r"[^\W\d_]{3}")
_TITLE_WORDS = range(2, 11)


def search_state(release: Release) -> str:
    """What a search file must say of itself to be the one of this release."""
    pins = [part for key, entry in sorted(release.documents.items()) for part in (key, entry.manifest_sha256)]
    return hash_parts([SEARCH_FORMAT, str(PASSAGE_WORDS), *pins])


def write_search_file(store: IndexStore, release: Release, path: Path, bases: Sequence[Path] = ()) -> None:
    """Write the full-text file of a release to `path`.

    Starts from a copy of that sound file among `bases` from which least differs, unless all of it is quicker made anew.

    Raises:
        CorruptIndexError: a stored version cannot be read.
        sqlite3.Error: the file cannot be written.
    """
    connection = copy_base(path, rank_bases(release, bases, SEARCH_FORMAT)) or _create_file(path)
    try:
        connection.executescript(_METADATA_SCHEMA)
        known = dict(connection.execute("SELECT doc_key, manifest_sha256 FROM document"))
        wanted = {key: entry.manifest_sha256 for key, entry in release.documents.items()}
        for doc_key in sorted(key for key, pin in known.items() if wanted.get(key) != pin):
            _remove_document(connection, doc_key)
        for doc_key in sorted(key for key, pin in wanted.items() if known.get(key) != pin):
            _add_document(connection, store.open_document(release, doc_key))
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('state', ?)", (search_state(release),))
        connection.commit()
    finally:
        connection.close()


def _create_file(path: Path) -> sqlite3.Connection:
    connection = create_file(path)
    connection.executescript(_SCHEMA)
    connection.execute("INSERT INTO meta VALUES ('format', ?)", (SEARCH_FORMAT,))
    return connection


def _remove_document(connection: sqlite3.Connection, doc_key: str) -> None:
    pages = connection.execute(
        "SELECT first_page_row, last_page_row, first_passage_row, last_passage_row FROM document WHERE doc_key = ?",
        (doc_key,),
    ).fetchone()
    connection.execute("DELETE FROM page_text WHERE rowid BETWEEN ? AND ?", pages[:2])
    connection.execute("DELETE FROM page WHERE page_row BETWEEN ? AND ?", pages[:2])
    connection.execute("DELETE FROM passage_text WHERE rowid BETWEEN ? AND ?", pages[2:])
    connection.execute("DELETE FROM passage WHERE passage_row BETWEEN ? AND ?", pages[2:])
    connection.execute("DELETE FROM document WHERE doc_key = ?", (doc_key,))
    connection.execute("DELETE FROM document_metadata WHERE doc_key = ?", (doc_key,))


def _add_document(connection: sqlite3.Connection, version: StoredVersion) -> None:
    tree = version.tree()
    pages = version.pages()
    first_page_row = _next_row(connection, "page", "page_row")
    first_passage_row = _next_row(connection, "passage", "passage_row")
    starts, running = _starts_by_page(tree), _repeated_lines(pages)
    paths = _paths_by_page(tree, pages)
    titles_here: list[list[str]] = []
    for offset, page in enumerate(pages):
        texts = _body_lines(page, running)
        head = [line for line in texts[:_TITLE_LINES] if _LETTERS.search(line)][:_HEAD_LINES]
        body = index_text("\n".join(texts))
        words = body.split()
        figures = sum(any(char.isdigit() for char in word) for word in words) / max(len(words), 1)
        titles = [node.title for node in starts.get(page.page_number, ())]
        titles_here.append([*titles, *(line for line in texts[:_TITLE_LINES] if _looks_like_title(line))])
        connection.execute(
            "INSERT INTO page_text (rowid, titles, head, body) VALUES (?, ?, ?, ?)",
            (
                first_page_row + offset,
                index_text("\n".join(dict.fromkeys([*titles, *paths[offset]]))),
                index_text("\n".join(head)),
                body,
            ),
        )
        content_hash = hash_parts([normalise_text(" ".join(texts))]) if words else ""
        connection.execute(
            "INSERT INTO page VALUES (?, ?, ?, 0, ?)",
            (first_page_row + offset, page.page_number, figures, content_hash),
        )
    last_page_row = first_page_row + len(pages) - 1
    _count_mentions(connection, titles_here, first_page_row, last_page_row)
    last_passage_row = _add_passages(connection, version, first_passage_row) - 1
    connection.execute(
        "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            version.doc_key,
            version.manifest.doc_id,
            version.version_id,
            version.manifest_sha256,
            first_page_row,
            last_page_row,
            first_passage_row,
            last_passage_row,
            index_text("\n".join(page.text[:2_000] for page in pages[:2])),
        ),
    )
    connection.executemany(
        "INSERT INTO document_metadata VALUES (?, ?, ?)",
        [(version.doc_key, name, value) for name, value in version.manifest.metadata.items()],
    )


def _next_row(connection: sqlite3.Connection, table: str, column: str) -> int:
    return int(connection.execute(f"SELECT coalesce(max({column}), 0) + 1 FROM {table}").fetchone()[0])  # noqa: S608


def _starts_by_page(tree: SectionTree) -> dict[int, list[Node]]:
    starts: dict[int, list[Node]] = {}
    for node in tree.walk():
        if node.heading[1] > node.heading[0] or node.origin is Origin.OUTLINE:
            starts.setdefault(node.first_page, []).append(node)
    return starts


def _paths_by_page(tree: SectionTree, pages: Sequence[StoredPage]) -> list[list[str]]:
    """Titles from the top down to every leaf that has lines on a page, for each page."""
    leaves = list(tree.leaves())
    paths: list[list[str]] = []
    first = 0
    for page in pages:
        start, end = page.span
        while first + 1 < len(leaves) and leaves[first].span[1] <= start:
            first += 1
        titles: dict[str, None] = {}
        number = first
        while number < len(leaves) and (leaves[number].span[0] < end or number == first):
            for node_id in tree.path(leaves[number].node_id):
                titles[tree.nodes[node_id].title] = None
            number += 1
        paths.append(list(titles))
    return paths


def _repeated_lines(pages: Sequence[StoredPage]) -> set[str]:
    """Lines that open many pages though no one marked them as running heads."""
    counts: dict[str, int] = {}
    for page in pages:
        for line in {line.strip() for line in page.line_texts() if line.strip()}:
            counts[line] = counts.get(line, 0) + 1
    return {line for line, count in counts.items() if count > max(3, len(pages) // 10)}


def _body_lines(page: StoredPage, repeated: set[str]) -> list[str]:
    lines = [
        line.strip()
        for number, line in enumerate(page.line_texts(), page.first_line)
        if number not in page.running_lines and line.strip()
    ]
    start = 0
    while start < len(lines) and lines[start] in repeated:
        start += 1
    return lines[start:]


def _looks_like_title(line: str) -> bool:
    """A short line in title case without a full stop: what a page that opens with a table calls itself."""
    words = line.split()
    if len(words) not in _TITLE_WORDS or not words[0][0].isupper() or line[-1] in ".;,:" or re.search(r"\d\d", line):
        return False
    return sum(word[0].isupper() or len(word) < 4 for word in words) >= 0.8 * len(words)


def _count_mentions(
    connection: sqlite3.Connection, titles_here: Sequence[Sequence[str]], first_row: int, last_row: int
) -> None:
    """Write for each page on how many other pages the best known of its titles is named.

    A section that the rest of a document keeps referring to (a main statement, a definition, a central command) answers
    more questions than one that nobody names.
    """
    counted: dict[str, int] = {}
    for offset, titles in enumerate(titles_here):
        best = 0
        for title in titles:
            words = index_text(title).casefold()
            if sum(not is_stop_word(word) for word in words.split()) < 2:
                continue
            if words not in counted:
                found = connection.execute(
                    "SELECT count(*) FROM page_text WHERE page_text MATCH ? AND rowid BETWEEN ? AND ?",
                    ("{body} : " + quote_word(words), first_row, last_row),
                ).fetchone()
                counted[words] = int(found[0])
            best = max(best, counted[words] - 1)
        if best:
            connection.execute("UPDATE page SET mentions = ? WHERE page_row = ?", (best, first_row + offset))


def _add_passages(connection: sqlite3.Connection, version: StoredVersion, row: int) -> int:
    """Add every passage; returns the next free row."""
    bounds = [(page.first_line, page.page_number) for page in version.pages()]
    for number, passage in enumerate(cut_passages(version), row):
        connection.execute(
            "INSERT INTO passage_text (rowid, titles, body) VALUES (?, ?, ?)",
            (number, index_text(passage.titles), index_text(passage.text)),
        )
        pages = _page_of(bounds, passage.first_line), _page_of(bounds, passage.last_line)
        connection.execute("INSERT INTO passage VALUES (?, ?, ?, ?)", (number, passage.node_id, *pages))
        row = number + 1
    return row


def _page_of(bounds: Sequence[tuple[int, int]], line: int) -> int:
    return bounds[max(bisect_right(bounds, line, key=lambda bound: bound[0]) - 1, 0)][1]
