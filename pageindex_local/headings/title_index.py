"""Where titles occur among a document's lines, found without comparing every title with every line.

Lines enter once; look-ups return line spans. Running heads and feet are never matched. Which match is the right one is
for the caller to decide.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pageindex_local.headings.evidence import keys_alike, text_key, title_key
from pageindex_local.records import Line, LineRole, ParsedDocument, Span

MAX_WRAP = 4
_HEAD = 5


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """Lines on which a title is printed. `exact` says that the lines hold the title and nothing else."""

    span: Span
    page_number: int
    exact: bool
    numbered: bool


@dataclass(slots=True)
class TitleIndex:
    """Keys of every line, by line number, and the lines by the first characters of their keys."""

    lines: Sequence[Line]
    keys: Sequence[str]
    bare_keys: Sequence[str]
    pages: Sequence[int]
    page_spans: Sequence[Span]
    excluded: list[Span] = field(default_factory=list)
    heads: dict[str, list[int]] = field(default_factory=dict)
    page_keys: dict[int, str] = field(default_factory=dict)

    def page_span(self, first_page: int, last_page: int) -> Span:
        """The lines of pages `first_page` to `last_page` (from 1, inclusive, clipped to the document)."""
        first = min(max(first_page, 1), len(self.page_spans))
        last = min(max(last_page, first), len(self.page_spans))
        return self.page_spans[first - 1][0], self.page_spans[last - 1][1]

    def page_key(self, page_number: int) -> str:
        """The key of all text of a page, running lines included."""
        if page_number not in self.page_keys:
            first, end = self.page_spans[page_number - 1]
            self.page_keys[page_number] = text_key(" ".join(line.text for line in self.lines[first:end]))
        return self.page_keys[page_number]

    def is_excluded(self, line: int) -> bool:
        """Whether a line lies in a region that only lists titles."""
        return any(first <= line < last for first, last in self.excluded)

    def find(self, title: str, span: Span) -> Iterator[TitleMatch]:
        """Every place within `span` where whole lines (up to four) say exactly `title`, section number aside."""
        full, bare = text_key(title), title_key(title)
        seen: set[int] = set()
        for key in dict.fromkeys((full, bare)):
            for line in self._starting_like(key, span):
                if line in seen or self.is_excluded(line):
                    continue
                end = self._match_end(line, key, span[1])
                if end:
                    seen.add(line)
                    yield TitleMatch((line, end), self.pages[line], True, key == full and full != bare)

    def find_alike(self, title: str, span: Span) -> Iterator[TitleMatch]:
        """Places within `span` where lines resemble `title`: a few characters differ, or text follows it on the line.

        Compares every line of the span, so that the span should be a page or three.
        """
        full, bare = text_key(title), title_key(title)
        if len(bare) < 4:
            return
        for line in range(*span):
            if not self.keys[line] or self.is_excluded(line):
                continue
            end = self._alike_end(line, full, bare, span[1])
            if end:
                yield TitleMatch((line, end), self.pages[line], False, False)

    def _starting_like(self, key: str, span: Span) -> Iterator[int]:
        for length in range(min(3, len(key)), min(_HEAD, len(key)) + 1):
            places = self.heads.get(key[:length], ())
            for place in range(bisect_left(places, span[0]), len(places)):
                if places[place] >= span[1]:
                    break
                yield places[place]

    def _match_end(self, line: int, key: str, limit: int) -> int:
        for first in (self.keys[line], self.bare_keys[line]):
            if not first or not key.startswith(first):
                continue
            rest, end = key[len(first) :], line + 1
            while rest and end < min(limit, line + MAX_WRAP):
                following = self.keys[end]
                if following and not rest.startswith(following):
                    break
                rest = rest[len(following) :]
                end += 1
            if not rest:
                return end
        return 0

    def _alike_end(self, line: int, full: str, bare: str, limit: int) -> int:
        joined, joined_bare = "", ""
        for end in range(line + 1, min(limit, line + MAX_WRAP) + 1):
            if end > line + 1 and not self.keys[end - 1]:
                continue
            joined += self.keys[end - 1]
            joined_bare += self.bare_keys[end - 1] if end == line + 1 else self.keys[end - 1]
            if keys_alike(bare, joined_bare) or keys_alike(full, joined):
                return end
            if len(bare) >= 8 and joined_bare.startswith(bare) and len(joined_bare) <= 2 * len(bare):
                return end
            if len(joined_bare) > 1.5 * len(full) + 4:
                return 0
        return 0


def build_title_index(document: ParsedDocument) -> TitleIndex:
    """The index over a document's lines: one pass, memory in proportion to the text."""
    lines: list[Line] = []
    keys: list[str] = []
    bare_keys: list[str] = []
    pages: list[int] = []
    heads: dict[str, list[int]] = {}
    for page in document.pages:
        for line in page.lines:
            number = len(lines)
            lines.append(line)
            pages.append(page.page_number)
            if line.role is LineRole.RUNNING:
                keys.append("")
                bare_keys.append("")
                continue
            key, bare = text_key(line.text), title_key(line.text)
            keys.append(key)
            bare_keys.append(bare)
            for head in {key[:_HEAD], bare[:_HEAD]}:
                if head:
                    heads.setdefault(head, []).append(number)
    spans = [page.span for page in document.pages]
    index = TitleIndex(lines, keys, bare_keys, pages, spans)
    index.heads = heads
    return index
