import pytest

from pageindex_local.headings.printed_toc import find_printed_toc_headings
from pageindex_local.headings.printed_toc.combine import combine_lists
from pageindex_local.headings.printed_toc.entries import NumberKind, number_kind, read_entries
from pageindex_local.headings.printed_toc.pages import find_contents_lists, is_contents_heading, roman_value
from pageindex_local.headings.printed_toc.rows import read_rows, split_label
from pageindex_local.headings.title_index import build_title_index
from pageindex_local.records import Heading, Line, Origin, Page
from tests.unit.headings.page_builder import Text, body, contents_row, heading, make_document, make_page

CHAPTERS = ["Scope", "Terms", "Duties", "Payments", "Disputes", "Endings"]


def _book(front_pages: int, *, roman_preface: bool = False) -> list[list[Text]]:
    rows = [contents_row(f"{n} {title}", str(n * 2 - 1)) for n, title in enumerate(CHAPTERS, 1)]
    if roman_preface:
        rows.insert(0, contents_row("Preface", "iii"))
    pages: list[list[Text]] = [[heading("Contents"), *rows]]
    pages += [[*body()] for _ in range(front_pages - 1)]
    if roman_preface:
        pages[2] = [heading("Preface"), *body()]
    for n, title in enumerate(CHAPTERS, 1):
        pages += [[heading(f"{n} {title}"), *body()], body()]
    return pages


def _find(pages: list[list[Text]]) -> list[Heading]:
    document = make_document(pages)
    return list(find_printed_toc_headings(document, build_title_index(document), 10.0).headings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.3 Uses of words . . . . . 17", ("2.3 Uses of words", "17", True)),
        ("Business 4", ("Business", "4", False)),
        ("Preface ....... xiv", ("Preface", "xiv", True)),
        (". . . . . . 6 1.1 About this document", ("1.1 About this document", "6", True)),
        ("Appendix tables . . . A-3", ("Appendix tables", "A-3", True)),
        ("Chapter notes .... 3-12", ("Chapter notes", "3-12", True)),
        ("Laying out the page 7", ("Laying out the page", "7", False)),
        ("PART II", ("PART II", "", False)),
        ("12 . . . 14", ("12 . . . 14", "", False)),
    ],
)
def test_split_label_when_a_row_ends_in_a_page_takes_it_off(text: str, expected: tuple[str, str, bool]) -> None:
    assert split_label(text) == expected


@pytest.mark.parametrize(("text", "value"), [("xiv", 14), ("IX", 9), ("mix", 1009), ("abc", 0), ("", 0)])
def test_roman_value_reads_numerals_and_nothing_else(text: str, value: int) -> None:
    assert roman_value(text) == value


@pytest.mark.parametrize(
    "text", ["Contents", "TABLE OF CONTENTS", "Inhaltsverzeichnis", "目次", "Sommaire", "Содержание"]
)
def test_contents_heading_is_known_in_many_languages(text: str) -> None:
    assert is_contents_heading(text)


@pytest.mark.parametrize("text", ["Contents of the box", "List of Figures", "Index"])
def test_other_headings_are_not_contents_headings(text: str) -> None:
    assert not is_contents_heading(text)


@pytest.mark.parametrize(
    ("title", "kind", "number"),
    [
        ("PART II", NumberKind.PART, "II"),
        ("Chapter 7 Ends", NumberKind.CHAPTER, "7"),
        ("Appendix B Forms", NumberKind.APPENDIX, "B"),
        ("Item 1A. Risk Factors", NumberKind.ITEM, "1A"),
        ("3.2.1 Words", NumberKind.DOTTED, "3.2.1"),
        ("A.2 Words", NumberKind.DOTTED, "A.2"),
        ("12 Words", NumberKind.ARABIC, "12"),
        ("IV. Words", NumberKind.ROMAN, "IV"),
        ("B. Words", NumberKind.UPPER, "B"),
        ("(3) Words", NumberKind.PAREN, "3"),
        ("Appendixes", NumberKind.NONE, ""),
        ("A sample of words", NumberKind.NONE, ""),
        ("1984 was a year", NumberKind.NONE, ""),
    ],
)
def test_number_kind_tells_numbers_from_words(title: str, kind: NumberKind, number: str) -> None:
    assert number_kind(title) == (kind, number)


def test_rows_when_labels_are_separate_lines_are_joined_on_the_baseline() -> None:
    left = Line("1 Scope", (72, 100, 150, 110), 10)
    right = Line("9", (530, 100, 540, 110), 10)
    rows = read_rows(Page(1, "1", 0, (left, right), 612, 792))
    assert [(row.title, row.label, row.lines) for row in rows] == [("1 Scope", "9", (0, 1))]


