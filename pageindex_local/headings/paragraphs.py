"""Pages in, groups of lines out: consecutive lines of one style that read as one paragraph, heading or table row.

One pass, page by page. A group never crosses a page. It says how it stands on its page (space around it, neighbours
on the same height, centred or not); what it is, `filters` and `clusters` decide.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pageindex_local.headings.numbering import SectionNumber, parse_number
from pageindex_local.headings.styles import LARGER, Style, Typography, line_style
from pageindex_local.records import Box, Line, LineRole, Page, Span

PAGE_EDGE = 99.0  # the distance to a neighbour that is not there
_MATE_WINDOW = 8


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive lines of one style.

    `span` are document-wide line numbers, `box` the hull of the lines. `above` and `below` are the distances to the
    neighbouring lines on the page, from baseline to baseline, in multiples of the body's line pitch (99 at the page's
    edge). `continues` says that the line before, close above, was full, so that the group goes on inside a paragraph;
    `runs_on` that its own last line is full and a line with a small first letter follows close below. `cells` is the
    largest number of cells of a line, `mates` how many other lines stand beside the group at the same height. `lead`
    is how many characters at the start are set bold or italic while the rest is not. `numbers` are the readings of
    the section number the text starts with.
    """

    text: str
    span: Span
    page_number: int
    style: Style
    box: Box
    above: float
    below: float
    continues: bool
    runs_on: bool
    cells: int
    mates: int
    centred: bool
    lead: int
    numbers: tuple[SectionNumber, ...]

    @property
    def line_count(self) -> int:
        """How many lines the group has."""
        return self.span[1] - self.span[0]

    @property
    def title(self) -> str:
        """The text without its section number."""
        return self.text[self.numbers[0].end :] if self.numbers else self.text

    @property
    def is_label(self) -> bool:
        """Whether the group is nothing but a section number ('Chapter 4', 'A.1', '7')."""
        return bool(self.numbers) and not self.title.strip()


def group_lines(pages: Sequence[Page], typography: Typography, excluded: Collection[int] = ()) -> tuple[Group, ...]:
    """The groups of all pages in document order; running lines and the line numbers in `excluded` are left out."""
    groups: list[Group] = []
    for page in pages:
        kept = [
            (number, line)
            for number, line in enumerate(page.lines, page.first_line)
            if line.role is not LineRole.RUNNING and number not in excluded and line.text
        ]
        if kept:
            groups.extend(_group_page(page, kept, typography))
    return tuple(groups)


def join_labels(groups: Sequence[Group], body_size: int) -> tuple[Group, ...]:
    """The groups, with every label that stands over its title ('Chapter 4', 'ONE', a large '6') made one with it.

    The title must follow on the same page, carry no number of its own and be set at least as strongly as body text.
    """
    joined: list[Group] = []
    for group in groups:
        label = joined[-1] if joined else None
        if label is not None and _is_open_label(label, body_size) and _titles_label(group, label, body_size):
            joined[-1] = _join_groups(label, group)
        else:
            joined.append(group)
    return tuple(joined)


def _is_open_label(group: Group, body_size: int) -> bool:
    if not group.is_label or group.mates or group.cells > 1:
        return False
    number = group.numbers[0]
    if number.word and number.word not in ("item", "article", "section", "§", "§§", "note"):
        return True
    return group.style.size > 1.15 * body_size


def _titles_label(group: Group, label: Group, body_size: int) -> bool:
    style = group.style
    return (
        group.page_number == label.page_number
        and not group.numbers
        and group.line_count <= 4
        and group.mates == 0
        and group.cells == 1
        and any(char.isalpha() for char in group.text)
        and style.size >= 0.95 * body_size
        and (
            style.size > LARGER * body_size
            or (style.size, style.bold, style.italic) == (label.style.size, label.style.bold, label.style.italic)
        )
    )


def _join_groups(label: Group, title: Group) -> Group:
    number = label.numbers[0]
    # A bare 'ONE' over a title is ornament; 'CHAPTER1' is read as it sounds.
    spoken = "" if not number.word and not number.text[0].isdigit() and number.weak else _spaced(label.text)
    text = f"{spoken} {title.text}".strip()
    return replace(
        title,
        text=text,
        span=(label.span[0], title.span[1]),
        style=title.style if title.style.size >= label.style.size else label.style,
        box=(
            min(label.box[0], title.box[0]),
            min(label.box[1], title.box[1]),
            max(label.box[2], title.box[2]),
            max(label.box[3], title.box[3]),
        ),
        above=label.above,
        continues=label.continues,
        numbers=tuple(replace(number, end=len(spoken) + bool(spoken)) for number in label.numbers),
    )


