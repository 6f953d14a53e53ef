"""A trace where the user wants it: a JSON file, a page with the search drawn over the tree, or lines on a terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pageindex_local.cli.console import hint

if TYPE_CHECKING:
    from pageindex_local.query.trace import Trace
    from pageindex_local.store import IndexStore
    from pageindex_local.store.records import Release

TERMINAL = Path("-")


def write_trace(trace: "Trace", target: Path, store: "IndexStore", release: "Release") -> None:
    """Write a trace: `-` draws it on standard error, a name that ends with `.html` gets a page, any other JSON.

    The page shows the document of the best page found, with the sections that were judged and their scores.

    Raises:
        OSError: the file cannot be written.
    """
    if target == TERMINAL:
        hint("\n".join(tree_lines(trace.outline())))
    elif target.suffix.lower() in (".html", ".htm"):
        target.write_text(_render(trace, store, release), encoding="utf-8")
    else:
        trace.write(target)


def tree_lines(outline: list[tuple[int, str]]) -> list[str]:
    """An outline of (depth, line) drawn with branches."""
    lines = []
    for place, (depth, text) in enumerate(outline):
        bars = "".join("│  " if _goes_on(outline, place, level) else "   " for level in range(1, depth))
        branch = "" if depth == 0 else "├─ " if _goes_on(outline, place, depth) else "└─ "
        lines.append(bars + branch + text)
    return lines


def _goes_on(outline: list[tuple[int, str]], place: int, level: int) -> bool:
    """Whether a later line continues a level before a higher one begins."""
    for depth, _ in outline[place + 1 :]:
        if depth <= level:
            return depth == level
    return False


def _render(trace: "Trace", store: "IndexStore", release: "Release") -> str:
    from pageindex_local.view import render_html
    from pageindex_local.view.search import read_search

    data = trace.as_data()
    pages: list[dict[str, Any]] = next((step["pages"] for step in data["steps"] if step.get("pages")), [])
    searched = [step["doc_id"] for step in data["steps"] if "opened" in step]
    doc_id = pages[0]["doc_id"] if pages else searched[0] if searched else next(iter(release.documents.values())).doc_id
    found = release.find(doc_id)
    assert found is not None
    version = store.open_document(release, found[0])
    return render_html(version.manifest, version.tree(), read_search(data, doc_id))
