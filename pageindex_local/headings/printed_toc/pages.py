"""Pages in, the lists of contents printed on them out: found by their rows, anywhere in the document.

A list is only proposed here; whether its entries stand where it says is checked later.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pageindex_local.headings.printed_toc.rows import Row, read_rows, without_label
from pageindex_local.records import Page

_CONTENTS = re.compile(
    r"^(?:table\s+of\s+contents?|(?:short|brief|detailed|summary|general)\s+contents|contents?|toc|"
    r"inhalt|inhaltsverzeichnis|inhaltsübersicht|table\s+des\s+mati[eè]res|sommaire|"
    r"[ií]ndice(?:\s+general(?:e)?)?|tabla\s+de\s+contenidos?|contenidos?|sumário|sommario|inhoud(?:sopgave)?|"
    r"innehåll(?:sförteckning)?|indhold(?:sfortegnelse)?|innhold|sisällys(?:luettelo)?|spis\s+treści|obsah|"
    r"tartalom(?:jegyzék)?|cuprins|содержание|оглавление|зміст|περιεχόμενα|içindekiler|目\s*次|目\s*录|目\s*錄|차\s*례|목\s*차|"
    r"المحتويات|فهرس(?:\s+المحتويات)?|תוכן(?:\s+(?:ה)?עניינים)?)\s*[:.]?$",
    re.IGNORECASE,
)
_OTHER_LIST = re.compile(
    r"^(?:list\s+of|index\s+of|index\s+to|liste\s+des|lista\s+de|verzeichnis\s+der|abbildungsverzeichnis|tabellenverzeichnis|"
    r"figures?|tables?|illustrations?|exhibits?|exhibit\s+index|examples|listings|図目次|表目次)(?:\b|$)",
    re.IGNORECASE,
)
_CAPTION_ENTRY = re.compile(
    r"^(?:fig(?:ure)?\.?|table|exhibit|listing|example|abbildung|tabelle|tableau|図|表)\s*[\dA-Z]", re.IGNORECASE
)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_LETTERS = re.compile(r"[^\W\d_]")
_BLANK_ROWS = 5


@dataclass(frozen=True, slots=True)
class ContentsList:
    """One printed list: its rows, each with its page label where it has one, and whether it lists sections.

    `is_contents` is false for lists of figures, tables and the like. `titled` says that a heading such as 'Contents'
    stands before it; `heading` is that row.
    """

    rows: tuple[Row, ...]
    is_contents: bool
    titled: bool
    heading: Row | None = None


def roman_value(text: str) -> int:
    """The value of a roman numeral, 0 where it is none."""
    values = [_ROMAN.get(letter, 0) for letter in text.lower()]
    if not values or 0 in values:
        return 0
    total = sum(
        -value if value < following else value for value, following in zip(values, [*values[1:], 0], strict=True)
    )
    return max(0, total)


def is_contents_heading(text: str) -> bool:
    """Whether a line is the heading of a list of contents, in one of many languages."""
    return _CONTENTS.match(text.strip()) is not None


def find_contents_lists(pages: Sequence[Page]) -> tuple[ContentsList, ...]:
    """Every printed list of titles with page labels, in document order; lists that run over pages are joined."""
    lists: list[ContentsList] = []
    run: list[Row] = []
    last_page = 0
    for page in pages:
        if not _may_list(page):
            continue
        rows = read_rows(page)
        part = _contents_part(rows, continues=bool(run) and last_page == page.page_number - 1, page_count=len(pages))
        if not part:
            continue
        if run and last_page != page.page_number - 1:
            lists.extend(_split_lists(run, len(pages)))
            run = []
        run.extend(part)
        last_page = page.page_number
    lists.extend(_split_lists(run, len(pages)))
    return tuple(lists)


def _may_list(page: Page) -> bool:
    ending = sum(1 for line in page.lines if line.text[-1:].isdigit() or line.text[-1:] in "ivxlc")
    return ending >= 3


def _contents_part(rows: Sequence[Row], *, continues: bool, page_count: int) -> Sequence[Row]:
    start = next((i for i, row in enumerate(rows) if not row.label and _CONTENTS.match(row.text.strip())), None)
    titled = start is not None
    if start is None or continues:
        start = 0
    rows = rows[start:]
    accepted = _accepted_labels(rows, page_count)
    if titled or continues:
        rows = _until_text_follows(rows, accepted)
        accepted = [index for index in accepted if index < len(rows)]
    if not accepted:
        return ()
    good = [rows[index] for index in accepted]
    strong = sum(row.leader or row.aligned for row in good)
    density = len(good) / max(1, sum(1 for row in rows if len(_LETTERS.findall(row.text)) >= 2))
    if titled or continues:
        enough = len(good) >= 2 and density >= 0.35
    else:
        enough = len(good) >= 5 and density >= 0.6 and strong >= 0.7 * len(good)
    return rows if enough and len({row.label for row in good}) >= 2 else ()


def _until_text_follows(rows: Sequence[Row], accepted: Sequence[int]) -> Sequence[Row]:
    """The rows up to the last label before a stretch of rows without any (the text after the list)."""
    last = 0
    for index in accepted:
        if index - last > _BLANK_ROWS and last > 0:
            break
        last = index
    end = last + 1
    while end < len(rows) and end <= last + 2 and _continues(rows[end - 1], rows[end]):
        end += 1
    return rows[:end]


def _continues(row: Row, following: Row) -> bool:
    gap = following.y0 - row.y1
    return not following.label and gap < 0.35 * (row.y1 - row.y0) and following.x0 > row.x0 + 3


def _accepted_labels(rows: Sequence[Row], page_count: int) -> list[int]:
    """Indices of rows whose trailing labels are page labels: they never run backwards, or stand at the common edge."""
    arabic = [(i, int(row.label)) for i, row in enumerate(rows) if row.label.isdigit()]
    arabic = [(i, value) for i, value in arabic if 0 < value <= 2 * page_count + 100 and _is_title(rows[i])]
    roman = [(i, roman_value(row.label)) for i, row in enumerate(rows) if row.label.isalpha()]
    roman = [(i, value) for i, value in roman if 0 < value < 200 and (rows[i].leader or rows[i].aligned)]
    kept = set(_longest_rise(arabic, rows)) | set(_longest_rise(roman, rows))
    kept |= {
        i
        for i, row in enumerate(rows)
        if row.label and not row.label.isalnum() and _is_title(row) and (row.leader or row.aligned)
    }
    kept |= {
        i
        for i, row in enumerate(rows)
        if row.label[:1].isupper() and row.label[1:].isdigit() and (row.leader or row.aligned)
    }
    return sorted(kept)


def _is_title(row: Row) -> bool:
    return len(_LETTERS.findall(row.title)) >= 2 and not row.title.endswith((",", "$"))


def _longest_rise(labels: Sequence[tuple[int, int]], rows: Sequence[Row]) -> list[int]:
    """The longest non-decreasing run of labels, those at the common edge or after dots preferred."""
    tails: list[tuple[int, int]] = []
    links: list[int] = [-1] * len(labels)
    order: list[int] = []
    for position, (index, value) in enumerate(labels):
        if not (rows[index].leader or rows[index].aligned) and tails and value > tails[-1][0] + 60:
            continue
        place = bisect_right(tails, (value, len(labels)))
        links[position] = order[place - 1] if place else -1
        if place == len(tails):
            tails.append((value, position))
            order.append(position)
        else:
            tails[place] = (value, position)
            order[place] = position
    chain = []
    current = order[-1] if order else -1
    while current >= 0:
        chain.append(labels[current][0])
        current = links[current]
    return chain[::-1]


def _split_lists(rows: Sequence[Row], page_count: int) -> list[ContentsList]:
    """The lists within a run of rows: each heading without a label starts another."""
    lists: list[ContentsList] = []
    part: list[Row] = []
    heading: Row | None = None
    for row in rows:
        text = row.text.strip()
        starts = not row.label and (_CONTENTS.match(text) or (_OTHER_LIST.match(text) and len(text) < 60))
        if starts and not (heading and _same_heading(heading.text, text)):
            lists.extend(_close(part, heading, page_count))
            part, heading = [], row
        elif not starts:
            part.append(row)
    lists.extend(_close(part, heading, page_count))
    return lists


def _same_heading(first: str, second: str) -> bool:
    return first.strip().casefold() == second.strip().casefold()


def _close(part: Sequence[Row], heading: Row | None, page_count: int) -> list[ContentsList]:
    accepted = set(_accepted_labels(part, page_count))
    if len(accepted) < 2:
        return []
    rows = tuple(row if i in accepted else without_label(row) for i, row in enumerate(part))
    captions = sum(1 for i in accepted if _CAPTION_ENTRY.match(part[i].title))
    other = heading is not None and not _CONTENTS.match(heading.text.strip())
    return [ContentsList(rows, not other and captions < 0.5 * len(accepted), heading is not None, heading)]
