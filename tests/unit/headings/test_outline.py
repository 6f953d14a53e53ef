from pageindex_local.headings.outline import clean_outline, find_outline_headings
from pageindex_local.headings.outline_levels import close_up, settle_levels
from pageindex_local.headings.title_index import build_title_index
from pageindex_local.records import Heading, Line, Origin, OutlineEntry
from tests.unit.headings.page_builder import Text, body, heading, make_document

PAGES = [
    [heading("1 Scope"), *body()],
    [heading("2 Terms"), *body(), heading("2.1 Words", 12.0), *body()],
    [heading("3 A title that is so long that it"), heading("wraps over two lines"), *body()],
    [heading("4 Uses"), *body()],
]


def _find(outline: list[OutlineEntry], pages: list[list[Text]] | None = None) -> list[Heading]:
    document = make_document(pages or PAGES, outline)
    return list(find_outline_headings(document, build_title_index(document), 10.0).headings)


def test_find_when_all_entries_hold_returns_them_on_their_lines() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(1, "Terms", 2), OutlineEntry(2, "Words", 2)])
    assert [(h.title, h.level, h.page_number, h.origin) for h in found] == [
        ("Scope", 1, 1, Origin.OUTLINE),
        ("Terms", 1, 2, Origin.OUTLINE),
        ("Words", 2, 2, Origin.OUTLINE),
    ]
    assert [h.span[0] for h in found] == [0, 6, 12]


def test_find_when_the_title_wraps_spans_both_lines() -> None:
    found = _find([OutlineEntry(1, "A title that is so long that it wraps over two lines", 3)])
    assert found[0].span[1] - found[0].span[0] == 2


def test_find_when_the_title_is_on_the_next_page_moves_there() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(1, "Uses", 3)])
    assert [(h.title, h.page_number) for h in found] == [("Scope", 1), ("Uses", 4)]


def test_find_when_the_destination_is_missing_searches_between_the_neighbours() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(1, "Terms", 0), OutlineEntry(1, "Uses", 4)])
    assert [(h.title, h.page_number) for h in found] == [("Scope", 1), ("Terms", 2), ("Uses", 4)]


def test_find_when_an_entry_is_doubled_keeps_one() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(2, "Scope", 1), OutlineEntry(1, "Uses", 4)])
    assert [h.title for h in found] == ["Scope", "Uses"]


def test_find_when_chapter_and_section_share_a_title_keeps_both() -> None:
    pages = [[heading("Fonts", 20.0), *body(), heading("1.1 Fonts"), *body()]]
    found = _find([OutlineEntry(1, "Fonts", 1), OutlineEntry(2, "Fonts", 1)], pages)
    assert [(h.title, h.level, h.span[0]) for h in found] == [("Fonts", 1, 0), ("Fonts", 2, 6)]


def test_find_when_titles_are_printed_nowhere_drops_them() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(1, "Mock-up V1", 2), OutlineEntry(1, "Do not remove", 3)])
    assert [h.title for h in found] == ["Scope"]


def test_find_when_one_title_of_many_is_not_printed_keeps_it_at_its_page() -> None:
    pages = [[heading(f"{n} Topic {'abcdefghijklmnopqrst'[n]}{n}"), *body()] for n in range(20)]
    outline = [OutlineEntry(1, f"Topic {'abcdefghijklmnopqrst'[n]}{n}", n + 1) for n in range(20)]
    outline[7] = OutlineEntry(1, "Photograph of the plant", 8)
    found = _find(outline, pages)
    assert [h.page_number for h in found] == list(range(1, 21))
    assert found[7].span[0] == found[7].span[1]


def test_find_when_an_entry_points_backwards_keeps_document_order() -> None:
    found = _find([OutlineEntry(1, "Scope", 1), OutlineEntry(1, "Uses", 4), OutlineEntry(1, "Terms", 2)])
    pages = [h.page_number for h in found]
    assert pages == sorted(pages)


def test_find_when_the_title_is_only_in_the_running_head_stays_on_its_page() -> None:
    pages = [[Text("PART 1: INTRODUCTION", running=True), *body()], [Text("PART 2: FILES", running=True), *body()]]
    found = _find([OutlineEntry(1, "[1] Introduction", 1), OutlineEntry(1, "[2] Files", 2)], pages)
    assert [h.page_number for h in found] == [1, 2]


def test_clean_when_pages_are_out_of_range_forgets_them() -> None:
    cleaned = clean_outline([OutlineEntry(1, "A title", 99), OutlineEntry(1, "  ", 1), OutlineEntry(1, "Other", 2)], 4)
    assert [(entry.title, entry.page_number) for entry in cleaned] == [("A title", 0), ("Other", 2)]


def test_clean_when_titles_hold_codes_of_tex_delimiters_removes_them() -> None:
    cleaned = clean_outline([OutlineEntry(1, 'Use of "426830A glue"526930B here', 1)], 1)
    assert cleaned[0].title == "Use of glue here"


def test_close_up_when_levels_are_skipped_leaves_no_gap() -> None:
    assert close_up([2, 5, 5, 3, 2, 9]) == [1, 2, 2, 2, 1, 2]


def test_settle_when_levels_drift_follows_the_printed_numbers() -> None:
    titles = ["Chapter 1 One", "1.1 Two", "1.2 Three", "Chapter 2 Four", "2.1 Five", "Chapter 3 Six", "3.1 Seven"]
    drifting = [1, 2, 3, 4, 5, 6, 7]
    lines = [Line(title, size=10.0) for title in titles]
    assert settle_levels(drifting, titles, lines) == [1, 2, 2, 1, 2, 1, 2]


def test_settle_when_parts_shift_whole_blocks_keeps_levels() -> None:
    titles = ["Part I", "1 One", "1.1 Two", "1.2 Three", "Part II", "2 Four", "2.1 Five"]
    levels = [1, 2, 3, 3, 1, 2, 3]
    assert settle_levels(levels, titles, [None] * 7) == levels
