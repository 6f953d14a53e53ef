"""Numbers and a readable tree for Dagster's UI. Counts and titles only: node text would bloat the event log."""

import warnings
from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import dagster as dg

from pageindex_local.records import NodeKind, SectionTree, Usage

MAX_TREE_LINES = 200
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


def tree_markdown(tree: SectionTree, max_lines: int = MAX_TREE_LINES) -> str:
    """The tree as a nested list with page ranges, cut after so many nodes with a line that says how many more."""
    lines: list[str] = []
    shown = [node for node in tree.walk() if node.kind is not NodeKind.INTRODUCTION]
    for node in shown[:max_lines]:
        pages = str(node.first_page) if node.first_page == node.last_page else f"{node.first_page}–{node.last_page}"
        lines.append(f"{'  ' * (len(tree.path(node.node_id)) - 1)}- {_escape(node.title)} ({pages})")
    if len(shown) > max_lines:
        lines.append(f"- … and {len(shown) - max_lines} more")
    return "\n".join(lines)


def _escape(title: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_{}[]<>#|~!&" else character for character in title)
