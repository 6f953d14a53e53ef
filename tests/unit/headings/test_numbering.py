"""Section number grammars: what a line start reads as, and what follows what."""

import pytest

from pageindex_local.headings.numbering import Shape, is_first, is_next, parse_number, roman_value, word_rank


@pytest.mark.parametrize(
    ("text", "word", "parts", "mark", "title"),
    [
        ("1 Introduction", "", (1,), "", "Introduction"),
        ("1.2.3 Scope", "", (1, 2, 3), "", "Scope"),
        ("7.2. Binary packages", "", (7, 2), ".", "Binary packages"),
        ("Chapter 4 Results", "chapter", (4,), "", "Results"),
        ("CHAPTER1", "chapter", (1,), "", ""),
        ("Chapter One", "chapter", (1,), "", ""),
        ("A.1 Notation", "", (1, 1), "", "Notation"),
        ("Appendix B: Tables", "appendix", (2,), ":", "Tables"),
        ("Article IX", "article", (9,), "", ""),
        ("PART II", "part", (2,), "", ""),
        ("§ 12 Scope", "§", (12,), "", "Scope"),
        ("(a) Disclosure", "", (1,), "()", "Disclosure"),
        ("第3章 設定", "chapter", (3,), "", "設定"),
        ("第十二章 終わり", "chapter", (12,), "", "終わり"),
        ("付録A 書式", "appendix", (1,), "", "書式"),
        ("1-2 Wiring", "", (1, 2), "", "Wiring"),
        ("IV. Analysis", "", (4,), ".", "Analysis"),
        ("Note 1 – Summary", "note", (1,), "-", "Summary"),
        ("3. Terms", "", (3,), ".", "Terms"),
    ],
)
def test_parse_number_at_line_start_reads_word_parts_and_mark(
    text: str, word: str, parts: tuple[int, ...], mark: str, title: str
) -> None:
    number = parse_number(text)[0]
    assert (number.word, number.parts, number.mark, text[number.end :]) == (word, parts, mark, title)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2020 was a year",
        "Part of the plan",
        "section 4 shows",
        "3.0% of sales",
        "PARTIAL 1",
        "Unit tests",
        "a dog",
        "-1",
    ],
)
def test_parse_number_in_running_text_reads_nothing(text: str) -> None:
    assert parse_number(text) == ()


def test_parse_number_with_glued_letter_gives_a_suffix() -> None:
    number = parse_number("Item 7A. Market Risk")[0]
    assert (number.parts, number.suffix) == ((7,), 1)


def test_parse_number_of_ambiguous_letter_gives_both_readings() -> None:
    shapes = {(number.shapes[0], number.parts) for number in parse_number("i. Scope")}
    assert shapes == {(Shape.LOWER_ROMAN, (1,)), (Shape.LOWER_LETTER, (9,))}


@pytest.mark.parametrize("text", ["A Brief History", "I Gnuplot", "007 Agents"])
def test_parse_number_without_mark_of_letter_is_weak(text: str) -> None:
    assert parse_number(text)[0].weak


@pytest.mark.parametrize(("text", "value"), [("iv", 4), ("XLII", 42), ("iiii", 0), ("vx", 0), ("", 0), ("abc", 0)])
def test_roman_value_of_canonical_numerals_only(text: str, value: int) -> None:
    assert roman_value(text) == value


@pytest.mark.parametrize(
    ("before", "after", "follows"),
    [
        ("3.2 A", "3.3 B", True),
        ("3.2 A", "4.3 B", False),
        ("Item 7. A", "Item 7A. B", True),
        ("Item 7A. A", "Item 8. B", True),
        ("Item 7. A", "Part 8. B", False),
        ("1. A", "2) B", False),
        ("1. A", "4. B", False),
    ],
)
def test_is_next_between_numbers_holds_within_one_series(before: str, after: str, follows: bool) -> None:
    first, second = parse_number(before)[0], parse_number(after)[0]
    assert (is_next(first, second) and first.mark == second.mark) is follows


def test_is_first_of_opening_numbers_holds() -> None:
    assert [is_first(parse_number(text)[0]) for text in ("1. A", "A. B", "2. C")] == [True, True, False]


def test_word_rank_orders_part_over_chapter_over_item() -> None:
    assert word_rank("part") < word_rank("chapter") < word_rank("item") < word_rank("")
