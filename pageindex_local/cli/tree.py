"""`tree`: the sections of one document, as text, JSON, PageIndex's form, or one self-contained html file."""

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pageindex_local.cli.commands import ASKING, add_command
from pageindex_local.cli.console import emit, emit_json, hint
from pageindex_local.cli.options import (
    DEFAULT_INDEX,
    CollectionOption,
    ConfigOption,
    DocArgument,
    IndexOption,
    JsonOption,
    ReleaseOption,
    check_choice,
    load_settings,
    open_document,
    open_store,
)
from pageindex_local.errors import SettingsError
from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import place_text, plural, size_text, title_text, unit_of_pages

if TYPE_CHECKING:
    from pageindex_local.records import SectionTree
    from pageindex_local.store import StoredVersion

FORMATS = ("text", "json", "pageindex", "html")
_EXAMPLES = (
    "tree fhs-3.0.pdf --depth 2",
    "tree fhs-3.0.pdf --format html --output fhs.html",
    "tree fhs-3.0.pdf --version v000002 --format pageindex",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, tree, panel=ASKING, examples=_EXAMPLES, needs_arguments=True)


def tree(
    doc: DocArgument,
    *,
    index: IndexOption = DEFAULT_INDEX,
    collection: CollectionOption = None,
    output_format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORM", help=f"One of {', '.join(FORMATS)}.")
    ] = "text",
    version: Annotated[
        str | None,
        typer.Option("--version", "-v", metavar="V", help="Version, such as v000002 (default: the live one)."),
    ] = None,
    release: ReleaseOption = None,
    depth: Annotated[int, typer.Option("--depth", min=1, help="Text: levels to show.")] = 99,
    summaries: Annotated[bool, typer.Option("--summaries", metavar="", help="Text: show summaries.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write there instead of standard output.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the section tree of a document: titles, page ranges, ids, summaries."""
    check_choice("--format", output_format, FORMATS)
    chosen = "json" if as_json and output_format == "text" else output_format
    store = open_store(index, collection, load_settings(config))
    stored = open_document(store, doc, release=release, version=version)
    if chosen == "text":
        text = "\n".join(text_lines(stored, depth=depth, summaries=summaries))
    elif chosen == "json":
        text = json.dumps(tree_json(stored), indent=2)
    elif chosen == "pageindex":
        from pageindex_local.export import to_pageindex

        nested = to_pageindex(stored.manifest.doc_id, stored.tree(), has_pages=stored.manifest.has_pages)
        text = json.dumps(nested, indent=2)
    else:
        from pageindex_local.view import render_html

        text = render_html(stored.manifest, stored.tree())
    if output is None:
        emit(text)
        return
    data = (text + "\n").encode()
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(output)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise SettingsError(
            f"cannot be written ({error.strerror})",
            subject=str(output),
            next_step="Give --output a file in a folder that exists and can be written.",
        ) from None
    if as_json:
        emit_json({"output": str(output), "size_bytes": len(data)})
    else:
        hint(f"wrote {output} ({size_text(len(data))})")


def text_lines(stored: "StoredVersion", *, depth: int, summaries: bool) -> list[str]:
    """The tree drawn with lines, one node a line; ranges at the end."""
    manifest, tree = stored.manifest, stored.tree()
    counts = manifest.counts
    sizes = f"{plural(counts.pages, unit_of_pages(manifest.media_type))}, {plural(counts.nodes, 'node')}"
    lines = [f"{inert(manifest.doc_id)}  {manifest.version_id}  {sizes}"]
    if tree.description:
        lines.append(inert(tree.description))
    last_child = _last_children(tree)
    for node in tree.walk():
        path = tree.path(node.node_id)
        if len(path) > depth:
            continue
        bars = "".join("   " if ancestor in last_child else "│  " for ancestor in path[:-1])
        branch = "└─ " if node.node_id in last_child else "├─ "
        place = place_text(node, has_pages=manifest.has_pages)
        lines.append(f"{bars}{branch}{title_text(node)}  [{place}]  {node.node_id}")
        if summaries and node.summary:
            below = "│  " if node.children and len(path) < depth else "   "
            indent = bars + ("   " if node.node_id in last_child else "│  ") + below
            lines += [f"{indent}{line}" for line in _wrap(inert(node.summary), 100 - len(indent))]
    return lines


def _wrap(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, max(width, 30))


def _last_children(tree: "SectionTree") -> set[str]:
    last = {node.children[-1] for node in tree.walk() if node.children}
    if tree.roots:
        last.add(tree.roots[-1])
    return last


def tree_json(stored: "StoredVersion") -> dict[str, Any]:
    """The tree flat and complete: every field of every node, pre-order, lines from 1 inclusive."""
    manifest, tree = stored.manifest, stored.tree()
    return {
        "doc_id": manifest.doc_id,
        "version": manifest.version_id,
        "media_type": manifest.media_type.value,
        "pages": manifest.counts.pages,
        "description": tree.description,
        "roots": list(tree.roots),
        "nodes": [
            {
                "node_id": node.node_id,
                "parent_id": node.parent_id,
                "children": list(node.children),
                "title": node.title,
                "level": node.level,
                "kind": node.kind.value,
                "first_page": node.first_page,
                "last_page": node.last_page,
                "first_line": node.span[0] + 1,
                "last_line": node.span[1],
                "origin": node.origin.value,
                "confidence": node.confidence,
                "summary": node.summary,
                "summary_source": node.summary_source.value,
                "own_hash": node.own_hash,
                "subtree_hash": node.subtree_hash,
            }
            for node in tree.walk()
        ],
    }