def test_rows_when_there_are_two_columns_read_column_by_column() -> None:
    lines = []
    for step, (first, second) in enumerate([("Alpha 1", "Gamma 8"), ("Beta 4", "Delta 9")]):
        top = 100 + 14 * step
        lines += [Line(first, (72, top, 280, top + 10), 10), Line(second, (330, top, 540, top + 10), 10)]
    rows = read_rows(Page(1, "1", 0, tuple(lines), 612, 792))
    assert [row.title for row in rows] == ["Alpha", "Beta", "Gamma", "Delta"]


def test_entries_when_a_title_wraps_before_its_label_join_both_rows() -> None:
    texts = [
        contents_row("1. Retail Customer", "83", 144),
        Text("5. Request for Comment on Key Terms and Scope of Best", 144),
        contents_row("Interest Obligation", "90", 185),
    ]
    entries = read_entries(read_rows(make_page(1, 0, texts)))
    assert [(e.title, e.label) for e in entries] == [
        ("1. Retail Customer", "83"),
        ("5. Request for Comment on Key Terms and Scope of Best Interest Obligation", "90"),
    ]


def test_entries_when_parts_have_no_page_nest_items_below_them() -> None:
    texts = [
        Text("PART I", 43),
        contents_row("Item 1. Business", "4", 43),
        contents_row("Item 2. Properties", "19", 43),
        Text("PART II", 43),
        contents_row("Item 5. Market", "20", 43),
    ]
    entries = read_entries(read_rows(make_page(1, 0, texts)))
    assert [(e.title, e.level) for e in entries] == [
        ("PART I", 1),
        ("Item 1. Business", 2),
        ("Item 2. Properties", 2),
        ("PART II", 1),
        ("Item 5. Market", 2),
    ]


def test_entries_when_indents_are_equal_take_levels_from_numbers() -> None:
    texts = [
        contents_row(title, str(page)) for page, title in enumerate(["1 One", "1.1 Two", "1.1.1 Three", "2 Four"], 1)
    ]
    entries = read_entries(read_rows(make_page(1, 0, texts)))
    assert [e.level for e in entries] == [1, 2, 3, 1]


def test_entries_when_unnumbered_take_levels_from_indents() -> None:
    texts = [
        contents_row("Birds", "1", 72),
        contents_row("Owls", "2", 90),
        contents_row("Barn owls", "3", 108),
        contents_row("Fish", "9", 72),
    ]
    entries = read_entries(read_rows(make_page(1, 0, texts)))
    assert [e.level for e in entries] == [1, 2, 3, 1]


def test_entries_when_run_in_are_taken_apart_across_hyphens() -> None:
    texts = [
        contents_row("7 Prose", "5"),
        contents_row("8 Poems", "10"),
        Text("8.1 Sonnets 12, 8.2 Limer-", 100),
        Text("icks 14, 8.3 Odes 15", 100, x1=300),
    ]
    document = make_document([[heading("Contents"), *texts]])
    found = find_contents_lists(document.pages)
    entries = read_entries(found[0].rows)
    assert [(e.title, e.label) for e in entries[1:]] == [
        ("8 Poems", "10"),
        ("8.1 Sonnets", "12"),
        ("8.2 Limericks", "14"),
        ("8.3 Odes", "15"),
    ]


def test_lists_of_figures_are_no_contents() -> None:
    texts = [heading("List of Figures"), *(contents_row(f"Figure {n} Shapes", str(n + 3)) for n in range(1, 7))]
    found = find_contents_lists(make_document([texts, *[body()] * 12]).pages)
    assert [item.is_contents for item in found] == [False]


def test_find_when_pages_are_shifted_finds_the_offset_by_consensus() -> None:
    found = _find(_book(4))
    assert [h.title for h in found] == [f"{n} {title}" for n, title in enumerate(CHAPTERS, 1)]
    assert [h.page_number for h in found] == [5, 7, 9, 11, 13, 15]
    assert {h.origin for h in found} == {Origin.TOC}


def test_find_when_the_preface_has_a_roman_page_uses_an_offset_of_its_own() -> None:
    found = _find(_book(4, roman_preface=True))
    assert [(h.title, h.page_number) for h in found[:2]] == [("Preface", 3), ("1 Scope", 5)]


def test_find_when_pages_were_inserted_later_changes_the_offset_there() -> None:
    pages = _book(4)
    pages[10:10] = [body(), body(), body()]  # plates before the fourth chapter
    found = _find(pages)
    assert [h.page_number for h in found] == [5, 7, 9, 14, 16, 18]


def test_find_when_a_title_is_a_picture_places_it_on_its_page() -> None:
    pages = _book(4)
    pages[8] = body()  # the third chapter's title is not text
    found = _find(pages)
    assert [h.page_number for h in found] == [5, 7, 9, 11, 13, 15]
    assert found[2].span[0] == found[2].span[1]


