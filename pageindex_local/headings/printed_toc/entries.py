"""Rows of a list of contents in, its entries out: wrapped titles joined, parts without a page kept, levels given."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from pageindex_local.headings.printed_toc.rows import Row
from pageindex_local.headings.printed_toc.run_in import split_run_ins

_PART = re.compile(
    r"^(?:part|book|volume|teil|partie|parte|del|часть)\s+(?:[ivxlc]+|\d+|[a-z]|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"(?![^\W_])|^第\s*[\d一二三四五六七八九十]+\s*[部編编]",
    re.IGNORECASE,
)
_CHAPTER = re.compile(
    r"^(?:chapter|kapitel|chapitre|cap[ií]tulo|capitolo|hoofdstuk|глава)\s+(?:\d+|[ivxlc]+)(?![^\W_])|"
    r"^第\s*[\d一二三四五六七八九十]+\s*章",
    re.IGNORECASE,
)
_APPENDIX = re.compile(
    r"^(?:appendix|annex|anhang|annexe|ap[eé]ndice|appendice|bijlage|приложение|付録|附录)\s+(?:[A-Z]|\d+|[IVX]+)(?![^\W_])",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^(?:item|section|article|artikel|note|schedule)\s+\d+[a-z]?(?![^\W_])", re.IGNORECASE)
_DOTTED = re.compile(r"^(?P<number>(?:\d+|[A-Z]|[IVXLC]+)(?:[.-]\d+)+)[.):]?(?:\s|$)")
_SINGLE = re.compile(r"^(?P<number>\d+|[IVXLCDM]+|[ivxl]+|[A-Za-z])(?P<mark>[.):]*)(?:\s+|$)(?=\S|$)")
_PAREN = re.compile(r"^\((?P<number>\d+|[ivxl]+|[a-zA-Z])\)\s")
_COLUMN_HEAD = re.compile(
    r"^(?:item(?:\s+no\.?)?|no\.?|chapter|section|title)?\s*(?:page(?:s|\s+no\.?|\s+number)?|seite)?$", re.IGNORECASE
)
_GLUED = re.compile(r"^(?P<outer>(?:(?:\d+|[A-Z])\.)?(?:\d+\.)*)(?P<last>\d+)(?=[^\W\d_]{2})")
_ROMAN_LETTERS = "IVXLCDM"
_INDENT_STEP = 4.5


class NumberKind(StrEnum):
    """How an entry is numbered."""

    PART = "part"
    CHAPTER = "chapter"
    APPENDIX = "appendix"
    ITEM = "item"
    DOTTED = "dotted"
    ARABIC = "arabic"
    ROMAN = "roman"
    UPPER = "upper"
    LOWER = "lower"
    PAREN = "paren"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TocEntry:
    """One entry of a printed contents list. `label` is the printed page ('' where none); `level` from 1.

    `number` is the section number in a form that can be compared ('2.1', 'A'; '' where none). `variants` are other
    readings of the title, where a wrapped row may or may not belong to it.
    """

    title: str
    label: str
    level: int
    kind: NumberKind
    number: str
    rows: tuple[Row, ...]
    variants: tuple[str, ...] = ()


def read_entries(rows: Sequence[Row]) -> tuple[TocEntry, ...]:
    """The entries of one list in printed order, with levels from 1 and no level skipped."""
    rows = [row for row in split_run_ins(rows) if not _COLUMN_HEAD.match(row.text.strip()) and not _is_page_number(row)]
    return give_levels(_classify(_join_wrapped(_loosen_numbers(rows))))


def read_plain_entries(rows: Sequence[Row]) -> tuple[TocEntry, ...]:
    """The entries of a list without page labels: one a row, wrapped rows joined by their hanging indent."""
    entries: list[TocEntry] = []
    for row in rows:
        if _is_page_number(row):
            continue
        last = entries[-1].rows[-1] if entries else None
        numbered = number_kind(row.title)[0] is not NumberKind.NONE
        if last is not None and not numbered and number_kind(entries[-1].title)[0] is not NumberKind.NONE:
            close = row.page_number == last.page_number and row.y0 - last.y1 < 0.6 * (row.y1 - row.y0)
            if close and row.x0 > entries[-1].rows[0].x0 + 3:
                title = f"{entries[-1].title} {row.title}"
                entries[-1] = replace(entries[-1], title=title, rows=(*entries[-1].rows, row))
                continue
        entries.append(_entry(row.title, "", (row,)))
    return give_levels(_classify(entries))


def number_kind(title: str) -> tuple[NumberKind, str]:
    """How a title is numbered, and its number in a form that can be compared."""
    for kind, pattern in (
        (NumberKind.PART, _PART),
        (NumberKind.CHAPTER, _CHAPTER),
        (NumberKind.APPENDIX, _APPENDIX),
        (NumberKind.ITEM, _ITEM),
    ):
        found = pattern.match(title)
        if found:
            return kind, re.sub(r"\W+$", "", found.group().split()[-1]).upper()
    found = _DOTTED.match(title)
    if found:
        return NumberKind.DOTTED, found["number"].replace("-", ".")
    found = _PAREN.match(title)
    if found:
        return NumberKind.PAREN, found["number"]
    found = _SINGLE.match(title)
    if found:
        return _single_kind(found["number"], found["mark"], title[found.end() :])
    return NumberKind.NONE, ""


def _single_kind(number: str, mark: str, rest: str) -> tuple[NumberKind, str]:
    if number.isdigit():
        return (NumberKind.ARABIC, number) if len(number) <= 3 else (NumberKind.NONE, "")
    if len(number) > 1 or (number in "IVX" and mark):
        return NumberKind.ROMAN if number.isupper() else NumberKind.LOWER, number
    if number.isupper():
        # 'A Sample Command' is no appendix: a bare letter counts only before a mark or a capitalised word.
        if mark or (number not in "AI" and rest[:1].isupper()) or (number in "AI" and rest[:1].isupper()):
            return NumberKind.UPPER, number
        return NumberKind.NONE, ""
    return (NumberKind.LOWER, number) if mark else (NumberKind.NONE, "")


def _loosen_numbers(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a space between number and title where a long number left no room for one ('4.10Groups').

    Only a number that follows another entry's or lies inside one counts, so that '3.5mm plugs' stays a title.
    """
    numbers = {number_kind(row.title)[1] for row in rows}
    loosened = []
    for row in rows:
        glued = _GLUED.match(row.title)
        if glued is None or not _near_numbers(glued) & numbers:
            loosened.append(row)
            continue
        numbers.add(glued.group())
        loosened.append(replace(row, title=f"{glued.group()} {row.title[glued.end() :]}"))
    return loosened