def _spaced(label: str) -> str:
    """A label with a space between its word and its number."""
    cut = next((index for index, char in enumerate(label) if char.isdigit()), 0)
    return f"{label[:cut]} {label[cut:]}" if cut and label[cut - 1].isalpha() else label


def join_lines(texts: Sequence[str]) -> str:
    """Wrapped lines as one: a hyphen at a line's end is dropped before a small letter."""
    joined = ""
    for text in texts:
        piece = text.strip()
        if not joined:
            joined = piece
        elif joined.endswith("\u00ad") or (
            joined.endswith("-") and len(joined) > 2 and joined[-2].isalpha() and piece[:1].islower()
        ):
            joined = joined[:-1] + piece
        elif _is_wide(joined[-1]) and _is_wide(piece[:1]):
            joined += piece
        else:
            joined += " " + piece
    return joined


def _is_wide(char: str) -> bool:
    """Characters of scripts written without spaces (kana, CJK ideographs, full-width forms)."""
    return "\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"


def _group_page(page: Page, kept: list[tuple[int, Line]], typography: Typography) -> list[Group]:
    styles = [line_style(line) for _, line in kept]
    mates = _count_mates([line for _, line in kept])
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(1, len(kept) + 1):
        if index == len(kept) or not _continues(kept, styles, index, start, typography):
            runs.append((start, index))
            start = index
    groups = []
    pitch = typography.pitch or 1.0
    for first, last in runs:
        lines = [line for _, line in kept[first:last]]
        above = _distance(kept[first - 1][1], lines[0]) / pitch if first else PAGE_EDGE
        below = _distance(lines[-1], kept[last][1]) / pitch if last < len(kept) else PAGE_EDGE
        text = join_lines([line.text for line in lines])
        widest = max(lines, key=lambda line: len(line.text))
        style = styles[first + lines.index(widest)]
        groups.append(
            Group(
                text=text,
                span=(kept[first][0], kept[last - 1][0] + 1),
                page_number=page.page_number,
                style=style,
                box=(
                    min(line.box[0] for line in lines),
                    min(line.box[1] for line in lines),
                    max(line.box[2] for line in lines),
                    max(line.box[3] for line in lines),
                ),
                above=above,
                below=below,
                continues=first > 0
                and _goes_on(kept[first - 1], kept[first], typography)
                and not _starts_item(lines[0], kept[first - 1][1]),
                runs_on=last < len(kept)
                and _goes_on(kept[last - 1], kept[last], typography)
                and kept[last][1].text[:1].islower(),
                cells=max(line.cells for line in lines),
                mates=max(mates[first:last]),
                centred=all(_is_centred(line, page, typography) for line in lines),
                lead=lines[0].lead,
                numbers=parse_number(text),
            )
        )
    return groups


def _distance(upper: Line, lower: Line) -> float:
    """From baseline to baseline; a step to another column or back up counts as an edge."""
    down = lower.box[3] - upper.box[3]
    return down if down > -0.5 * (upper.box[3] - upper.box[1]) else 99.0 * max(upper.size, 1.0)


def _continues(
    kept: list[tuple[int, Line]], styles: list[Style], index: int, start: int, typography: Typography
) -> bool:
    """Whether a line goes on with the group before it: same style, next line, and the line before was full."""
    number, line = kept[index]
    before_number, before = kept[index - 1]
    style, before_style = styles[index], styles[index - 1]
    if number != before_number + 1:
        return False
    height = max(before.box[3] - before.box[1], line.box[3] - line.box[1])
    down = line.box[3] - before.box[3]
    if abs(down) < 0.4 * height:
        # The same height: a number and its title that the file keeps in two blocks, or two cells of a row.
        label = parse_number(before.text)
        return (
            index - 1 == start
            and bool(label)
            and label[0].end >= len(before.text)
            and line.box[0] >= before.box[2] - 1
            and (style.size, style.bold) == (before_style.size, before_style.bold)
        )
    if down < 0 or (style.size, style.bold, style.italic) != (
        before_style.size,
        before_style.bold,
        before_style.italic,
    ):
        return False
    if style.caps != before_style.caps and min(len(line.text), len(before.text)) > 12:
        return False
    near = line.block == before.block or typography.is_double_spaced
    leading = max(1.45 * height, 1.1 * typography.pitch if near else 0.0)
    if down > leading or line.box[0] > before.box[2] or line.box[2] < before.box[0]:
        return False
    if (line.lead and not before.lead) or _starts_item(line, before) or _is_outdented(line, before, typography):
        return False
    return _was_full(before, line, typography)