def test_find_when_the_list_points_backwards_takes_it_for_an_index() -> None:
    pages = _book(4)
    contents = pages.pop(0)
    pages.insert(0, body())
    pages.append([Text("Words", bold=True), *contents[1:]])
    assert _find(pages) == []


def test_find_when_titles_are_elsewhere_believes_nothing() -> None:
    pages = _book(4)
    pages[0] = [heading("Contents"), *(contents_row(f"Unrelated thing {n}", str(n)) for n in range(1, 9))]
    assert _find(pages) == []


def test_find_when_the_contents_have_no_pages_searches_in_order() -> None:
    pages = [[heading("Contents"), *(Text(f"{n}. {title}") for n, title in enumerate(CHAPTERS, 1))]]
    pages.append([Text("Set in type and printed by the author"), Text("All rights are kept")])
    pages += [[*body(), heading(f"{n}. {title.upper()}"), *body()] for n, title in enumerate(CHAPTERS, 1)]
    found = _find(pages)
    assert [h.page_number for h in found] == [3, 4, 5, 6, 7, 8]


def test_find_when_an_agenda_returns_before_each_section_starts_sections_there() -> None:
    agenda = [heading("Agenda"), *(Text(f"{n} {title}") for n, title in enumerate(CHAPTERS[:4], 1))]
    pages: list[list[Text]] = [[heading("A talk")], list(agenda)]
    for _ in range(4):
        pages += [list(agenda), [heading("Some slide"), *body()]]
    found = _find(pages)
    assert [(h.title, h.page_number) for h in found] == [
        ("1 Scope", 3),
        ("2 Terms", 5),
        ("3 Duties", 7),
        ("4 Payments", 9),
    ]


def _headings(*items: tuple[int, int]) -> list[Heading]:
    return [Heading(f"T{line}", level, (line, line + 1), 1, Origin.TOC, 1.0) for line, level in items]


def test_combine_when_a_list_lies_inside_a_section_puts_it_below() -> None:
    combined, used = combine_lists([_headings((10, 1), (50, 1)), _headings((20, 1), (30, 2))])
    assert [(h.span[0], h.level) for h in combined] == [(10, 1), (20, 2), (30, 3), (50, 1)]
    assert used == [0, 1]


def test_combine_when_a_list_follows_all_others_keeps_its_levels() -> None:
    combined, _ = combine_lists([_headings((10, 1), (20, 2)), _headings((30, 1), (40, 2))])
    assert [h.level for h in combined] == [1, 2, 1, 2]


def test_combine_when_lists_overlap_leaves_the_weaker_out() -> None:
    combined, used = combine_lists([_headings((10, 1), (30, 1)), _headings((5, 1), (20, 1))])
    assert [h.span[0] for h in combined] == [10, 30]
    assert used == [0]


def test_find_entries_whose_number_touches_the_title_are_placed_and_read_apart() -> None:
    titles = [f"Rule {name}" for name in ("ash", "bay", "cob", "dew", "elm", "fog", "gnu", "hop", "ivy", "jam", "kin")]
    rows = [contents_row("1 Rules", "1"), *(contents_row(f"1.{n} {t}", str(n)) for n, t in enumerate(titles[:9], 1))]
    rows += [contents_row(f"1.{n}{t}", str(n)) for n, t in enumerate(titles[9:], 10)]
    pages = [[heading("Contents"), *rows], [heading("1 Rules"), heading(f"1.1 {titles[0]}"), *body()]]
    pages += [[heading(f"1.{n} {t}"), *body()] for n, t in enumerate(titles[1:], 2)]
    assert [(h.title, h.page_number) for h in _find(pages)[1:]] == [
        (f"1.{n} {t}", n + 1) for n, t in enumerate(titles, 1)
    ]


def test_read_entries_title_that_starts_with_a_measure_keeps_it() -> None:
    rows = read_rows(make_page(1, 0, [contents_row(t, str(n)) for n, t in enumerate(["1 Plugs", "3.5mm plugs"], 1)]))
    assert [entry.title for entry in read_entries(rows)] == ["1 Plugs", "3.5mm plugs"]


def test_find_entry_takes_the_class_word_that_stands_before_its_title_in_the_body() -> None:
    pages = [[heading("Contents"), *(contents_row(f"{n}. {t}", str(n)) for n, t in enumerate(CHAPTERS, 1))]]
    pages += [[heading(f"Kapitel {n}. {t}"), *body()] for n, t in enumerate(CHAPTERS, 1)]
    assert [h.title for h in _find(pages)] == [f"Kapitel {n}. {t}" for n, t in enumerate(CHAPTERS, 1)]