def _near_numbers(glued: re.Match[str]) -> set[str]:
    """The numbers around and before a glued one, without those that a plain word can follow ('2nd edition')."""
    outer = glued["outer"]
    if not outer and glued.string[glued.end()].islower():
        return set()
    return {f"{outer}{int(glued['last']) - 1}", outer.rstrip(".") or "none"}


def _is_page_number(row: Row) -> bool:
    return re.fullmatch(r"[\divxlc]{1,6}|[-–—]\s*\d+\s*[-–—]", row.text.strip(), re.IGNORECASE) is not None


def _join_wrapped(rows: Sequence[Row]) -> list[TocEntry]:
    entries: list[TocEntry] = []
    pending: list[Row] = []
    long_title = 0.6 * max((len(row.title) for row in rows), default=0)
    for position, row in enumerate(rows):
        following = rows[position + 1] if position + 1 < len(rows) else None
        if row.label:
            joined = _take_pending(pending, row)
            entries.extend(_standalone(pending[: len(pending) - len(joined)]))
            pending = []
            whole = (*joined, row)
            title = " ".join(part.title for part in whole)
            entries.append(_entry(title, row.label, whole, (row.title,) if joined else ()))
        elif entries and not pending and _belongs_before(entries[-1], row, following, long_title):
            last = entries[-1]
            entries[-1] = replace(
                last, title=f"{last.title} {row.title}", rows=(*last.rows, row), variants=(*last.variants, last.title)
            )
        else:
            pending.append(row)
    return entries


def _entry(title: str, label: str, rows: tuple[Row, ...], variants: tuple[str, ...] = ()) -> TocEntry:
    return TocEntry(title, label, 1, NumberKind.NONE, "", rows, variants)


def _standalone(rows: Sequence[Row]) -> list[TocEntry]:
    return [_entry(row.title, "", (row,)) for row in rows if len(row.title) <= 90]


def _take_pending(pending: Sequence[Row], row: Row) -> tuple[Row, ...]:
    """The rows just before a labelled row that are the first lines of its title."""
    kind, _ = number_kind(row.title)
    if kind is not NumberKind.NONE:
        return ()
    taken: list[Row] = []
    following = row
    for candidate in reversed(pending):
        gap = following.y0 - candidate.y1
        height = candidate.y1 - candidate.y0
        same_page = candidate.page_number == following.page_number
        if not same_page or gap > 0.6 * height or abs(candidate.size - following.size) > 1.0:
            break
        if _PART.match(candidate.title) and len(candidate.title) < 12:
            break
        numbered = number_kind(candidate.title)[0] is not NumberKind.NONE
        hangs = following.x0 > candidate.x0 + 3
        if not numbered and not hangs and len(candidate.title) < 40:
            break
        taken.append(candidate)
        following = candidate
        if numbered:
            break
    return tuple(reversed(taken))


def _belongs_before(entry: TocEntry, row: Row, following: Row | None, long_title: float) -> bool:
    """Whether an unlabelled row is the rest of the entry before it, whose label stands on its first line."""
    last = entry.rows[-1]
    if last.page_number != row.page_number or last.column != row.column or len(last.title) < long_title:
        return False
    if number_kind(row.title)[0] is not NumberKind.NONE or row.x0 < last.x0 + 3:
        return False
    gap = row.y0 - last.y1
    if gap > 0.6 * (row.y1 - row.y0):
        return False
    next_gap = following.y0 - row.y1 if following is not None and following.page_number == row.page_number else 99.0
    next_numbered = following is None or number_kind(following.title)[0] is not NumberKind.NONE
    return next_numbered or gap <= next_gap


