"""Numbers and a readable tree for Dagster's UI. Counts and titles only: node text would bloat the event log."""

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias, TypeVar

import dagster as dg

from pageindex_local.records import NodeKind, SectionTree, Usage
from pageindex_local.release_diff import diff_releases
from pageindex_local.store.history import diff_versions
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release
from pageindex_local.wording.differences import markdown_lines, markdown_text
from pageindex_local.wording.releases import release_markdown

DATA_VERSION = "dagster/data_version"  # the tag under which Dagster keeps the data version of an event
MAX_TREE_LINES = 200
MAX_MARKDOWN_CHARS = 20_000
_Value = TypeVar("_Value")
Metadata: TypeAlias = Mapping[str, str | int | float | bool | dg.MarkdownMetadataValue]


def versioned_output(value: _Value, data_version: str, metadata: Metadata) -> dg.Output[_Value]:
    """An output whose data version comes from content, so that the UI shows what is stale.

    Dagster 1.13 calls the parameter a beta and warns each time; the pin below 1.14 keeps it as it is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.Output(value, data_version=dg.DataVersion(data_version), metadata=metadata)


def usage_metadata(usage: Usage) -> dict[str, int | float]:
    """What model work cost."""
    return {
        "model_calls": usage.model_calls,
        "cached_calls": usage.cached_calls,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def tree_metadata(tree: SectionTree) -> dict[str, int | dg.MarkdownMetadataValue]:
    """Counts and the tree itself as a nested Markdown list."""
    return {
        "nodes": len(tree.nodes),
        "leaves": sum(1 for _ in tree.leaves()),
        "depth": max((node.level for node in tree.walk()), default=0),
        "tree": dg.MetadataValue.md(tree_markdown(tree)),
    }


def cut_markdown(text: str) -> dg.MarkdownMetadataValue:
    """Markdown of bounded length: the event log is no place for books."""
    lines = text.splitlines()
    kept: list[str] = []
    length = 0
    for place, line in enumerate(lines):
        length += len(line) + 1
        if length > MAX_MARKDOWN_CHARS:
            kept += ["", f"… and {len(lines) - place} more lines: see `pageindex-local diff`."]
            break
        kept.append(line)
    return dg.MetadataValue.md("\n".join(kept))


def release_metadata(store: IndexStore, before: Release | None, after: Release | None) -> dict[str, Any]:
    """What a release pins, and how it differs from the one before."""
    if after is None:
        return {"release": "none", "documents": 0, "is_new": False}
    diffs = diff_releases(store, before, after)
    return {
        "release": after.name,
        "parent": after.parent or "none",
        "reason": after.reason,
        "documents": len(after.documents),
        "documents_changed": len(diffs),
        "is_new": after != before,
        "diff": cut_markdown(release_markdown(diffs)),
    }


def version_diff(store: IndexStore, previous: StoredVersion | None, version: StoredVersion) -> dg.MarkdownMetadataValue:
    """How a version differs from the one before, section by section."""
    doc_id = version.manifest.doc_id
    if previous is None:
        return dg.MetadataValue.md(f"{version.version_id} is the first version of {markdown_text(doc_id)}.")
    changes = diff_versions(store, previous, version)
    trees = previous.tree(), version.tree()
    lines = markdown_lines(doc_id, changes, *trees, has_pages=version.manifest.has_pages)
    return cut_markdown("\n".join(lines))


def tree_markdown(tree: SectionTree, max_lines: int = MAX_TREE_LINES) -> str:
    """The tree as a nested list with page ranges, cut after so many nodes with a line that says how many more."""
    lines: list[str] = []
    shown = [node for node in tree.walk() if node.kind is not NodeKind.INTRODUCTION]
    for node in shown[:max_lines]:
        pages = str(node.first_page) if node.first_page == node.last_page else f"{node.first_page}–{node.last_page}"
        lines.append(f"{'  ' * (len(tree.path(node.node_id)) - 1)}- {markdown_text(node.title)} ({pages})")
    if len(shown) > max_lines:
        lines.append(f"- … and {len(shown) - max_lines} more")
    return "\n".join(lines)