def _is_outdented(line: Line, before: Line, typography: Typography) -> bool:
    """Whether a line starts left of the one before, yet not at the column's edge: the first line of a new paragraph.

    Lines centred one above the other may start anywhere.
    """
    if abs(line.box[0] + line.box[2] - before.box[0] - before.box[2]) < 4.0:
        return False
    step = 0.5 * line.size
    return typography.column_left(line.box[0]) + step < line.box[0] < before.box[0] - step


def _starts_item(line: Line, before: Line) -> bool:
    """Whether a line begins with a section number away from the left edge of the line before it."""
    if abs(line.box[0] - before.box[0]) < 0.5 * line.size:
        return False
    numbers = parse_number(line.text)
    return bool(numbers) and not numbers[0].weak


def _goes_on(before: tuple[int, Line], after: tuple[int, Line], typography: Typography) -> bool:
    """Whether two lines in a row, whatever their styles, read as lines of one paragraph."""
    down = after[1].box[3] - before[1].box[3]
    height = max(before[1].box[3] - before[1].box[1], after[1].box[3] - after[1].box[1])
    return (
        after[0] == before[0] + 1
        and 0.4 * height < down <= 1.12 * max(typography.pitch, 0.8 * height)
        and after[1].box[0] < before[1].box[2]
        and _was_full(before[1], after[1], typography)
    )


def _was_full(before: Line, line: Line, typography: Typography) -> bool:
    """Whether the first word of a line would not have fitted at the end of the line before it.

    Where it would have, the writer ended the line on purpose. Lines centred one above the other are wrapped by hand,
    so there the test says nothing.
    """
    centre = (before.box[0] + before.box[2]) / 2
    if abs(centre - (line.box[0] + line.box[2]) / 2) < 2.0 and abs(before.box[0] - line.box[0]) > 4.0:
        return True
    first_word = line.text.split(" ", 1)[0]
    word_width = (line.box[2] - line.box[0]) * len(first_word) / max(len(line.text), 1)
    right = typography.column_left(before.box[0]) + typography.column_width
    return before.box[2] + word_width + 0.3 * before.size > right - 0.02 * typography.column_width


def _is_centred(line: Line, page: Page, typography: Typography) -> bool:
    """Whether a line stands in the middle of its column or page, clearly away from both edges.

    On a page of several columns a line may also be centred over all of them.
    """
    left = typography.column_left(line.box[0])
    middle = (line.box[0] + line.box[2]) / 2
    widths = {
        typography.column_width,
        typography.column_lefts[-1] + typography.column_width - typography.column_lefts[0],
    }
    for centre, width, edge in (
        (left + typography.column_width / 2, typography.column_width, left),
        *((page.width / 2, width, page.width / 2 - width / 2) for width in widths),
    ):
        if width > 0 and abs(middle - centre) < 0.02 * width and line.box[0] - edge > 0.08 * width:
            return True
    return False


def _count_mates(lines: list[Line]) -> list[int]:
    """For each line how many lines nearby in reading order stand beside it at the same height (cells of a row)."""
    mates = [0] * len(lines)
    for index, line in enumerate(lines):
        for other_index in range(index + 1, min(index + _MATE_WINDOW, len(lines))):
            other = lines[other_index]
            overlap = min(line.box[3], other.box[3]) - max(line.box[1], other.box[1])
            shorter = min(line.box[3] - line.box[1], other.box[3] - other.box[1])
            if overlap > 0.5 * shorter and (other.box[0] >= line.box[2] - 1 or other.box[2] <= line.box[0] + 1):
                mates[index] += 1
                mates[other_index] += 1
    return mates