def _classify(entries: Sequence[TocEntry]) -> list[TocEntry]:
    classified: list[TocEntry] = []
    last_letter: dict[int, str] = {}
    for entry in entries:
        kind, number = number_kind(entry.title)
        column = round(entry.rows[0].indent / 6)
        if kind is NumberKind.ROMAN and len(number) == 1 and _follows(last_letter, column, number):
            kind = NumberKind.UPPER
        if kind is NumberKind.UPPER and number == "I" and not _follows(last_letter, column, number):
            kind = NumberKind.ROMAN
        if kind is NumberKind.UPPER:
            last_letter[column] = number
        classified.append(replace(entry, kind=kind, number=number))
    return classified


def _follows(last_letter: dict[int, str], column: int, letter: str) -> bool:
    before = next((last_letter[c] for c in (column, column - 1, column + 1) if c in last_letter), "")
    return bool(before) and ord(before) + 1 == ord(letter)


def give_levels(entries: Sequence[TocEntry]) -> tuple[TocEntry, ...]:
    """The entries with levels from 1 by numbering, then indent, then size and weight; no level is skipped."""
    ranks = _style_ranks(entries)
    open_entries: list[tuple[float, TocEntry]] = []
    levelled: list[TocEntry] = []
    for entry, rank in zip(entries, ranks, strict=True):
        own = rank
        parent = _numbered_parent(entry, open_entries)
        if parent is not None:
            del open_entries[parent + 1 :]
            own = max(rank, open_entries[-1][0] + 0.01)
        else:
            while open_entries and open_entries[-1][0] >= own:
                open_entries.pop()
        open_entries.append((own, entry))
        levelled.append(replace(entry, level=len(open_entries)))
    return tuple(levelled)


def _numbered_parent(entry: TocEntry, open_entries: Sequence[tuple[float, TocEntry]]) -> int | None:
    """The open entry whose number is this entry's number without its last part."""
    if entry.kind is not NumberKind.DOTTED:
        return None
    prefix = entry.number.rsplit(".", 1)[0]
    for position in range(len(open_entries) - 1, -1, -1):
        above = open_entries[position][1]
        if above.number == prefix and above.kind not in (NumberKind.PART, NumberKind.NONE):
            return position
    return None


def _style_ranks(entries: Sequence[TocEntry]) -> list[float]:
    """A rank for each entry: parts first, then by indent; at one indent by size and weight of its kind of number."""
    clusters = _indent_clusters([entry.rows[0].indent for entry in entries])
    sizes: dict[tuple[int, NumberKind], Counter[float]] = defaultdict(Counter)
    weights: dict[tuple[int, NumberKind], Counter[bool]] = defaultdict(Counter)
    for entry, cluster in zip(entries, clusters, strict=True):
        sizes[cluster, entry.kind][round(entry.rows[0].size)] += 1
        weights[cluster, entry.kind][entry.rows[0].bold] += 1
    usual = {key: counts.most_common(1)[0][0] for key, counts in sizes.items()}
    usual_weight = {key: counts.most_common(1)[0][0] for key, counts in weights.items()}
    numbered_sizes = {
        (cluster, size) for (cluster, kind), size in usual.items() if kind not in (NumberKind.NONE, NumberKind.PART)
    }
    parts = sum(entry.kind is NumberKind.PART for entry in entries)
    ranks: list[float] = []
    for entry, cluster in zip(entries, clusters, strict=True):
        if entry.kind is NumberKind.PART and parts > 1:
            ranks.append(-1.0)
            continue
        key = (cluster, entry.kind)
        size, bold = usual[key], usual_weight[key]
        own_size = round(entry.rows[0].size)
        if entry.kind is NumberKind.NONE:
            if (cluster, own_size) in numbered_sizes:
                size = own_size
            bold = entry.rows[0].bold
        depth = entry.number.count(".") / 10 if entry.kind is NumberKind.DOTTED else 0.0
        ranks.append(cluster + depth + _size_rank(size, cluster, usual) + (0.0 if bold else 0.02))
    return ranks


def _size_rank(size: float, cluster: int, usual: dict[tuple[int, NumberKind], float]) -> float:
    larger = {other for (place, _), other in usual.items() if place == cluster and other > size}
    return 0.04 * min(len(larger), 3)


def _indent_clusters(indents: Sequence[float]) -> list[int]:
    """Cluster numbers of indents, 0 for the least indented (largest distance from the right edge)."""
    ordered = sorted(set(indents), reverse=True)
    cluster, numbers = 0, {}
    for position, indent in enumerate(ordered):
        if position and ordered[position - 1] - indent > _INDENT_STEP:
            cluster += 1
        numbers[indent] = cluster
    return [numbers[indent] for indent in indents]
