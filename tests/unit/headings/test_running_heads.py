"""Pages made line by line: what repeats is tagged, what only looks alike is not."""

import time
from collections.abc import Sequence

from pageindex_local.headings.running_heads import tag_running_lines
from pageindex_local.records import Line, LineRole, Page

HEIGHT = 800.0


def _line(text: str, y: float, size: float = 10.0, *, bold: bool = False) -> Line:
    return Line(text, (72.0, y, 300.0, y + size), size, "Serif", bold)


def _pages(bodies: Sequence[Sequence[Line]]) -> list[Page]:
    pages = []
    first = 0
    for number, lines in enumerate(bodies, 1):
        text = [_line(f"Words {number}-{row} that differ from page to page.", 150 + 14 * row) for row in range(20)]
        page = Page(number, str(number), first, (*lines, *text), 600.0, HEIGHT)
        pages.append(page)
        first += len(page.lines)
    return pages


def _running(pages: Sequence[Page]) -> list[list[str]]:
    return [[line.text for line in page.lines if line.role is LineRole.RUNNING] for page in tag_running_lines(pages)]


def test_tag_same_head_on_every_page_is_running() -> None:
    assert _running(_pages([[_line("The Manual", 40)]] * 5)) == [["The Manual"]] * 5


def test_tag_heads_that_alternate_between_left_and_right_pages_are_running() -> None:
    heads = ["The Manual", "A. N. Author"] * 4
    assert _running(_pages([[_line(head, 40)] for head in heads])) == [[head] for head in heads]


def test_tag_section_heads_that_change_with_runs_of_pages_are_running() -> None:
    heads = [f"{number // 4 + 1}. Section {'abcde'[number // 4]}" for number in range(20)]
    assert _running(_pages([[_line(head, 40)] for head in heads])) == [[head] for head in heads]


def test_tag_page_numbers_are_running_arabic_roman_and_within_words() -> None:
    feet = ["i", "ii", "iii", "iv", "1", "2", "3", "4"]
    assert _running(_pages([[_line(foot, 770)] for foot in feet])) == [[foot] for foot in feet]
    words = [f"Page {number} of 9" for number in range(1, 10)]
    assert _running(_pages([[_line(foot, 770)] for foot in words])) == [[foot] for foot in words]


def test_tag_number_and_head_in_one_line_is_running_though_it_differs() -> None:
    heads = [f"{number} CHAPTER {['ONE', 'TWO', 'SIX'][number // 4 - 1]}" for number in range(4, 16)]
    assert _running(_pages([[_line(head, 40)] for head in heads])) == [[head] for head in heads]


def test_tag_chapter_titles_at_the_top_in_large_type_are_not_running() -> None:
    titles = [[_line(f"Chapter {number}", 40, 18)] for number in range(1, 9)]
    assert _running(_pages(titles)) == [[]] * 8


def test_tag_slide_titles_that_repeat_on_the_next_slide_are_not_running() -> None:
    titles = ["Goals", "Step by step", "Step by step", "Step by step", "Summary", "Questions", "Answers", "Thanks"]
    assert _running(_pages([[_line(title, 20, 20, bold=True)] for title in titles])) == [[]] * 8


def test_tag_headings_far_apart_with_the_same_words_are_not_running() -> None:
    bodies = [[_line("Overview", 40, bold=True)] if number % 10 == 0 else [] for number in range(40)]
    assert _running(_pages(bodies)) == [[]] * 40


def test_tag_same_words_at_other_heights_are_not_running() -> None:
    bodies = [[_line("For example:", 30 + 17 * number)] for number in range(4)]
    assert _running(_pages(bodies)) == [[]] * 4


def test_tag_contents_entries_at_the_foot_are_not_running() -> None:
    bodies = [[_line(f"Item {'abcdef'[number]} . . . . . . . . {number + 1}", 770)] for number in range(6)]
    assert _running(_pages(bodies)) == [[]] * 6


def test_tag_figures_that_count_down_or_stay_are_not_page_numbers() -> None:
    bodies = [[_line(f"Revenue in {'abcde'[number]} of {2025 - number}", 770)] for number in range(5)]
    assert _running(_pages(bodies)) == [[]] * 5


def test_tag_changes_nothing_but_roles() -> None:
    pages = _pages([[_line("The Manual", 40)]] * 4)
    for before, after in zip(pages, tag_running_lines(pages), strict=True):
        assert after.text == before.text
        assert after.span == before.span
        assert [line.box for line in after.lines] == [line.box for line in before.lines]


def test_tag_pages_without_lines_or_sizes_gives_them_back() -> None:
    assert tag_running_lines(()) == ()
    pages = [Page(1, "1", 0, (Line(""),), 600.0, 800.0), Page(2, "2", 1, (Line("text"),))]
    assert tag_running_lines(pages) == tuple(pages)


def test_tag_time_grows_no_faster_than_pages() -> None:
    small = _pages([[_line("The Manual", 40), _line(str(number), 770)] for number in range(1, 301)])
    large = _pages([[_line("The Manual", 40), _line(str(number), 770)] for number in range(1, 3001)])
    seconds = []
    for pages in (small, large):
        begin = time.process_time()
        tag_running_lines(pages)
        seconds.append(time.process_time() - begin)
    assert seconds[1] < 40 * max(seconds[0], 0.005)


def test_tag_section_names_that_count_with_the_pages_are_not_running() -> None:
    names = [[_line(f"{number} Section {number}", 40)] for number in range(1, 9)]
    assert _running(_pages(names)) == [[]] * 8
