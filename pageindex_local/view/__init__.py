"""A section tree as one self-contained html page: no network, nothing loaded, readable without JavaScript.

Enters: a manifest and a tree. Leaves: html text. Reads only its own template.
"""

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from pageindex_local.inert_text import inert
from pageindex_local.records import NodeKind, SectionTree, SummarySource
from pageindex_local.store.records import Manifest
from pageindex_local.view.search import SearchView

_TEMPLATES = Path(__file__).parent
_OPEN_LEVELS = 1  # levels that are unfolded when the page is opened


@dataclass(frozen=True, slots=True)
class Row:
    """One node as the template draws it. `closes` counts the enclosing lists that end after it.

    `score` and `rank` are those of a search that is drawn over the tree: what it thought of the node, and its place in
    the result, 0 where it has none.
    """

    node_id: str
    title: str
    place: str
    is_range: bool
    summary: str
    is_extract: bool
    kind: str
    has_children: bool
    is_open: bool
    closes: int
    score: str = ""
    rank: int = 0


def iter_rows(tree: SectionTree, *, has_pages: bool, search: SearchView | None = None) -> list[Row]:
    """The nodes in pre-order, each with what closes after it, so that nested markup needs no recursion."""
    nodes = list(tree.walk())
    depths = {node.node_id: len(tree.path(node.node_id)) for node in nodes}
    shown = set() if search is None else {above for found in search.ranks for above in tree.path(found)}
    rows = []
    for node, following in zip(nodes, [*nodes[1:], None], strict=True):
        depth = depths[node.node_id]
        next_depth = depths[following.node_id] if following is not None else 1
        first, last = (node.first_page, node.last_page) if has_pages else (node.span[0] + 1, node.span[1])
        rows.append(
            Row(
                node_id=node.node_id,
                title="Introduction" if node.kind is NodeKind.INTRODUCTION else inert(node.title),
                place=str(first) if first >= last else f"{first}–{last}",
                is_range=first < last,
                summary=inert(node.summary),
                is_extract=node.summary_source is SummarySource.EXTRACTIVE,
                kind="" if node.kind is NodeKind.SECTION else node.kind.value.replace("_", " "),
                has_children=bool(node.children),
                is_open=node.node_id in shown if search else depth <= _OPEN_LEVELS,
                closes=max(depth - next_depth, 0),
                score=f"{search.scores[node.node_id]:.2f}" if search and node.node_id in search.scores else "",
                rank=search.ranks.get(node.node_id, 0) if search else 0,
            )
        )
    return rows


def render_html(manifest: Manifest, tree: SectionTree, search: SearchView | None = None) -> str:
    """The page, with a search drawn over the tree where one is given.

    The content security policy allows its own style and script and nothing else.
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    script = (_TEMPLATES / "tree.js").read_text(encoding="utf-8")
    style = (_TEMPLATES / "tree.css").read_text(encoding="utf-8")
    template = environment.from_string((_TEMPLATES / "tree.html.jinja").read_text(encoding="utf-8"))
    return template.render(
        name=inert(manifest.doc_id),
        version=manifest.version_id,
        description=inert(tree.description),
        page_count=manifest.counts.pages,
        node_count=len(tree.nodes),
        unit="page" if manifest.has_pages else "line",
        created=manifest.created_at[:10],
        rows=iter_rows(tree, has_pages=manifest.has_pages, search=search),
        search=search,
        style=style,
        script=script,
        style_hash=_csp_hash(style),
        script_hash=_csp_hash(script),
    )


def _csp_hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
