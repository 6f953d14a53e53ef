"""A stored section as text that can be edited and put back. Reads the index, writes nothing."""

from dataclasses import dataclass

from pageindex_local.errors import IndexNotFoundError
from pageindex_local.grafts.carry import body_lines
from pageindex_local.records import Line, LineRole, Node, Page, ParsedDocument, SectionTree, Source, Span
from pageindex_local.store.history import NodeState, resolve_node
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release

PAGE_BREAK = "\f"


@dataclass(frozen=True, slots=True)
class Section:
    """A section as it is stored: what can be replaced.

    `span` are its lines from the heading on, without blank and running lines at either end and without headings of
    sections above it. `lines` are its texts without running lines, `pages` the page of each, counted from 0.
    """

    node: Node
    span: Span
    lines: tuple[str, ...]
    pages: tuple[int, ...]

    def text(self) -> str:
        """What `replace --from` takes back: the lines, with a form feed where a page ends."""
        rows: list[str] = []
        for line, page, before in zip(self.lines, self.pages, (0, *self.pages), strict=False):
            rows.append(PAGE_BREAK * (page - before) + line)
        return "\n".join(rows) + "\n"


def find_section(store: IndexStore, release: Release, node_id: str, doc_key: str | None = None) -> tuple[str, Node]:
    """The document key and the node of a living section.

    Raises:
        IndexNotFoundError: no such section; says what became of it if it ever was.
    """
    found = resolve_node(store, release, node_id, doc_key)
    if found.state is NodeState.NODE and found.node is not None:
        return found.doc_key, found.node
    if found.node is not None:
        problem = f"“{found.title}” was merged in {found.ended_in} into “{found.node.title}”"
        advice = f"Replace {found.node.node_id} if that is the section you mean."
    else:
        problem = f"“{found.title}” was removed in {found.ended_in} of {found.doc_id}"
        advice = f"See `tree {found.doc_id}` for the sections there are."
    raise IndexNotFoundError(problem, subject=node_id, next_step=advice)


def read_section(stored: StoredVersion, node_id: str) -> Section:
    """A section of a stored version, as text that can be edited and put back."""
    return cut_section(stored_document(stored), stored.tree(), stored.tree().nodes[node_id])


def stored_document(stored: StoredVersion) -> ParsedDocument:
    """A stored version as a document. Of its lines only text and role are known; there is no outline."""
    manifest = stored.manifest
    source = Source(
        manifest.doc_id,
        manifest.doc_key,
        "",
        manifest.source_sha256,
        manifest.source_size_bytes,
        manifest.media_type,
    )
    pages = []
    for page in stored.pages():
        running = frozenset(page.running_lines)
        lines = tuple(
            Line(text, role=LineRole.RUNNING if number in running else LineRole.BODY)
            for number, text in enumerate(page.line_texts(), page.first_line)
        )
        pages.append(Page(page.page_number, page.label, page.first_line, lines))
    return ParsedDocument(
        source, tuple(pages), metadata=manifest.metadata, warnings=manifest.warnings, grafts=stored.grafts()
    )


def cut_section(document: ParsedDocument, tree: SectionTree, node: Node) -> Section:
    """A section of a document."""
    start, end = node.span
    if node.heading[0] < node.heading[1]:
        start = node.heading[0]
    else:
        above = (tree.nodes[parent].heading for parent in tree.path(node.node_id)[:-1])
        start = max([start, *(heading[1] for heading in above if start <= heading[0] < heading[1] <= end)])
    span = body_lines(document).trim((start, end))
    rows = text_rows(document, span)
    return Section(node, span, tuple(text for _, text in rows), tuple(page - rows[0][0] for page, _ in rows))


def text_rows(document: ParsedDocument, span: Span) -> list[tuple[int, str]]:
    """The lines of a span with the number of their page (0 where there are no pages), without running lines."""
    return [
        (page.page_number if document.has_pages else 0, line.text)
        for page in document.pages
        if page.span[0] < span[1] and page.span[1] > span[0]
        for number, line in enumerate(page.lines, page.first_line)
        if span[0] <= number < span[1] and line.role is not LineRole.RUNNING
    ]
