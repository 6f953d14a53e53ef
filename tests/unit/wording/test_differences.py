"""What is told of a difference: every kind of change in words, on a terminal of 80 columns and as Markdown."""

import copy
import re
from collections.abc import Callable

import pytest

from pageindex_local.records import SectionTree
from pageindex_local.store.history import VersionDiff
from pageindex_local.tree.diff import diff_trees
from pageindex_local.tree.identity import assign_ids
from pageindex_local.tree.text import own_text
from pageindex_local.wording.differences import change_lines, count_words, markdown_lines, tell
from tests.sections import Section, render

Roots = list[Section]


def text(subject: str) -> list[str]:
    """Lines enough that a section is known again by them."""
    return [f"Line {number} about {subject} says a thing that no other line of the book says." for number in range(8)]


def book() -> Roots:
    return [
        Section("sea", "The sea", [], [Section(k, k.title(), text(k)) for k in ("tides", "winds", "waves")]),
        Section("land", "The land", [], [Section(k, k.title(), text(k)) for k in ("hills", "roads")]),
    ]


def compare(change: Callable[[Roots], None]) -> tuple[VersionDiff, SectionTree, SectionTree]:
    """The book before and after a change, with ids as a build would carry them."""
    old, roots = render(book()), copy.deepcopy(book())
    change(roots)
    new = render(roots)
    before = assign_ids(old.tree, None, doc_id="b", version_id="v000001", document=old.document).tree
    found = assign_ids(
        new.tree,
        before,
        doc_id="b",
        version_id="v000002",
        document=new.document,
        old_text=lambda node: own_text(old.document, before, node),
    )
    after = found.tree
    tree = diff_trees(
        before, after, lambda n: own_text(old.document, before, n), lambda n: own_text(new.document, after, n)
    )
    fates = {removed.old_id: removed.into for removed in found.report.removed}
    origins = {added.node_id: added.derived_from for added in found.report.split}
    return VersionDiff("v000001", "v000002", tree, fates, origins), before, after


def told(change: Callable[[Roots], None]) -> list[tuple[str, str, str, str]]:
    return [(entry.sign, entry.node.title, entry.what, entry.detail) for entry in tell(*compare(change))]


def test_added_and_removed_sections_are_told() -> None:
    def change(roots: Roots) -> None:
        roots[0].children[1] = Section("ice", "Ice", ["Frozen water carries skaters.", "Nobody sails before it thaws."])

    assert told(change) == [("+", "Ice", "added", ""), ("-", "Winds", "removed", "")]


def test_moved_section_tells_from_where_to_where() -> None:
    def change(roots: Roots) -> None:
        roots[1].children.append(roots[0].children.pop(1))

    assert told(change) == [("~", "Winds", "moved", "from “The sea” to “The land”")]


def test_section_that_changed_places_with_its_neighbours_is_moved() -> None:
    def change(roots: Roots) -> None:
        roots[0].children.append(roots[0].children.pop(0))

    assert told(change) == [("~", "Tides", "moved", "to another place among its neighbours")]


def test_retitled_and_edited_section_tells_its_old_title() -> None:
    def change(roots: Roots) -> None:
        section = roots[0].children[0]
        section.title = "Ebb and flood"
        section.text[3] = "Another line."

    assert told(change) == [("~", "Ebb and flood", "edited, retitled", "was “Tides”")]


def test_split_and_merged_sections_name_each_other() -> None:
    def split(roots: Roots) -> None:
        tides = roots[0].children[0]
        roots[0].children.insert(1, Section("half", "Neaps", tides.text[5:]))
        del tides.text[5:]

    changes, old, new = compare(split)
    tides = next(node for node in old.walk() if node.title == "Tides")
    (piece,) = [entry for entry in tell(changes, old, new) if entry.sign == "+"]
    assert (piece.what, piece.detail) == ("split", f"from “Tides” ({tides.node_id})")

    def merge(roots: Roots) -> None:
        winds = roots[0].children.pop(1)
        roots[0].children[0].text += winds.text

    changes, old, new = compare(merge)
    heir = next(node for node in new.walk() if node.title == "Tides")
    (ended,) = [entry for entry in tell(changes, old, new) if entry.sign == "-"]
    assert (ended.what, ended.detail) == ("merged", f"into “Tides” ({heir.node_id})")


def test_lines_that_only_moved_are_no_change_but_are_counted() -> None:
    def change(roots: Roots) -> None:
        roots.insert(0, Section("preface", "Preface", text("preface")))

    changes, old, new = compare(change)
    entries = tell(changes, old, new)
    assert [entry.node.title for entry in entries] == ["Preface"]
    assert count_words(entries, changes) == "1 added"


def test_no_difference_says_so() -> None:
    changes, old, new = compare(lambda roots: None)
    assert count_words(tell(changes, old, new), changes) == "no section changed"
    assert change_lines(changes, old, new, has_pages=False) == []
    assert len(markdown_lines("book.md", changes, old, new, has_pages=False)) == 3


@pytest.mark.parametrize("length", [10, 60, 200])
def test_lines_fit_a_terminal_of_eighty_columns_whatever_the_title(length: int) -> None:
    def change(roots: Roots) -> None:
        roots[0].children[0].title = ("Ebb and flood " * 20)[:length].strip()
        roots[0].children[1].text[0] = "Another line."

    lines = change_lines(*compare(change), has_pages=True)
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)


def test_markdown_shows_hostile_titles_as_text() -> None:
    def change(roots: Roots) -> None:
        roots[0].children[0].title = "A | b <img src=x> [link](http://x) @all &lt; `c` *d*\x1b[31m"

    rows = markdown_lines("book|.md", *compare(change), has_pages=False)
    (row,) = [line for line in rows if line.startswith("| ~ |")]
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 7
    bare = re.sub(r"\\.", "", cells[2])
    assert not set(bare) & set("<>[]`*@|&")
    assert "\x1b" not in row
    assert rows[0] == "### book\\|.md"


def test_changed_text_stands_in_a_fence_that_it_cannot_close() -> None:
    def change(roots: Roots) -> None:
        roots[0].children[0].text[0] = "```` and more"

    changes, old, new = compare(change)
    rows = markdown_lines(
        "b.md", changes, old, new, has_pages=False, read_diff=lambda _: "--- a\n+++ b\n-Line 0\n+```` and more"
    )
    opened = next(line for line in rows if line.endswith("diff") and line.startswith("`"))
    assert opened == "`````diff"
    assert "`````" in rows
