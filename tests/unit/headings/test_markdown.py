import pytest

from pageindex_local.headings.markdown import find_markdown_anchors, find_markdown_headings
from pageindex_local.records import Line, MediaType, Origin, Page, ParsedDocument, Source


def _document(text: str, block_lines: int = 5) -> ParsedDocument:
    lines = [Line(line) for line in text.split("\n")]
    pages = tuple(
        Page(number, str(number), start, tuple(lines[start : start + block_lines]))
        for number, start in enumerate(range(0, len(lines), block_lines), 1)
    )
    return ParsedDocument(Source("a.md", "a-0000000000", "a.md", "0" * 64, 1, MediaType.MARKDOWN), pages)


def _headings(text: str) -> list[tuple[int, str, tuple[int, int]]]:
    return [
        (heading.level, heading.title, heading.span) for heading in find_markdown_headings(_document(text)).headings
    ]


def test_find_atx_and_setext_headings_with_their_lines() -> None:
    text = "# One\n\ntext\n\nTwo\n===\n\n### Three ###\n\nFour in\ntwo lines\n---\n"
    assert _headings(text) == [
        (1, "One", (0, 1)),
        (1, "Two", (4, 6)),
        (3, "Three", (7, 8)),
        (2, "Four in two lines", (9, 12)),
    ]


def test_find_gives_the_block_of_each_heading_as_its_page() -> None:
    result = find_markdown_headings(_document("# One\n\n\n\n\n\n# Two"))
    assert [heading.page_number for heading in result.headings] == [1, 2]
    assert {heading.origin for heading in result.headings} == {Origin.MARKDOWN}
    assert result.confidence == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "```\n# in a fence\n```",
        "~~~\n# in a fence\n```\n# still in it\n~~~",
        "text\n\n    # indented code",
        "> # quoted",
        "- # in a list",
        "#NoSpace",
        "####### seven",
        "#",
        "\\# escaped",
        "<div>\n# in HTML\n</div>",
    ],
)
def test_find_where_commonmark_sees_no_section_finds_none(text: str) -> None:
    assert _headings(text) == []


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# *Slanted* and **bold**", "Slanted and bold"),
        ("# The `--flag` option", "The --flag option"),
        ("# [Linked](http://x.y) words", "Linked words"),
        ("# ![Logo](x.png) Project", "Logo Project"),
        ("# A &amp; B &lt;C&gt;", "A & B <C>"),
        ("# snake\\_case", "snake_case"),
        ('# <a id="x"></a>Anchored', "Anchored"),
        ("# Titled {#some-id .class}", "Titled"),
        ("# Set {1, 2}", "Set {1, 2}"),
        ("# 日本語の見出し", "日本語の見出し"),
    ],
)
def test_find_gives_titles_without_markup(line: str, title: str) -> None:
    assert [heading[1] for heading in _headings(line)] == [title]


def test_find_reference_links_in_titles_uses_their_definitions() -> None:
    assert _headings("# See [the spec][1]\n\n[1]: http://x.y\n") == [(1, "See the spec", (0, 1))]


def test_find_after_front_matter_skips_it_and_keeps_line_numbers() -> None:
    assert _headings("---\ntitle: x\n# comment\n---\n# Real") == [(1, "Real", (4, 5))]
    assert _headings("+++\ntitle = 'x'\n+++\n\n# Real") == [(1, "Real", (4, 5))]


def test_find_heading_marked_as_unnumbered_drops_the_mark() -> None:
    assert _headings("# Preface {-}\n\n# Notes {#notes -}\n\n# The sign {-1}") == [
        (1, "Preface", (0, 1)),
        (1, "Notes", (2, 3)),
        (1, "The sign {-1}", (4, 5)),
    ]


def test_find_anchors_in_all_their_forms_by_line() -> None:
    text = (
        '# One {#one}\n\n<a name="two"></a>\n# Two\n\n# <a id="three"></a>Three\n\n'
        '# Four\n\n<a id="five"></a>\n\n# Five'
    )
    assert find_markdown_anchors(text.split("\n")) == {0: "one", 3: "two", 5: "three", 11: "five"}
