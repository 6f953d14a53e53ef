"""Candidates of a whole document in, the ones that layout alone would choose out.

Here single candidates meet what the document does elsewhere: whether it numbers its sections, which styles recur,
where its text begins. Scores below `ACCEPT` stay candidates for other evidence.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.headings.levels import Strength
from pageindex_local.headings.paragraphs import Group
from pageindex_local.headings.sequences import Link
from pageindex_local.headings.styles import LARGER, Typography

ACCEPT = 0.5
_REFUSED = 0.45
_LONG_SECTION_PAGES = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A group that may be a heading, and how much speaks for it (`score`, accepted from `ACCEPT` on).

    `cluster` numbers the style cluster (-1 for plain body style), `numbered` is the share of that cluster that
    carries section numbers. `doubt` says why a candidate that looks right was refused.
    """

    group: Group
    strength: Strength
    score: float
    cluster: int
    numbered: float
    link: Link | None = None
    doubt: str = ""

    @property
    def accepted(self) -> bool:
        """Whether layout alone would choose it."""
        return self.score >= ACCEPT

    @property
    def has_number(self) -> bool:
        """Whether it carries a section number that fits the series around it."""
        return self.link is not None and self.link.fits

    @property
    def has_compound(self) -> bool:
        """Whether that number is one of the kind '3.2'."""
        return self.link is not None and self.link.fits and self.link.number.depth > 1


def select_candidates(
    candidates: Sequence[Candidate], first_text: tuple[int, int], page_count: int, *, body_size: int, has_contents: bool
) -> list[Candidate]:
    """The candidates with the scores lowered of those that the document as a whole speaks against.

    `body_size` is that of `Style`; `has_contents` says that the document prints a list of its sections.
    """
    found = _refuse_title_pages(candidates, *first_text)
    numbered = sum(candidate.accepted and candidate.has_number for candidate in found)
    # Where numbered sections are long and no list says how deep the author counts, larger type below them is wanted.
    smallest = float("inf") if has_contents or page_count < _LONG_SECTION_PAGES * numbered else LARGER * body_size
    found = _refuse_unnumbered(found, smallest)
    return _refuse_rare(found, page_count)


def find_first_text(groups: Sequence[Group], typography: Typography) -> tuple[int, int]:
    """The first page with running text and the line where it begins there.

    Earlier pages are title pages and their backs; above that line on a first page stands the document's own title.
    """
    characters: Counter[int] = Counter()
    first_lines: dict[int, int] = {}
    for group in groups:
        if group.style.size == typography.body.size and group.line_count > 1 and group.cells == 1:
            characters[group.page_number] += len(group.text)
            first_lines.setdefault(group.page_number, group.span[0])
    if not characters:
        return 1, 0
    usual = sorted(characters.values())[len(characters) // 2]
    page = next(page for page in sorted(characters) if characters[page] >= 0.3 * usual)
    return page, first_lines[page]


def _refuse(candidate: Candidate, doubt: str) -> Candidate:
    return replace(candidate, score=min(candidate.score, _REFUSED), doubt=doubt)


def _refuse_title_pages(candidates: Sequence[Candidate], page: int, line: int) -> list[Candidate]:
    """Without what stands before the first text: titles, authors, dates, addresses.

    The last line above the text is its heading if that style comes again later, or if it begins at the edge of the
    text under a title that is centred ('Abstract'); else it belongs to the title.
    """
    last_page = {candidate.cluster: candidate.group.page_number for candidate in candidates if candidate.accepted}
    above = [
        candidate
        for candidate in candidates
        if candidate.accepted and candidate.group.page_number == page and candidate.group.span[0] < line
    ]
    keep = above[-1].group.span if above and (last_page[above[-1].cluster] > page or _leaves_title(above)) else None
    found = []
    for candidate in candidates:
        group = candidate.group
        before = group.page_number < page or (
            page == 1 and group.page_number == 1 and group.span[0] < line and group.span != keep
        )
        refused = candidate.accepted and before and not candidate.has_number
        found.append(_refuse(candidate, "title page") if refused else candidate)
    return found


def _leaves_title(above: Sequence[Candidate]) -> bool:
    """Whether the last line above the text is set to the left while the title above it is centred."""
    return not above[-1].group.centred and len(above) > 1 and all(item.group.centred for item in above[:-1])


def _refuse_unnumbered(candidates: list[Candidate], smallest: float) -> list[Candidate]:
    """In a document that numbers its sections, lines without a number below the chapters are not sections.

    Style files number down to a depth and set deeper headings, list titles and boxes without; writers of outlines and
    contents pages stop there too. What stands in an unnumbered chapter (a preface) has no numbers to carry and
    stays, and so does a style in which numbered and unnumbered headings are mixed. So do styles without any numbers in
    type larger than `smallest`.
    """
    accepted = [candidate for candidate in candidates if candidate.accepted]
    compound = sum(candidate.has_compound for candidate in accepted)
    numbered = sum(candidate.has_number for candidate in accepted)
    if numbered < 5 or (numbered < 0.6 * len(accepted) and (compound < 5 or compound < 0.3 * len(accepted))):
        return candidates
    top: Strength = max(candidate.strength for candidate in accepted if candidate.has_number)
    in_unnumbered_chapter = True
    found = []
    for candidate in candidates:
        doubt = ""
        if candidate.accepted:
            if candidate.strength >= top:
                in_unnumbered_chapter = not candidate.has_number
            elif candidate.group.numbers:
                in_unnumbered_chapter = in_unnumbered_chapter and not candidate.has_compound
            elif candidate.numbered == 0 and candidate.strength[0] > smallest:
                pass
            elif candidate.numbered < 0.3 or (candidate.numbered > 0.7 and not in_unnumbered_chapter):
                doubt = "no number among numbered sections"
        found.append(_refuse(candidate, doubt) if doubt else candidate)
    return found


def _refuse_rare(candidates: list[Candidate], page_count: int) -> list[Candidate]:
    """Styles used once or twice in a long document that has settled heading styles are specimens."""
    accepted = [candidate for candidate in candidates if candidate.accepted]
    counts = Counter(candidate.cluster for candidate in accepted)
    settled = {cluster for cluster, count in counts.items() if count >= max(4, 0.02 * len(accepted))}
    if page_count < 20 or len(accepted) < 15 or not settled:
        return candidates
    sizes = {candidate.strength[0] for candidate in accepted if candidate.cluster in settled}
    return [
        _refuse(candidate, "rare style")
        if candidate.accepted
        and counts[candidate.cluster] <= max(2, 0.01 * len(accepted))
        and candidate.strength[0] not in sizes
        and not (candidate.has_number and candidate.link is not None and candidate.link.length > 1)
        else candidate
        for candidate in candidates
    ]
