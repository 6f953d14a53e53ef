"""Rows of stored tables as records: columns in, a node or page out when it is asked for. Reads no file.

A question looks at some hundred sections of a tree, whatever its size, so only those become records. Who walks
everything gets all records made at once, which is cheaper than one by one.
"""

from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, overload

from pageindex_local.errors import CorruptIndexError
from pageindex_local.records import Node, NodeKind, Origin, SummarySource
from pageindex_local.store.records import StoredPage

_KINDS = {kind.value: kind for kind in NodeKind}
_ORIGINS = {origin.value: origin for origin in Origin}
_SOURCES = {source.value: source for source in SummarySource}
_FIELDS = (
    "title", "level", "kind", "first_line", "end_line", "heading_first_line", "heading_end_line", "first_page",
    "last_page", "origin", "confidence", "own_hash", "subtree_hash", "summary", "summary_source",
)  # fmt: skip
_ONE_BY_ONE = 16  # one record alone costs four of many; once a sixteenth was asked for, all are made


class NodeRows(Mapping[str, Node]):
    """The sections of a stored tree by id, in pre-order.

    `columns` are Arrow arrays of equal length by name; `subject` names the file in errors. Cost of opening: one pass
    over the ids. `made` counts the records that exist so far.

    Raises:
        CorruptIndexError: the rows form no tree; or, when a record is made, a value that this program does not know.
    """

    def __init__(self, columns: Mapping[str, Any], subject: str) -> None:
        import numpy as np  # noqa: PLC0415 - comes with the table library, which not every question needs

        self._columns = columns
        self._subject = subject
        self._ids: list[str] = columns["node_id"].to_pylist()
        self._parents: list[str | None] = columns["parent_id"].to_pylist()
        self._rows = {node_id: row for row, node_id in enumerate(self._ids)}
        self._made: dict[str, Node] = {}
        self._is_whole = False  # then the records are in the order of the rows
        above = np.fromiter(
            (-1 if parent is None else self._rows.get(parent, len(self._ids)) for parent in self._parents),
            dtype=np.int64,
            count=len(self._ids),
        )
        misplaced = np.flatnonzero(above >= np.arange(len(above)))
        if len(misplaced) or len(self._rows) != len(self._ids):
            wrong = self._ids[misplaced[0]] if len(misplaced) else _first_repeat(self._ids)
            raise CorruptIndexError(f"node {wrong!r} is twice in it or before its parent", subject=subject)
        self._by_parent = np.argsort(above, kind="stable")  # those at the top first, then the children of each row
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(above + 1, minlength=len(above) + 1))])

    @property
    def made(self) -> int:
        """How many records were made so far."""
        return len(self._made)

    @property
    def roots(self) -> tuple[str, ...]:
        """The ids of the top-level nodes."""
        return self._below(-1)

    def place(self, node_id: str) -> tuple[str | None, int, int]:
        """The parent of a node, its first and its last page, without a record of it."""
        row = self._rows[node_id]
        columns = self._columns
        return self._parents[row], columns["first_page"][row].as_py(), columns["last_page"][row].as_py()

    def __getitem__(self, node_id: str) -> Node:
        node = self._made.get(node_id)
        if node is None:
            row = self._rows[node_id]
            if len(self._made) * _ONE_BY_ONE > len(self._ids):
                return self._make_all()[node_id]
            values = (self._columns[name][row].as_py() for name in _FIELDS)
            node = self._made[node_id] = self._make(node_id, self._parents[row], self._below(row), *values)
        return node

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def values(self) -> ValuesView[Node]:
        """Every record, in pre-order."""
        return self._make_all().values()

    def items(self) -> ItemsView[str, Node]:
        """Every id with its record, in pre-order."""
        return self._make_all().items()

    def _below(self, row: int) -> tuple[str, ...]:
        start, end = self._starts[row + 1], self._starts[row + 2]
        return tuple(self._ids[child] for child in self._by_parent[start:end])

    def _make_all(self) -> dict[str, Node]:
        if not self._is_whole:
            children = [self._ids[row] for row in self._by_parent.tolist()]
            starts = self._starts.tolist()
            lists = [self._columns[name].to_pylist() for name in _FIELDS]
            self._made = {
                node_id: self._make(node_id, parent, tuple(children[start:end]), *values)
                for node_id, parent, start, end, values in zip(
                    self._ids, self._parents, starts[1:-1], starts[2:], zip(*lists, strict=True), strict=True
                )
            }
            self._is_whole = True
        return self._made

    def _make(self, node_id: str, parent_id: str | None, children: tuple[str, ...], *values: Any) -> Node:
        (
            title, level, kind, first_line, end_line, heading_first_line, heading_end_line, first_page, last_page,
            origin, confidence, own_hash, subtree_hash, summary, summary_source,
        ) = values  # fmt: skip
        try:
            return Node(
                node_id,
                parent_id,
                children,
                title,
                level,
                _KINDS[kind],
                (first_line, end_line),
                (heading_first_line, heading_end_line),
                first_page,
                last_page,
                _ORIGINS[origin],
                confidence,
                own_hash,
                subtree_hash,
                summary,
                _SOURCES[summary_source],
            )
        except KeyError as error:
            raise CorruptIndexError(
                f"holds a value this program does not know ({error})", subject=self._subject
            ) from None


class PageRows(Sequence[StoredPage]):
    """The pages of a stored version in order; `columns` as for `NodeRows`. Equal to any sequence of the same pages.

    `first_lines` are the numbers of their first lines.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = columns
        self.first_lines: list[int] = columns["first_line"].to_pylist()
        self._count = len(columns["page_number"])
        self._made: dict[int, StoredPage] = {}
        self._is_whole = False

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> StoredPage: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[StoredPage, ...]: ...
    def __getitem__(self, place: int | slice) -> StoredPage | tuple[StoredPage, ...]:
        if isinstance(place, slice):
            return tuple(self[number] for number in range(*place.indices(self._count)))
        number = place + self._count if place < 0 else place
        page = self._made.get(number)
        if page is None:
            if not 0 <= number < self._count:
                raise IndexError(place)
            page = self._made[number] = _page(*(column[number].as_py() for column in self._columns.values()))
        return page

    def __iter__(self) -> Iterator[StoredPage]:
        if not self._is_whole:
            rows = zip(*(column.to_pylist() for column in self._columns.values()), strict=True)
            self._made = {number: _page(*row) for number, row in enumerate(rows)}
            self._is_whole = True
        return iter(self._made.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]


def _page(number: int, label: str, first_line: int, line_count: int, text: str, running: Sequence[int]) -> StoredPage:
    return StoredPage(number, label, first_line, line_count, text, tuple(running))


def _first_repeat(ids: Sequence[str]) -> str:
    seen: set[str] = set()
    return next(node_id for node_id in ids if node_id in seen or seen.add(node_id))  # type: ignore[func-returns-value]
