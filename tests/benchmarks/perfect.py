"""A scripted perfect model: chunks and a reference outline in, a model that names just the right candidate lines out.

What a mini-TOC could reach if every judgement were right. It sees what a real model sees and answers in the same form.
"""

from collections import defaultdict, deque
from collections.abc import Sequence

from pageindex_local.candidates import Role
from pageindex_local.chunking import Chunk
from pageindex_local.evaluate.structure import Entry, match_entries
from pageindex_local.llm.base import GenerationRequest
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.llm.grammar import MAX_LEVELS, render_picks
from pageindex_local.records import Heading, Span
from pageindex_local.tree.mini_toc import request_mini_toc


class PerfectModel(FunctionModel):
    """Answers each mini-TOC prompt with the lines that are in the reference outline, and their levels there."""

    def __init__(self) -> None:
        self._answers: dict[str, deque[str]] = defaultdict(deque)
        super().__init__(self._answer, strength="capable", name="perfect")

    def learn(self, chunks: Sequence[Chunk], gold: Sequence[Entry]) -> None:
        """Work out the right answers about these chunks. Chunks with equal prompts are answered in their order."""
        right = find_gold_lines(chunks, gold)
        for chunk in chunks:
            if not chunk.candidates:
                continue
            picks = [
                (number, min(right[candidate.heading.span], MAX_LEVELS))
                for number, candidate in enumerate(chunk.candidates, 1)
                if candidate.heading.span in right and candidate.role is not Role.PLAIN_TEXT
            ]
            self._answers[request_mini_toc(chunk).user].append(render_picks(picks))

    def _answer(self, request: GenerationRequest) -> str:
        return self._answers[request.user].popleft()


def find_gold_lines(chunks: Sequence[Chunk], gold: Sequence[Entry]) -> dict[Span, int]:
    """The spans of the chunks' lines that are reference headings, with the reference's level.

    Headings of the evidence are matched first, so that of two like lines the one already taken for a heading is meant;
    a further candidate is right only if the reference has an entry left for it at its place in the order.
    """
    evidence = [heading for chunk in chunks for heading in chunk.headings]
    taken = {heading.span[0] for heading in evidence if heading.span[0] < heading.span[1]}
    others = [
        candidate.heading
        for chunk in chunks
        for candidate in chunk.candidates
        if candidate.role is Role.OPEN and not candidate.titles and candidate.heading.span[0] not in taken
    ]
    first = _match(gold, evidence)
    left = [entry for number, entry in enumerate(gold) if number not in first]
    united = [*evidence, *_match(left, others).values()]
    right = _match(gold, sorted(united, key=lambda heading: heading.span[0])) | first
    return {heading.span: gold[number].level for number, heading in right.items()}


def _match(gold: Sequence[Entry], headings: Sequence[Heading]) -> dict[int, Heading]:
    """Number of the reference entry -> the heading that matches it. Headings are in document order."""
    entries = [Entry(heading.level, heading.title, heading.page_number) for heading in headings]
    return {number: headings[index] for number, index in match_entries(gold, entries)}
