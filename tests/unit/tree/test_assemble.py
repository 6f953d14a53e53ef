import time
from dataclasses import replace

import pytest

from pageindex_local import ids
from pageindex_local.errors import TreeError
from pageindex_local.records import Heading, NodeKind, Origin, Page, ParsedDocument
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.text import own_text, span_text
from pageindex_local.tree.validate import validate_tree
from tests.unit.tree.printed import outline, print_pages, tree_settings

SETTINGS = tree_settings()


def test_build_nested_headings_gives_page_ranges_and_introductions() -> None:
    printed = print_pages(
        ["# 1 Cats", "Cats purr.", "## 1.1 Coat", "Fur."],
        ["More fur.", "## 1.2 Diet", "Fish."],
        ["# 2 Dogs", "Dogs bark."],
    )
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [
        (1, "1 Cats", 1, 2),
        (2, "1 Cats <introduction>", 1, 1),
        (2, "1.1 Coat", 1, 2),
        (2, "1.2 Diet", 2, 2),
        (1, "2 Dogs", 3, 3),
    ]
    assert validate_tree(tree, printed.document.pages) == []


def test_build_section_at_page_top_leaves_the_page_to_it() -> None:
    printed = print_pages(["# A", "text", "~ 1"], ["~ Manual", "", "# B", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1), (1, "B", 2, 2)]
    assert [node.span for node in tree.walk()] == [(0, 3), (3, 7)]


def test_build_section_below_text_shares_the_page() -> None:
    printed = print_pages(["# A", "text"], ["end of A", "# B", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 2), (1, "B", 2, 2)]


def test_build_heading_directly_above_its_first_child_adds_no_introduction() -> None:
    printed = print_pages(["# A", "~ head", "", "## A.1", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1), (2, "A.1", 1, 1)]
    assert tree.nodes["d00002"].span == (0, 5)
    assert tree.nodes["d00002"].heading == (3, 4)


def test_build_heading_alone_on_its_page_keeps_the_page_as_introduction() -> None:
    printed = print_pages(["# Part One"], ["## Chapter", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "Part One", 1, 2), (2, "Part One <introduction>", 1, 1), (2, "Chapter", 2, 2)]


def test_build_text_before_first_heading_becomes_front_matter() -> None:
    printed = print_pages(["The Title", "An Author"], ["# A", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "Front matter <front_matter>", 1, 1), (1, "A", 2, 2)]


def test_build_running_line_before_first_heading_belongs_to_it() -> None:
    printed = print_pages(["~ Manual", "# A", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1)]
    assert tree.nodes["d00001"].span == (0, 3)


def test_build_level_jumps_are_closed() -> None:
    printed = print_pages(["### A", "a", "# B", "b", "#### C", "c", "### D", "d", "## E", "e"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert [(level, title) for level, title, _, _ in outline(tree)] == [
        (1, "A"),
        (1, "B"),
        (2, "B <introduction>"),
        (2, "C"),
        (2, "D"),
        (2, "E"),
    ]


def test_build_deep_headings_are_clipped_at_max_depth() -> None:
    lines = [f"{'#' * level} T{level}" for level in range(1, 61)]
    printed = print_pages(lines)
    tree = build_tree(printed.document, printed.headings, tree_settings(max_depth=5))
    levels = [node.level for node in tree.walk() if node.kind is NodeKind.SECTION]
    assert levels == [1, 2, 3, 4] + [5] * 56
    assert validate_tree(tree, printed.document.pages) == []


def test_build_sixty_nested_headings_keeps_sixty_levels_when_allowed() -> None:
    printed = print_pages([f"{'#' * level} T{level}" for level in range(1, 61)])
    tree = build_tree(printed.document, printed.headings, tree_settings(max_depth=64))
    assert max(node.level for node in tree.walk()) == 60
    assert validate_tree(tree, printed.document.pages) == []


def test_build_hostile_title_is_cleaned() -> None:
    printed = print_pages(["# x", "text"])
    title = "Safe\x1b[31m red\u202etxt\nline\x07"
    tree = build_tree(printed.document, [replace(printed.headings[0], title=title)], SETTINGS)
    assert tree.nodes["d00001"].title == "Safe redtxt line"


def test_build_blank_title_is_dropped() -> None:
    printed = print_pages(["# A", "text", "#  ", "text"])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1)]


def test_build_doubled_heading_is_kept_once() -> None:
    printed = print_pages(["# A", "text"])
    tree = build_tree(printed.document, [printed.headings[0], printed.headings[0]], SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1)]


def test_build_two_titles_on_one_line_keeps_both() -> None:
    printed = print_pages(["# Part", "text"])
    chapter = replace(printed.headings[0], title="Chapter", level=2)
    tree = build_tree(printed.document, [printed.headings[0], chapter], SETTINGS)
    assert outline(tree) == [(1, "Part", 1, 1), (2, "Chapter", 1, 1)]
    assert validate_tree(tree, printed.document.pages) == []


def test_build_outline_entries_to_blank_pages_keeps_each_on_its_page() -> None:
    document = print_pages(*[[] for _ in range(11)]).document
    headings = [Heading("Blank Page", 1, (0, 0), page, Origin.OUTLINE, 1.0) for page in range(1, 12)]
    tree = build_tree(document, headings, SETTINGS)
    assert [(node.first_page, node.last_page) for node in tree.walk()] == [(page, page) for page in range(1, 12)]
    assert validate_tree(tree, document.pages) == []


