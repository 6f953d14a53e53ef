"""How results of questions look in a terminal: retrievals and answers in, inert lines of text out. Prints nothing."""

import textwrap
from typing import TYPE_CHECKING

from pageindex_local.inert_text import inert

if TYPE_CHECKING:
    from pageindex_local.query.records import Retrieval
    from pageindex_local.records import SectionTree
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

_WIDTH = 80


class Places:
    """Says where something stands: by pages, or by lines where the document has no pages."""

    def __init__(self, store: "IndexStore", release: "Release") -> None:
        self._store = store
        self._release = release
        self._trees: dict[str, SectionTree] = {}

    def describe(self, doc_id: str, node_id: str, first_page: int, last_page: int) -> str:
        """`page 3`, `pages 3–5`, or `lines 40–52`: those of the node."""
        found = self._release.find(doc_id)
        if found is None or found[1].media_type.value == "application/pdf":
            return _range_text("page", first_page, last_page)
        if doc_id not in self._trees:
            self._trees[doc_id] = self._store.open_document(self._release, found[0]).tree()
        node = self._trees[doc_id].nodes.get(node_id)
        if node is None:
            return _range_text("block", first_page, last_page)
        return _range_text("line", node.span[0] + 1, node.span[1])


def result_lines(result: "Retrieval", places: Places) -> list[str]:
    """An answer with its citations, or pages with the sections on them, as lines of text.

    An answer made of quotes is not repeated above them.
    """
    lines: list[str] = []
    if result.abstained:
        lines.append("Not in these documents: nothing found is strong enough to answer from.")
    elif result.answer and getattr(result, "answered_by", "") == "quotes":
        lines.append("In the documents' own words:")
    elif result.answer:
        lines += textwrap.wrap(inert(result.answer), _WIDTH)
        for sentence in getattr(result, "uncited", ()):
            lines += ["", *textwrap.wrap(f"No passage supports: {inert(sentence)}", _WIDTH)]
    for number, citation in enumerate(result.citations, 1):
        where = places.describe(citation.doc_id, citation.node_id, citation.first_page, citation.last_page)
        head = f"[{number}] {inert(citation.doc_id)}, {where}: {inert(citation.title)}  ({citation.node_id})"
        lines += ["", *textwrap.wrap(head, _WIDTH, subsequent_indent="    ", break_on_hyphens=False)]
        if citation.columns:
            lines += textwrap.wrap(inert(citation.columns), _WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += textwrap.wrap(
            f"\u201c{inert(citation.quote)}\u201d", _WIDTH, initial_indent="    ", subsequent_indent="    "
        )
    if result.citations:
        return lines
    titles = {(node.doc_id, node.node_id): node for node in result.nodes}
    if result.pages:
        lines += ["", "Nearest pages:"] if lines else ["Pages, best first:"]
    for page in result.pages:
        node = titles.get((page.doc_id, page.node_id))
        where = places.describe(page.doc_id, page.node_id, page.page_number, page.page_number)
        title = "" if node is None else ": " + " › ".join(node.path)
        lines.append(_cut(f"  {page.score:5.3f}  {inert(page.doc_id)}, {where}{inert(title)}"))
    return lines


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _range_text(name: str, first: int, last: int) -> str:
    return f"{name} {first}" if first >= last else f"{name}s {first}\u2013{last}"
