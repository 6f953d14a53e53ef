"""Documents made of sections whose identity is known: the truth that tests of identity, diff and store compare with.

A `Section` has a `key` that stays with it through every edit. `render` lays sections out as lines on pages and gives
the parsed document, a draft tree as the tree stage would build it, and which key each draft node stands for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pageindex_local.ids import make_doc_key, own_hash, sha256_hex, subtree_hash
from pageindex_local.records import (
    Line,
    MediaType,
    Node,
    NodeKind,
    Origin,
    Page,
    ParsedDocument,
    SectionTree,
    Source,
)


@dataclass
class Section:
    """One section: its own lines of text and the sections in it."""

    key: str
    title: str
    text: list[str] = field(default_factory=list)
    children: list["Section"] = field(default_factory=list)

    def walk(self) -> Iterator["Section"]:
        """The section and all below it, in document order."""
        stack = [self]
        while stack:
            section = stack.pop()
            yield section
            stack.extend(reversed(section.children))


@dataclass(frozen=True)
class Rendered:
    """A document, its draft tree, and the key behind each draft id (`<key>/introduction` for introductions)."""

    document: ParsedDocument
    tree: SectionTree
    keys: dict[str, str]


@dataclass
class _Row:
    draft_id: str
    key: str
    parent: int | None
    title: str
    level: int
    kind: NodeKind
    start: int
    heading: tuple[int, int]
    text: list[str]
    end: int = 0
    children: list[int] = field(default_factory=list)


def render(
    sections: Sequence[Section],
    *,
    doc_id: str = "manual.md",
    lines_per_page: int = 40,
    media_type: MediaType = MediaType.MARKDOWN,
) -> Rendered:
    """Lay out sections. Titles and texts become lines; a parent with text of its own gets an introduction."""
    lines: list[str] = []
    rows: list[_Row] = []
    stack: list[tuple[Section, int | None, int]] = [(section, None, 1) for section in reversed(sections)]
    while stack:
        section, parent, level = stack.pop()
        first_child = parent is not None and not rows[parent].children
        # A parent without text of its own leaves its heading to its first child's span.
        start = rows[parent].start if parent is not None and first_child else len(lines)
        heading = (len(lines), len(lines) + 1)
        lines.append(section.title)
        index = _add(rows, section.key, parent, section.title, level, NodeKind.SECTION, start, heading, section.text)
        if section.children and section.text:
            intro = _add(
                rows,
                f"{section.key}/introduction",
                index,
                "Introduction",
                level + 1,
                NodeKind.INTRODUCTION,
                start,
                (start, start),
                section.text,
            )
            rows[index].text = []
            del intro
        lines.extend(section.text)
        stack.extend((child, index, level + 1) for child in reversed(section.children))
    if not lines:
        lines.append("")
    _close(rows, len(lines))
    pages = tuple(
        Page(number, str(number), first, tuple(Line(text) for text in lines[first : first + lines_per_page]))
        for number, first in enumerate(range(0, len(lines), lines_per_page), 1)
    )
    data = "\n".join(lines).encode()
    source = Source(doc_id, make_doc_key(doc_id), doc_id, sha256_hex(data), len(data), media_type)
    tree = _tree(rows, lines_per_page)
    return Rendered(ParsedDocument(source, pages), tree, {row.draft_id: row.key for row in rows})


def _add(
    rows: list[_Row],
    key: str,
    parent: int | None,
    title: str,
    level: int,
    kind: NodeKind,
    start: int,
    heading: tuple[int, int],
    text: list[str],
) -> int:
    index = len(rows)
    rows.append(_Row(f"d{index + 1:05d}", key, parent, title, level, kind, start, heading, text))
    if parent is not None:
        rows[parent].children.append(index)
    return index


def _close(rows: list[_Row], line_count: int) -> None:
    end_of_parent: dict[int | None, int] = {None: line_count}
    siblings: dict[int | None, list[int]] = {}
    for index, row in enumerate(rows):
        siblings.setdefault(row.parent, []).append(index)
    for index, row in enumerate(rows):
        group = siblings[row.parent]
        place = group.index(index) if len(group) < 50 else _place(group, index)
        row.end = rows[group[place + 1]].start if place + 1 < len(group) else end_of_parent[row.parent]
        end_of_parent[index] = row.end


def _place(group: list[int], index: int) -> int:
    low, high = 0, len(group)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if group[middle] < index else (low, middle)
    return low


def _tree(rows: list[_Row], lines_per_page: int) -> SectionTree:
    own = [own_hash(row.title, "\n".join(row.text)) for row in rows]
    merkle = [""] * len(rows)
    for index in range(len(rows) - 1, -1, -1):
        merkle[index] = subtree_hash(own[index], [merkle[child] for child in rows[index].children])
    nodes = {
        row.draft_id: Node(
            node_id=row.draft_id,
            parent_id=rows[row.parent].draft_id if row.parent is not None else None,
            children=tuple(rows[child].draft_id for child in row.children),
            title=row.title,
            level=row.level,
            kind=row.kind,
            span=(row.start, row.end),
            heading=row.heading,
            first_page=row.start // lines_per_page + 1,
            last_page=max(row.end - 1, row.start) // lines_per_page + 1,
            origin=Origin.MARKDOWN if row.kind is NodeKind.SECTION else Origin.DERIVED,
            confidence=1.0,
            own_hash=own[index],
            subtree_hash=merkle[index],
        )
        for index, row in enumerate(rows)
    }
    return SectionTree(tuple(row.draft_id for row in rows if row.parent is None), nodes)
