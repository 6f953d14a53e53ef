"""The plain records that flow between stages.

Everything here is a frozen value: a stage takes the records of the stage before and returns its own. No behaviour
beyond small derived properties, no input or output, no third-party import. Data that comes from outside (settings,
manifests, model output) is validated with pydantic where it enters instead.

Positions. A document is one sequence of *lines* in reading order, numbered from 0 over all pages. A *span* is a
half-open pair of line numbers. Page numbers are physical and start at 1. Markdown and text have no pages: there a
"page" is a block of lines, and people are shown line numbers (from 1) instead.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
Box: TypeAlias = tuple[float, float, float, float]


class MediaType(StrEnum):
    """What a source is, decided by its content and not by its name."""

    PDF = "application/pdf"
    MARKDOWN = "text/markdown"
    TEXT = "text/plain"


class LineRole(StrEnum):
    """What a line is on its page."""

    BODY = "body"
    RUNNING = "running"  # running head, running foot or page number: repeated on many pages, never a heading


class Origin(StrEnum):
    """The evidence that placed a heading, strongest first."""

    HAND = "hand"  # put in by hand with `replace`, in place of what the source says
    OUTLINE = "outline"  # embedded outline, checked against the page
    TOC = "toc"  # printed table of contents
    MARKDOWN = "markdown"  # CommonMark heading
    NUMBERING = "numbering"  # section number pattern
    LAYOUT = "layout"  # font, weight, spacing
    MODEL = "model"  # chosen by the model among candidate lines
    DERIVED = "derived"  # not printed in the document: front matter, introductions, size splits, page groups


class NodeKind(StrEnum):
    """Whether a node stands for a printed heading or keeps coverage complete."""

    SECTION = "section"
    FRONT_MATTER = "front_matter"  # what comes before the first heading
    INTRODUCTION = "introduction"  # a parent's own text before its first child
    PART = "part"  # a piece of a long leaf, or of a document without any heading


class SummarySource(StrEnum):
    """Who wrote a summary."""

    MODEL = "model"
    EXTRACTIVE = "extractive"  # sentences of the section itself
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Source:
    """One input file. `doc_id` is data (a relative POSIX path, NFC); only `doc_key` may become part of a path."""

    doc_id: str
    doc_key: str
    path: str
    sha256: str
    size_bytes: int
    media_type: MediaType


@dataclass(frozen=True, slots=True)
class Line:
    """One printed line.

    `box` is (x0, y0, x1, y1) in points as the page is displayed (rotation applied), origin at the top left; all zeros
    for Markdown and text. `size` is the font size in points of most characters (0 where there is none), `font` its name
    without subset prefix, `block` the number of the text block on the page in reading order. `cells` counts the pieces
    of the line that stand apart by more than twice the font size (table cells, a number and its title). `lead` is how
    many characters at the start are set bold or italic while the rest is not (a heading run into its paragraph), 0
    where there are none.
    """

    text: str
    box: Box = (0.0, 0.0, 0.0, 0.0)
    size: float = 0.0
    font: str = ""
    bold: bool = False
    italic: bool = False
    block: int = 0
    role: LineRole = LineRole.BODY
    cells: int = 1
    lead: int = 0


@dataclass(frozen=True, slots=True)
class Page:
    """One physical page, or one block of lines of a document without pages.

    `first_line` is the document-wide number of `lines[0]`. Joining the lines with newlines gives the stored page
    text, so a line number finds its text again in a stored index. `width` and `height` are in points, 0 where there
    is no page.
    """

    page_number: int
    label: str
    first_line: int
    lines: tuple[Line, ...]
    width: float = 0.0
    height: float = 0.0

    @property
    def text(self) -> str:
        """The page's lines joined by newlines, running heads included."""
        return "\n".join(line.text for line in self.lines)

    @property
    def span(self) -> Span:
        """The lines of this page."""
        return self.first_line, self.first_line + len(self.lines)


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One entry of an embedded outline as found in the file: nothing about it has been checked yet.

    `page_number` is 0 where the destination is missing or unusable; `top` is the distance from the top of the displayed
    page in points, where the file gives one.
    """

    level: int
    title: str
    page_number: int
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Graft:
    """Lines put in by hand in place of what the source says in one section.

    `base` are the source's lines, `lines` those that stand there instead; neither holds running lines, nor blank ones
    at either end. `pages` says for each of `lines` on which page of the section it stands, from 0 (always 0 where there
    are no pages). `before` and `after` are the nearest lines of text around, which tell equal sections apart. `span`
    is where it stands in the document that carries it. `made_in` is the version that first had it.
    """

    node_id: str
    title: str
    made_in: str
    base: tuple[str, ...]
    lines: tuple[str, ...]
    pages: tuple[int, ...]
    before: str = ""
    after: str = ""
    span: Span = (0, 0)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A source as pages of lines.

    `metadata` holds what the file says of itself (title, author, dates). `warnings` are sentences for a person: damaged
    and repaired, unreadable pages, garbled text layer. `grafts` are the parts that do not come from the source.
    """

    source: Source
    pages: tuple[Page, ...]
    outline: tuple[OutlineEntry, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    grafts: tuple[Graft, ...] = ()

    @property
    def line_count(self) -> int:
        """How many lines the document has; the document's span is (0, line_count)."""
        return self.pages[-1].span[1] if self.pages else 0

    @property
    def has_pages(self) -> bool:
        """Whether page numbers mean printed pages (PDF) and not blocks of lines."""
        return self.source.media_type is MediaType.PDF

    def lines(self) -> Iterator[tuple[int, Line]]:
        """Every line with its document-wide number, in reading order."""
        for page in self.pages:
            yield from enumerate(page.lines, page.first_line)


@dataclass(frozen=True, slots=True)
class Heading:
    """A place where a section starts.

    `span` are the lines on which the title is printed (several where it wraps; empty, at the place where the section
    starts, where the title is not printed). `level` starts at 1.
    """

    title: str
    level: int
    span: Span
    page_number: int
    origin: Origin
    confidence: float
    kind: NodeKind = NodeKind.SECTION


@dataclass(frozen=True, slots=True)
class Node:
    """One section of a tree.

    Children tile their parent: the first starts where the parent starts, each next where the one before ends, the last
    ends where the parent ends. So every line is in exactly one leaf. A parent's own text before its first child is a
    leaf of kind INTRODUCTION; where there is none but the heading itself, the first child's span holds the parent's
    heading. `heading` are the lines of the printed title (empty where there is none). Page ranges are inclusive.
    `own_hash` covers the normalised title and own text, `subtree_hash` is a Merkle hash over it and the children's;
    neither holds a position. Hashes and summary are empty until their stages have run.
    """

    node_id: str
    parent_id: str | None
    children: tuple[str, ...]
    title: str
    level: int
    kind: NodeKind
    span: Span
    heading: Span
    first_page: int
    last_page: int
    origin: Origin
    confidence: float
    own_hash: str = ""
    subtree_hash: str = ""
    summary: str = ""
    summary_source: SummarySource = SummarySource.NONE

    @property
    def is_leaf(self) -> bool:
        """Whether the node has no children and so owns its lines."""
        return not self.children


@dataclass(frozen=True, slots=True)
class SectionTree:
    """The sections of one document: a flat map in pre-order plus the ids of the top-level nodes."""

    roots: tuple[str, ...]
    nodes: Mapping[str, Node]
    description: str = ""
    description_source: SummarySource = SummarySource.NONE

    def walk(self) -> Iterator[Node]:
        """Every node in pre-order (the order of the map)."""
        return iter(self.nodes.values())

    def leaves(self) -> Iterator[Node]:
        """Every leaf in document order."""
        return (node for node in self.nodes.values() if not node.children)

    def path(self, node_id: str) -> tuple[str, ...]:
        """The ids from the top-level ancestor down to the node itself."""
        path: list[str] = []
        current: str | None = node_id
        while current is not None:
            path.append(current)
            current = self.nodes[current].parent_id
        return tuple(reversed(path))

    def leaf_at(self, line: int) -> Node:
        """The leaf that holds a line. Looks at one path and at the logarithm of the children along it."""
        children = self.roots
        leaf: Node | None = None
        while children:
            leaf = self.nodes[children[self._place(children, line)]]
            children = leaf.children
        if leaf is None:
            raise ValueError("the tree has no node")
        return leaf

    def overlapping(self, span: Span) -> Iterator[Node]:
        """Every node that has a line of a span, in pre-order. Looks at these, their siblings' starts and no others."""
        start, end = span
        stack = [(self.roots, self._place(self.roots, start))]
        while stack:
            children, place = stack.pop()
            node = self.nodes[children[place]] if place < len(children) else None
            if node is None or node.span[0] >= end:
                continue
            stack.append((children, place + 1))
            if node.span[1] > start:
                yield node
                stack.append((node.children, self._place(node.children, start)))

    def _place(self, children: Sequence[str], line: int) -> int:
        """Which of neighbouring nodes holds a line: the last that starts there or before, or the first."""
        return max(bisect_right(children, line, key=lambda child: self.nodes[child].span[0]) - 1, 0)


@dataclass(frozen=True, slots=True)
class Usage:
    """What model work cost.

    Tokens are the model's own. `input_tokens` counts every prompt in full, also the part that a shared prefix saved
    from being read again; cached calls count in `cached_calls` only.
    """

    model_calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.model_calls + other.model_calls,
            self.cached_calls + other.cached_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.seconds + other.seconds,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.model_calls - other.model_calls,
            self.cached_calls - other.cached_calls,
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.seconds - other.seconds,
        )
