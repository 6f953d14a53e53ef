"""Series of section numbers: continuing, opening, restarting, and being wrong."""

import time

from pageindex_local.headings.numbering import parse_number
from pageindex_local.headings.sequences import Link, Numbered, follow_sequences, follows


def _follow(*texts: str, style: str = "head") -> tuple[Link, ...]:
    return follow_sequences([Numbered(parse_number(text), style) for text in texts])


def test_follow_sequences_of_decimals_fits_every_member() -> None:
    links = _follow("1.1 A", "1.2 B", "1.2.1 C", "1.2.2 D", "1.3 E", "2.1 F")
    assert all(link.fits for link in links)
    assert [link.length for link in links] == [4, 4, 2, 2, 4, 4]


def test_follow_sequences_with_a_stray_number_does_not_lock_the_rest_out() -> None:
    links = _follow("1.1 A", "9.7 stray", "1.2 B", "1.3 C")
    assert [link.fits for link in links] == [True, False, True, True]


def test_follow_sequences_after_a_gap_believes_two_in_a_row() -> None:
    links = _follow("1.1 A", "7.1 B", "7.2 C", "7.3 D")
    assert [link.fits for link in links] == [True, True, True, True]


def test_follow_sequences_of_nested_singles_knows_the_series_around() -> None:
    links = _follow("I. A", "A. B", "1. C", "2. D", "B. E", "1. F", "II. G", "A. H")
    roman, upper, digit = links[0].run, links[1].run, links[2].run
    assert (links[1].parent_run, links[2].parent_run) == (roman, upper)
    assert links[4].run == upper
    assert links[6].run == roman
    assert links[3].run == digit
    assert links[7].run != upper  # restarts under II


def test_follow_sequences_with_a_list_in_another_style_keeps_the_chapters() -> None:
    items = [
        Numbered(parse_number("1. Chapter"), "head"),
        Numbered(parse_number("1. item"), "list"),
        Numbered(parse_number("2. item"), "list"),
        Numbered(parse_number("2. Chapter"), "head"),
    ]
    links = follow_sequences(items)
    assert links[3].run == links[0].run
    assert links[1].run == links[2].run != links[0].run


def test_follow_sequences_reopens_a_series_that_a_stray_first_number_had_closed() -> None:
    links = _follow("A. One", "B. Two", "A. stray", "C. Three")
    assert links[3].fits
    assert links[3].run == links[0].run


def test_follow_sequences_reads_i_after_h_as_a_letter() -> None:
    links = _follow("g. X", "a. A", "b. B", "c. C", "d. D", "e. E", "f. F", "g. G", "h. H", "i. I")
    assert links[-1].number.parts == (9,)


def test_follow_sequences_of_many_numbers_is_quick() -> None:
    texts = [f"{chapter}.{section} X" for chapter in range(1, 100) for section in range(1, 100)]
    items = [Numbered(parse_number(text), ()) for text in texts]
    start = time.perf_counter()
    links = follow_sequences(items)
    assert time.perf_counter() - start < 2
    assert all(link.fits for link in links)


def test_follows_between_compound_numbers() -> None:
    assert follows((3, 2), (3, 3))
    assert follows((3, 2), (3, 2, 1))
    assert follows((3, 2), (4, 1))
    assert follows((3, 2, 5), (4, 1, 1))
    assert not follows((3, 2), (3, 2))
    assert not follows((3, 2), (3, 1))
    assert not follows((3, 2), (9, 1))
    assert not follows((3, 2), (3, 3, 7))