def test_build_blank_page_between_sections_belongs_to_the_one_before() -> None:
    printed = print_pages(["# A", "text"], [], [], ["# B", "text"], [])
    tree = build_tree(printed.document, printed.headings, SETTINGS)
    assert outline(tree) == [(1, "A", 1, 3), (1, "B", 4, 5)]
    assert validate_tree(tree, printed.document.pages) == []


def test_build_spans_outside_the_document_are_clamped() -> None:
    printed = print_pages(["# A", "text"])
    far = Heading("Far", 1, (900, 901), 99, Origin.OUTLINE, 0.5)
    tree = build_tree(printed.document, [*printed.headings, far], SETTINGS)
    assert outline(tree) == [(1, "A", 1, 1), (1, "Far", 1, 1)]
    assert validate_tree(tree, printed.document.pages) == []


def test_build_document_without_headings_gives_one_titled_part() -> None:
    printed = print_pages(["It was a bright cold day in April, and the clocks were striking thirteen. Winston"])
    tree = build_tree(printed.document, [], SETTINGS)
    assert outline(tree) == [(1, "It was a bright cold day in April, and the… <part>", 1, 1)]


def test_build_document_without_words_is_named_by_pages() -> None:
    printed = print_pages(["--"], ["...", "~ Manual"])
    tree = build_tree(printed.document, [], SETTINGS)
    assert outline(tree) == [(1, "Pages 1-2 <part>", 1, 2)]


def test_build_document_without_pages_raises() -> None:
    document = replace(print_pages(["x"]).document, pages=())
    with pytest.raises(TreeError, match=r"manual\.pdf: has no pages"):
        build_tree(document, [], SETTINGS)


def test_build_hashes_are_those_of_own_text() -> None:
    printed = print_pages(
        ["Cover"], ["# A", "intro", "~ 1", "## B", "## C", "text c"], ["~ head", "# D", "text d", "more"]
    )
    document = printed.document
    tree = build_tree(document, printed.headings, SETTINGS)
    texts = {(node.title, node.kind.value): own_text(document, tree, node).split() for node in tree.walk()}
    assert texts == {
        ("Front matter", "front_matter"): ["Cover"],
        ("A", "section"): [],
        ("A", "introduction"): ["intro"],
        ("B", "section"): [],
        ("C", "section"): ["text", "c"],
        ("D", "section"): ["text", "d", "more"],
    }
    for node in tree.walk():
        assert node.own_hash == ids.own_hash(node.title, own_text(document, tree, node))
        children = [tree.nodes[child].subtree_hash for child in node.children]
        assert node.subtree_hash == ids.subtree_hash(node.own_hash, children)


def test_build_moved_text_keeps_hashes() -> None:
    before = print_pages(["# A", "text a", "# B", "text b"])
    after = print_pages(["~ New head", "# A"], ["~ New head", "text a"], ["~ New head", "# 2. B", "text b"])
    first = build_tree(before.document, before.headings, SETTINGS)
    second = build_tree(after.document, after.headings, SETTINGS)
    assert [node.subtree_hash for node in first.walk()] == [node.subtree_hash for node in second.walk()]


def test_read_span_text_leaves_running_lines_out() -> None:
    document = print_pages(["~ head", "one", "two"], ["~ head", "three"], ["four"]).document
    assert span_text(document, (0, 5)) == "one\ntwo\nthree"
    assert span_text(document, (2, 6)) == "two\nthree\nfour"
    assert span_text(document, (3, 3)) == ""


def test_build_five_thousand_pages_takes_linear_time() -> None:
    def seconds(page_count: int) -> float:
        body = ["plain words on a line that fills the page"] * 40
        printed = print_pages(*[["~ head", "# One", *body[:20], "## Two", *body[20:]] for _ in range(page_count)])
        started = time.process_time()
        tree = build_tree(printed.document, printed.headings, SETTINGS)
        assert validate_tree(tree, printed.document.pages) == []
        return time.process_time() - started

    small, large = seconds(500), seconds(5_000)
    assert large < 40 * max(small, 0.1)  # ten times the pages on a busy machine; quadratic would be a hundred


def test_build_trailing_heading_at_the_end_of_lines_stays_on_the_last_page() -> None:
    printed = print_pages(["# A", "text"], ["more"])
    end = Heading("Colophon", 1, (3, 3), 2, Origin.OUTLINE, 0.9)
    tree = build_tree(printed.document, [*printed.headings, end], SETTINGS)
    assert outline(tree) == [(1, "A", 1, 2), (1, "Colophon", 2, 2)]
    assert validate_tree(tree, printed.document.pages) == []


def test_build_pages_tuple_is_not_required_to_start_with_text() -> None:
    document = ParsedDocument(
        print_pages(["x"]).document.source, (Page(1, "i", 0, ()), *_shifted(print_pages(["# A", "text"]).document))
    )
    headings = [Heading("A", 1, (0, 1), 2, Origin.LAYOUT, 0.9)]
    tree = build_tree(document, headings, SETTINGS)
    assert outline(tree) == [(1, "Front matter <front_matter>", 1, 1), (1, "A", 2, 2)]
    assert validate_tree(tree, document.pages) == []


def _shifted(document: ParsedDocument) -> tuple[Page, ...]:
    return tuple(replace(page, page_number=page.page_number + 1) for page in document.pages)
