"""Differences between two releases for people and programs: terminal lines, Markdown for a pull request, JSON."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pageindex_local.inert_text import inert
from pageindex_local.store.history import diff_text
from pageindex_local.wording.differences import (
    change_lines,
    count_words,
    diff_json,
    markdown_lines,
    markdown_text,
    tell,
)
from pageindex_local.wording.plain import plural

if TYPE_CHECKING:
    from pageindex_local.release_diff import DocumentDiff

MAX_MARKDOWN_CHARS = 60_000  # GitHub refuses comments of more than 65,536


def title_line(diffs: "Sequence[DocumentDiff]") -> str:
    """One line: how many documents were added, removed, renamed or changed."""
    counts = Counter(diff.change.value for diff in diffs)
    if not diffs:
        return "no document changed"
    words = ", ".join(f"{counts[word]} {word}" for word in ("added", "removed", "renamed", "changed") if counts[word])
    return f"{plural(len(diffs), 'document')} differ{'s' if len(diffs) == 1 else ''}: {words}"


def release_lines(diffs: "Sequence[DocumentDiff]") -> Iterator[str]:
    """For the terminal: a line a document, its sections below."""
    for diff in diffs:
        yield f"{_sign(diff)} {inert(diff.doc_id)}  {_what(diff)}"
        if diff.sections is not None and diff.before is not None and diff.after is not None:
            trees = diff.before.tree(), diff.after.tree()
            has_pages = diff.after.manifest.has_pages
            yield from (f"  {line}" for line in change_lines(diff.sections, *trees, has_pages=has_pages))


def release_markdown(diffs: "Sequence[DocumentDiff]", notes: Sequence[str] = (), *, text: bool = False) -> str:
    """As Markdown, short enough for a comment: documents that no longer fit are counted at the end.

    `notes` are lines (Markdown) below the title; with `text` the changed text stands in folds.
    """
    parts = ["\n".join([f"## Index: {title_line(diffs)}", *(["", *notes] if notes else [])])]
    length = len(parts[0])
    for place, diff in enumerate(diffs):
        block = "\n".join(_document_markdown(diff, text=text))
        if length + len(block) > MAX_MARKDOWN_CHARS and text:
            block = "\n".join(_document_markdown(diff, text=False))
        if length + len(block) > MAX_MARKDOWN_CHARS:
            parts.append(f"… and {plural(len(diffs) - place, 'more document')}: see `release diff`.")
            break
        parts.append(block)
        length += len(block) + 2
    return "\n\n".join(parts)


def _document_markdown(diff: "DocumentDiff", *, text: bool) -> list[str]:
    before, after, sections = diff.before, diff.after, diff.sections
    if sections is None or before is None or after is None:
        return [f"### {markdown_text(diff.doc_id)}", "", _what(diff)]

    def read_diff(node_id: str) -> str:
        return diff_text(before, after, node_id)

    lines = markdown_lines(
        diff.doc_id,
        sections,
        before.tree(),
        after.tree(),
        has_pages=after.manifest.has_pages,
        read_diff=read_diff if text else None,
    )
    if before.manifest.doc_id != diff.doc_id:
        lines[1:1] = ["", f"renamed, was {markdown_text(before.manifest.doc_id)}"]
    return lines


def release_json(diffs: "Sequence[DocumentDiff]") -> list[dict[str, Any]]:
    """As data: for each document what became of it, and its sections where both releases have it."""
    return [
        {
            "doc_id": diff.doc_id,
            "change": diff.change.value,
            "was": None if diff.before is None else diff.before.manifest.doc_id,
            "old": None if diff.before is None else diff.before.version_id,
            "new": None if diff.after is None else diff.after.version_id,
            "sections": None if diff.sections is None else diff_json(diff.sections),
        }
        for diff in diffs
    ]


def _sign(diff: "DocumentDiff") -> str:
    return {"added": "+", "removed": "-"}.get(diff.change.value, "~")


def _what(diff: "DocumentDiff") -> str:
    before, after = diff.before, diff.after
    if before is None and after is not None:
        return f"added, {plural(after.manifest.counts.nodes, 'section')}"
    if after is None or before is None or diff.sections is None:
        return "removed"
    words = count_words(tell(diff.sections, before.tree(), after.tree()), diff.sections)
    was = f"was {inert(before.manifest.doc_id)}, " if before.manifest.doc_id != diff.doc_id else ""
    return f"{was}{before.version_id} -> {after.version_id}: {words}"
