"""Control questions: lines whose answer is known, mixed into what a model is asked, so that guessing is found out.

A model that calls every line a heading, or none, or some at random is worse than the evidence it would overrule. Its
answer about a chunk counts only where it is right about the controls. Calls no model.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from pageindex_local.candidates import Candidate, Role, is_listed, show_question
from pageindex_local.records import Heading, Line, LineRole, Origin
from pageindex_local.tree.cuts import text_tie

_QUESTIONS_PER_LINE = 6  # one line of plain text is mixed in for so many questions,
_MIN_LINES = 4  # but so many at least: half the lines named at random passes once in sixteen
_MAX_HEADINGS = 2
_ENOUGH = 3
_SHORTEST_LINE = 30  # characters; a short line inside a paragraph may be a heading that nothing recognised
_MIN_EVIDENCE = 3
_EVIDENCE_SHARE = 0.25


def add_controls(
    shown: Sequence[Candidate], lines: Sequence[Line], end: int, body_size: float
) -> tuple[Candidate, ...]:
    """What a model is shown of a chunk with controls in it, in document order; nothing where nothing is asked.

    Up to two settled headings become questions, and lines from inside paragraphs below the questions are added. Which
    ones depends on their text alone. `end` is the line at which the chunk ends.
    """
    questions = [candidate for candidate in shown if candidate.is_asked]
    if not questions:
        return ()
    if questions[0].titles:
        return tuple(questions)
    settled = [candidate for candidate in shown if not candidate.is_asked and is_listed(candidate.heading)]
    known = sorted(settled, key=lambda candidate: text_tie(candidate.heading.title))[:_MAX_HEADINGS]
    known_lines = {candidate.heading.span[0] for candidate in known if candidate.heading.span[1] <= end}
    plain = _plain_lines([candidate.heading for candidate in shown], lines, end)
    plain.sort(key=lambda number: text_tie(lines[number].text))
    count = max(_MIN_LINES, len(questions) // _QUESTIONS_PER_LINE)
    entries: dict[int, Candidate] = {}
    for candidate in shown:
        start, after = candidate.heading.span
        if start in known_lines:
            entry = show_question(lines, candidate.heading, min(after + 6, end), body_size, is_evidence=False)
            entries[start] = replace(candidate, entry=entry, role=Role.KNOWN_HEADING)
        else:
            entries[start] = candidate
    for number in plain[:count]:
        heading = Heading(lines[number].text, 1, (number, number + 1), 1, Origin.DERIVED, 0.0)
        entry = show_question(lines, heading, min(number + 7, end), body_size, is_evidence=False)
        entries[number] = Candidate(heading, entry, False, Role.PLAIN_TEXT)
    return tuple(entries[start] for start in sorted(entries))


def is_checkable(asked: Sequence[Candidate]) -> bool:
    """Whether there are enough controls among the questions to tell judging from guessing.

    Title pages and lists have no paragraphs to take lines from.
    """
    return sum(candidate.role is not Role.OPEN for candidate in asked) >= _ENOUGH


def passes_controls(asked: Sequence[Candidate], named: Collection[int]) -> bool:
    """Whether an answer is a judgement: local numbers (from 1) of the lines that were called headings.

    No line of plain text may be among them, half of the known headings must be, and a quarter of the lines that the
    evidence takes for headings: there are never that many mistakes in it.
    """
    answers = [(candidate, number in named) for number, candidate in enumerate(asked, 1)]
    if any(yes for candidate, yes in answers if candidate.role is Role.PLAIN_TEXT):
        return False
    known = [yes for candidate, yes in answers if candidate.role is Role.KNOWN_HEADING]
    evidence = [yes for candidate, yes in answers if candidate.role is Role.OPEN and candidate.is_evidence]
    return 2 * sum(known) >= len(known) and (
        len(evidence) < _MIN_EVIDENCE or sum(evidence) >= _EVIDENCE_SHARE * len(evidence)
    )


def passes_decoys(asked: Sequence[Candidate], picks: Sequence[tuple[int, int]]) -> bool:
    """Whether titles were judged: local numbers of passages, and of the titles chosen for them, both from 1.

    Of eight titles at most one may be that of another passage; a guesser chooses one in three or four.
    """
    decoyed = [(asked[number - 1], choice) for number, choice in picks if asked[number - 1].decoy]
    wrong = sum(candidate.titles[choice - 1] == candidate.decoy for candidate, choice in decoyed)
    return wrong <= len(decoyed) // 8


def _plain_lines(headings: Sequence[Heading], lines: Sequence[Line], end: int) -> list[int]:
    """Lines that stand inside a paragraph: long, in the block of the lines before and after, running on from above."""
    taken = {number for heading in headings for number in range(*heading.span)}
    first = min(heading.span[0] for heading in headings)
    found: list[int] = []
    for number in range(first + 1, min(end, len(lines)) - 1):
        before, line, after = lines[number - 1], lines[number], lines[number + 1]
        text = line.text.strip()
        if (
            len(text) >= _SHORTEST_LINE
            and text[0].isalpha()
            and not text[0].isupper()
            and before.text.strip()
            and after.text.strip()
            and line.cells == 1
            and line.role is LineRole.BODY
            and before.block == line.block == after.block
            and (line.size, line.bold) == (before.size, before.bold) == (after.size, after.bold)
            and taken.isdisjoint((number - 1, number, number + 1))
        ):
            found.append(number)
    return found
