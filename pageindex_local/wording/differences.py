"""Differences between two versions for people and programs: lines for a terminal, Markdown for a review, JSON.

Enters: a `VersionDiff` and both trees. Leaves: text. Nothing here reads an index or writes anywhere.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pageindex_local.inert_text import inert
from pageindex_local.wording.plain import place_text, title_text

if TYPE_CHECKING:
    from pageindex_local.records import Node, SectionTree
    from pageindex_local.store.history import VersionDiff
    from pageindex_local.tree.diff import NodeChange

WIDTH = 80
# Kinds of change that a reader of the document would call one, in the order in which they are told.
_TOLD = ("edited", "retitled", "renumbered", "moved")
_COUNTED = ("added", "split", "removed", "merged", *_TOLD)
_SHOWN_SOURCES = 3
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Told:
    """One section that differs: sign (`+`, `-`, `~`), the node, in which ways, and what there is to say beyond that."""

    sign: str
    node: "Node"
    what: str
    detail: str = ""


def tell(changes: "VersionDiff", old: "SectionTree", new: "SectionTree") -> list[Told]:
    """What a reader should be told: changed, added and split sections in the new order, then those that ended.

    Another summary, other lines or pages alone are not the document's doing and are left out.
    """
    told: dict[str, Told] = {}
    for node in changes.tree.added:
        origins = changes.origins.get(node.node_id, ())
        told[node.node_id] = Told("+", node, "split" if origins else "added", _from(origins, old))
    for change in changes.tree.changed:
        found = {kind.value for kind in change.kinds}
        if change.after.kind.value == "introduction":  # it bears its parent's title
            found -= {"retitled", "renumbered"}
        kinds = [kind for kind in _TOLD if kind in found]
        if kinds:
            told[change.after.node_id] = Told("~", change.after, ", ".join(kinds), _detail(change, kinds, old, new))
    order = {node_id: place for place, node_id in enumerate(new.nodes)}
    lines = sorted(told.values(), key=lambda entry: order[entry.node.node_id])
    for node in changes.tree.removed:
        into = changes.fates.get(node.node_id)
        lines.append(Told("-", node, "merged" if into else "removed", f"into {_named(into, new)}" if into else ""))
    return lines


def _detail(change: "NodeChange", kinds: Sequence[str], old: "SectionTree", new: "SectionTree") -> str:
    parts = []
    if "retitled" in kinds or "renumbered" in kinds:
        parts.append(f"was “{inert(change.before.title)}”")
    if "moved" in kinds and change.before.parent_id != change.after.parent_id:
        parts.append(f"from {_above(change.before, old)} to {_above(change.after, new)}")
    elif "moved" in kinds:
        parts.append("to another place among its neighbours")
    return ", ".join(parts)


def _above(node: "Node", tree: "SectionTree") -> str:
    return "the top" if node.parent_id is None else f"“{inert(tree.nodes[node.parent_id].title)}”"


def _from(origins: Sequence[str], old: "SectionTree") -> str:
    if not origins:
        return ""
    more = f" and {len(origins) - _SHOWN_SOURCES} more" if len(origins) > _SHOWN_SOURCES else ""
    return "from " + ", ".join(_named(origin, old) for origin in origins[:_SHOWN_SOURCES]) + more


def _named(node_id: str, tree: "SectionTree") -> str:
    node = tree.nodes.get(node_id)
    return f"“{inert(node.title)}” ({node_id})" if node else node_id


def count_words(told: Sequence[Told], changes: "VersionDiff") -> str:
    """One line of counts, such as `1 added, 2 edited`."""
    counts = Counter(word for entry in told for word in entry.what.split(", "))
    if counts:
        return ", ".join(f"{counts[word]} {word}" for word in _COUNTED if counts[word])
    elsewhere = changes.counts()["relocated"]
    return f"no section changed{f', {elsewhere} stand on other lines or pages' if elsewhere else ''}"


def change_lines(changes: "VersionDiff", old: "SectionTree", new: "SectionTree", *, has_pages: bool) -> list[str]:
    """Two lines at most for each section, none wider than a terminal of 80 unless a title or a name is."""
    lines: list[str] = []
    for entry in tell(changes, old, new):
        place = place_text(entry.node, has_pages=has_pages)
        tail = f"  [{place}]  {entry.node.node_id}  {entry.what}"
        title = title_text(entry.node)
        room = max(WIDTH - len(tail) - 2, 20)
        lines.append(f"{entry.sign} {title if len(title) <= room else title[: room - 1] + '…'}{tail}")
        if entry.detail:
            lines += _wrapped(entry.detail)
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False)


def markdown_lines(
    doc_id: str,
    changes: "VersionDiff",
    old: "SectionTree",
    new: "SectionTree",
    *,
    has_pages: bool,
    read_diff: Callable[[str], str] | None = None,
) -> list[str]:
    """A difference as Markdown, for a pull request: a table, then the changed text in folds if `read_diff` is there."""
    told = tell(changes, old, new)
    lines = [
        f"### {markdown_text(doc_id)}",
        "",
        f"`{changes.old_version}` → `{changes.new_version}`: {count_words(told, changes)}",
    ]
    if not told:
        return lines
    lines += ["", "| | section | where | what | id |", "|---|---|---|---|---|"]
    for entry in told:
        what = f"{entry.what}: {entry.detail}" if entry.detail else entry.what
        place = place_text(entry.node, has_pages=has_pages)
        lines.append(
            f"| {entry.sign} | {markdown_text(title_text(entry.node))} | {place} | {markdown_text(what)} | "
            f"`{entry.node.node_id}` |"
        )
    for entry in told:
        if read_diff is not None and "edited" in entry.what:
            lines += _fold(title_text(entry.node), inert(read_diff(entry.node.node_id), keep_lines=True))
    return lines


def _fold(title: str, text: str) -> Iterator[str]:
    longest = max((len(found) for found in _FENCE.findall(re.sub(r"^[-+ ]", "", text, flags=re.MULTILINE))), default=0)
    fence = "`" * max(3, longest + 1)
    escaped = title.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    yield from ("", f"<details><summary>{escaped}</summary>", "", f"{fence}diff", text, fence, "", "</details>")


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, also in a table."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#~@&" else character for character in inert(text))


def diff_json(changes: "VersionDiff") -> dict[str, Any]:
    """A difference as data: counts, then every node added, removed or changed."""
    return {
        "old": changes.old_version,
        "new": changes.new_version,
        "counts": changes.counts(),
        "added": [
            {**node_json(node), "derived_from": list(changes.origins.get(node.node_id, ()))}
            for node in changes.tree.added
        ],
        "removed": [{**node_json(node), "into": changes.fates.get(node.node_id)} for node in changes.tree.removed],
        "changed": [
            {
                "node_id": change.after.node_id,
                "kinds": [kind.value for kind in change.kinds],
                "before": node_json(change.before),
                "after": node_json(change.after),
            }
            for change in changes.tree.changed
        ],
    }


def node_json(node: "Node") -> dict[str, Any]:
    """What identifies a section and where it stands, lines from 1, inclusive."""
    return {
        "node_id": node.node_id,
        "parent_id": node.parent_id,
        "title": node.title,
        "first_page": node.first_page,
        "last_page": node.last_page,
        "first_line": node.span[0] + 1,
        "last_line": node.span[1],
    }
