"""The quotable pieces of a page: lines in, whole sentences, table rows and list items out. Headings are no quotes.

Decides by shape alone (length, capitals, what stands before and after); knows no question and no model.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from pageindex_local.query.citations import make_inert
from pageindex_local.sentences import sentence_spans

_NUMBERED = re.compile(
    r"(?:(?:\d{1,3}|[A-Z])(?:\.\d{1,3})+\.?|(?:\d{1,2}|[A-Z])\.|(?:Chapter|Section|Part|Appendix|Annex|Article|Item|Note)"
    r"\s+[\dA-Z][\w.]*[.:]?)\s+(?=[\"'“(/]?\w)",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[•◦▪‣·*\u2013\u2014-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_HEADING_WORDS = 14
_LABEL_WORDS = 6
_LABEL_MOST = 12  # words of a line between the rows of a table
_TABLE_RULE = re.compile(r"(?=.*\|)\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_OPEN_ENDS = (",", " and", " or", " of", " to")  # of a line that the next one goes on with
_FENCE = re.compile(r"\s*(?:```|~~~)")
_TERMINAL = (".", "?", "!", "。", "？", "！", ".)", ".”", '."', ":", ";")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a page that can be quoted: a sentence, or one line of a table or list.

    `text` has its white space folded, `block` numbers the runs of text between headings, `is_whole` says that neither
    end is cut by the edge of the page, and `is_sentence` that it ends like one. `is_row` marks lines of figures,
    `is_code` lines of code, `is_label` short ones above a row, which say nothing without it; `columns` is the line
    that heads the columns of a row, such as `(Millions) 2018 2017`.
    """

    page_number: int
    text: str
    first_line: int
    last_line: int
    block: int = 0
    is_whole: bool = True
    is_sentence: bool = True
    is_row: bool = False
    is_code: bool = False
    is_label: bool = False
    columns: str = ""


def iter_segments(
    page_number: int,
    lines: Sequence[tuple[int, str]],
    *,
    headings: Collection[int] = (),
    continues: bool = False,
) -> Iterator[Segment]:
    """The quotable pieces of a page in order: sentences of running text, single lines of tables and lists.

    Args:
        page_number: physical, from 1.
        lines: document-wide line numbers and texts, running heads left out.
        headings: numbers of lines that are known to be headings; lines that look like one are left out as well.
        continues: the page before ends within a sentence, so that the first piece here is not a whole one.
    """
    inert = _read_lines(lines)
    # Not the longest line: footnotes and tables may be set wider than the text.
    lengths = sorted(len(line.text) for line in inert)
    width = lengths[len(lengths) * 4 // 5] if lengths else 0
    pieces: list[Segment] = []
    run: list[tuple[int, str]] = []
    block = 0
    columns = caption = ""
    in_markdown = False

    def close() -> None:
        pieces.extend(_sentences(page_number, run, block))
        run.clear()

    for place, line in enumerate(inert):
        number, text = line.number, line.text
        before = inert[place - 1].text if place else ""
        after = inert[place + 1].text if place + 1 < len(inert) else ""
        goes_on = bool(run) and before.endswith(_OPEN_ENDS) and not line.is_tabular
        if line.begins or (is_list_item(text) and not goes_on):
            close()
        may_head = not line.is_tabular and (not run or ends_sentence(before))
        if number in headings or (may_head and _is_heading(text, before, after, width)):
            close()
            block += 1
            columns = ""
        elif line.is_code:
            pieces.append(Segment(page_number, text, number, number, block, is_code=True))
        elif (line.is_tabular or _is_tabular(text)) and not goes_on:
            close()
            columns, is_head = _read_heads(line, caption, columns if line.is_tabular is in_markdown else "")
            in_markdown = line.is_tabular
            above = "" if is_head else columns
            kind = {"is_row": not is_head, "is_label": is_head}
            pieces.append(Segment(page_number, text, number, number, block, **kind, columns=above))
        elif not goes_on and len(text.split()) <= _LABEL_WORDS and _is_tabular(after) and _heads_columns(after):
            close()
            pieces.append(Segment(page_number, text, number, number, block, is_label=True))
            caption = text
            continue
        else:
            if len(text.split()) > _LABEL_MOST or (line.is_apart and not text.endswith(":")):
                columns = ""  # the table is over
            run.append((number, text))
            if _ends_block(text, after, width):
                close()
        caption = ""
    close()
    for place, piece in enumerate(pieces):
        ends = ends_sentence(piece.text)
        cut = (continues and place == 0) or (place == len(pieces) - 1 and not ends)
        opens = place + 1 < len(pieces) and pieces[place + 1].is_row and pieces[place + 1].block == piece.block
        is_label = (
            opens and not (ends or piece.is_row or piece.text.endswith(":")) and len(piece.text.split()) <= _LABEL_MOST
        )
        yield replace(piece, is_whole=not cut, is_sentence=ends, is_label=piece.is_label or is_label)


def _read_heads(line: "_Line", caption: str, columns: str) -> tuple[str, bool]:
    """What heads the columns from a line of a table on, and whether it is that line."""
    if line.heads or (not line.is_tabular and _heads_columns(line.text)):
        return f"{caption} {line.text}".strip(), True
    return columns, False


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with letters or digits. `begins` says that a blank line, a rule or code stands before it.

    `is_apart` is it where the line before is empty: in print, lone signs of currencies stand within tables.
    `is_tabular` marks lines of a table in Markdown, and `heads` the first of them.
    """

    number: int
    text: str
    begins: bool
    is_code: bool
    is_apart: bool
    is_tabular: bool = False
    heads: bool = False


def _read_lines(lines: Sequence[tuple[int, str]]) -> list[_Line]:
    """Lines that say something; fences and indented lines behind a blank one are code, as Markdown has it."""
    found: list[_Line] = []
    is_fenced = was_code = in_table = was_empty = False
    was_blank = begins = True
    for number, raw in lines:
        text = make_inert(raw)
        if not any(char.isalnum() for char in text) or _FENCE.match(raw):
            is_fenced ^= bool(_FENCE.match(raw))
            if not was_blank and not in_table and "|" in found[-1].text and _TABLE_RULE.fullmatch(text):
                found[-1] = replace(found[-1], is_tabular=True, heads=True)
                in_table = True
            in_table = in_table and "|" in text
            was_blank = begins = True
            was_empty |= not text
            continue
        is_code = is_fenced or (raw.startswith(("    ", "\t")) and (was_blank or was_code))
        in_table = in_table and "|" in text and not is_code
        found.append(_Line(number, text, begins or was_code or is_code, is_code, was_empty, in_table))
        was_code, was_blank, begins, was_empty = is_code, False, False, False
    return found


def ends_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does."""
    return text.rstrip("\"'”’)]").endswith((".", "?", "!", "。", "？", "！"))


def is_list_item(text: str) -> bool:
    """Whether a line begins with the mark or number of a list."""
    return _ITEM.match(text) is not None


def _heads_columns(text: str) -> bool:
    """Whether a line of figures has nothing but years and days: it says what stands in the columns below."""
    figures = re.findall(r"\d[\d.,]*", text)
    years = [figure for figure in figures if re.fullmatch(r"(?:19|20)\d\d,?", figure)]
    days = [figure for figure in figures if re.fullmatch(r"[1-9],?|[12]\d,?|3[01],?", figure)]
    return bool(years) and len(years) + len(days) == len(figures)


def _is_heading(text: str, before: str, after: str, width: int) -> bool:
    """A numbered title, or a short line between the end of a sentence and the beginning of the next."""
    words = text.split()
    if text.endswith(_TERMINAL) or text[-1] in ",&-/" or len(words) > _HEADING_WORDS:
        return False
    numbered = _NUMBERED.match(text)
    if numbered:
        title = text[numbered.end() :].lstrip("\"'“(")
        return bool(title) and (title[0].isupper() or title[0] == "/") and not _is_tabular(title)
    begins = not before or ends_sentence(before)
    starts_next = len(after) > max(len(text), width // 2) and (after[:1].isupper() or after[:1] in "\"'“(/<•")
    return begins and starts_next and len(words) <= _LABEL_WORDS and text[0].isupper() and not is_list_item(text)


def _is_tabular(text: str) -> bool:
    """A row of a table in Markdown, or a line of which a quarter are figures."""
    if text.startswith("|") and text.endswith("|"):
        return True
    words = text.split()
    figures = sum(any(char.isdigit() for char in word) for word in words)
    return figures >= 2 and figures >= 0.25 * len(words) and not text.endswith((".", "?", "!"))


def _ends_block(text: str, after: str, width: int) -> bool:
    """Whether a line ends its paragraph: short, no comma or hyphen at its end, a capital next."""
    return len(text) < 0.7 * width and text[-1] not in ",;-&/" and not (after[:1].islower() or after[:1].isdigit())


def _sentences(page_number: int, run: Sequence[tuple[int, str]], block: int) -> list[Segment]:
    if not run:
        return []
    text = " ".join(line for _, line in run)
    ends: list[int] = []
    position = -1
    for _, line in run:
        position += len(line) + 1
        ends.append(position)
    segments = []
    for start, end in sentence_spans(text):
        sentence = text[start:end].strip()
        if sentence:
            first = min(bisect_right(ends, start), len(run) - 1)
            last = min(bisect_right(ends, start + len(text[start:end].rstrip()) - 1), len(run) - 1)
            segments.append(Segment(page_number, sentence, run[first][0], run[last][0], block))
    return segments
