"""The map step: chunks in, a mini-TOC for each out, from the evidence or from a model that judges candidate lines.

A model can only point at candidate lines of the chunk by local number and give a level; titles, lines and pages come
from the document. What cannot be had from the model falls back to the evidence and says so; nothing here is fatal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pageindex_local.candidates import Role
from pageindex_local.chunking import Chunk
from pageindex_local.controls import is_checkable, passes_controls, passes_decoys
from pageindex_local.llm.base import Capability, Generation, GenerationRequest, TextModel
from pageindex_local.llm.budget import fits
from pageindex_local.llm.grammar import parse_picks
from pageindex_local.llm.prompts import mini_toc_request, passages_request, retry_request
from pageindex_local.records import Heading, Origin, Span
from pageindex_local.settings import TreeSettings

# `number:level` and a line break; numbers of three digits take most tokenizers two tokens.
_TOKENS_PER_PICK = 6
_SURE = 0.8  # confidence of a heading that model and evidence agree on, at least
_PICKED = 0.6  # of a candidate that only the model takes for a heading
_SHOWN_PLACES = 3
CHOSE_DECOYS = "the model chose titles of other passages"
UNCHECKED = "there is no plain text by which to check a small model"
FAILED_CONTROLS = "the model called lines of plain text headings, or known headings none"


@dataclass(frozen=True, slots=True)
class TocItem:
    """A heading of a chunk. `order` counts headings that start at the same line; `asked_level` is the model's level.

    `asked_level` is None where the evidence placed the heading and its level stands.
    """

    heading: Heading
    order: int = 0
    asked_level: int | None = None


@dataclass(frozen=True, slots=True)
class MiniToc:
    """The headings of one chunk, in order. `calls` counts requests made for it; `problem` says why it is degraded.

    A degraded mini-TOC (`problem` not empty) holds the evidence instead of the model's judgement.
    """

    chunk_id: str
    span: Span
    items: tuple[TocItem, ...]
    calls: int = 0
    problem: str = ""


def build_mini_tocs(chunks: Sequence[Chunk], model: TextModel | None, settings: TreeSettings) -> tuple[MiniToc, ...]:
    """One mini-TOC a chunk, in order.

    Strategy `model` asks about every chunk that has candidates. `auto` asks about chunks that the evidence leaves
    open, and only a capable model: a model of the bundled one's size answers a choice from a lettered list at chance,
    so it is not expected to improve on any evidence. A small one is not asked where nothing could show that it guesses
    (`control_questions`). At most `settings.attempts` requests a
    chunk, each round of them in one call.

    Raises:
        ModelError: the engine failed. Unusable output and overlong prompts are not errors.
    """
    results = {chunk.chunk_id: _from_evidence(chunk) for chunk in chunks}
    open_chunks = [chunk for chunk in chunks if chunk.candidates]
    if not open_chunks or model is None or not _is_asked(model, settings):
        return tuple(results[chunk.chunk_id] for chunk in chunks)
    has_grammar = Capability.GRAMMAR in model.describe().capabilities
    is_small = settings.control_questions and model.describe().strength == "small"
    pending: list[tuple[Chunk, GenerationRequest]] = []
    for chunk in open_chunks:
        request = request_mini_toc(chunk)
        if not has_grammar:
            request = replace(request, grammar=None)
        if is_small and not chunk.is_narrative and not is_checkable(chunk.candidates):
            results[chunk.chunk_id] = _fall_back(chunk, UNCHECKED)
        elif fits(model, request):
            pending.append((chunk, request))
        else:
            results[chunk.chunk_id] = _fall_back(chunk, "the prompt does not fit the model's window")
    for _ in range(settings.attempts):
        if not pending:
            break
        pending = _ask_once(model, pending, results, settings)
    return tuple(results[chunk.chunk_id] for chunk in chunks)


def describe_degraded(parts: Sequence[MiniToc]) -> list[str]:
    """A sentence for each reason why mini-TOCs fell back to the evidence, for the warnings of a build."""
    by_problem: dict[str, list[MiniToc]] = {}
    for part in sorted(parts, key=lambda part: part.span):
        if part.problem:
            by_problem.setdefault(part.problem, []).append(part)
    sentences = []
    for problem, degraded in by_problem.items():
        places = ", ".join(f"{part.span[0] + 1}-{part.span[1]}" for part in degraded[:_SHOWN_PLACES])
        more = f" and {len(degraded) - _SHOWN_PLACES} more stretches" if len(degraded) > _SHOWN_PLACES else ""
        sentences.append(f"lines {places}{more}: headings come from the evidence alone, because {problem}")
    return sentences


def _is_asked(model: TextModel, settings: TreeSettings) -> bool:
    return settings.strategy == "model" or (settings.strategy == "auto" and model.describe().strength == "capable")


def request_mini_toc(chunk: Chunk) -> GenerationRequest:
    """The question about a chunk, which has candidates."""
    if chunk.is_narrative:
        entries = [(candidate.entry, len(candidate.titles)) for candidate in chunk.candidates]
        return passages_request(entries, max_tokens=_TOKENS_PER_PICK * len(entries) + 4)
    lines = [(candidate.entry, candidate.is_asked) for candidate in chunk.shown]
    return mini_toc_request(lines, max_tokens=_TOKENS_PER_PICK * len(chunk.candidates) + 4)


def _ask_once(
    model: TextModel,
    pending: Sequence[tuple[Chunk, GenerationRequest]],
    results: dict[str, MiniToc],
    settings: TreeSettings,
) -> list[tuple[Chunk, GenerationRequest]]:
    """Ask for every pending chunk, file what can be used, and give back what has to be asked again and fits."""
    generations = model.generate([request for _, request in pending])
    again: list[tuple[Chunk, GenerationRequest]] = []
    for (chunk, request), generation in zip(pending, generations, strict=True):
        calls = request.attempt + 1
        try:
            picks = _read(generation, len(chunk.candidates))
            results[chunk.chunk_id] = _judge(chunk, picks, calls, is_checked=settings.control_questions)
        except ValueError as error:
            problem = f"the model's answer could not be used ({error})"
            results[chunk.chunk_id] = _fall_back(chunk, problem, calls)
            retry = retry_request(request, f"The last answer was wrong: {error}")
            if fits(model, retry):
                again.append((chunk, retry))
    return again


def _read(generation: Generation, count: int) -> list[tuple[int, int]]:
    if generation.finish_reason != "stop":
        raise ValueError("it was cut off")
    return parse_picks(generation.text, count)


def _judge(chunk: Chunk, picks: Sequence[tuple[int, int]], calls: int, *, is_checked: bool) -> MiniToc:
    """What the answer says where it passes the controls, else the evidence.

    A chunk is not asked about again for that: a model that does not judge would pass in the end by chance.

    Raises:
        ValueError: a passage has no title of that number.
    """
    asked = chunk.candidates
    if chunk.is_narrative:
        for number, choice in picks:
            if choice > len(asked[number - 1].titles):
                raise ValueError(f"passage {number} has no title {choice}")
        return (
            _from_titles(chunk, picks, calls)
            if not is_checked or passes_decoys(asked, picks)
            else _fall_back(chunk, CHOSE_DECOYS, calls)
        )
    if not is_checked or passes_controls(asked, {number for number, _ in picks}):
        return _from_picks(chunk, picks, calls)
    return _fall_back(chunk, FAILED_CONTROLS, calls)


def _from_evidence(chunk: Chunk) -> MiniToc:
    return MiniToc(chunk.chunk_id, chunk.span, _number([(heading, None) for heading in chunk.headings]))


def _fall_back(chunk: Chunk, problem: str, calls: int = 0) -> MiniToc:
    """The evidence, and every passage under its own best title: what there is without a judgement."""
    passages = [candidate.heading for candidate in chunk.candidates if candidate.titles]
    headings = sorted([*chunk.headings, *passages], key=lambda heading: heading.span[0])
    return MiniToc(chunk.chunk_id, chunk.span, _number([(heading, None) for heading in headings]), calls, problem)


def _from_titles(chunk: Chunk, picks: Sequence[tuple[int, int]], calls: int) -> MiniToc:
    """The passages that begin a subject, under the titles chosen, and the headings of the evidence.

    The first passage of a document always begins one.
    """
    chosen = dict(picks)
    headings = list(chunk.headings)
    for number, candidate in enumerate(chunk.candidates, 1):
        if number in chosen:
            title = candidate.titles[chosen[number] - 1]
            if title == candidate.decoy:
                title = candidate.heading.title
            headings.append(replace(candidate.heading, title=title, origin=Origin.MODEL, confidence=_PICKED))
        elif number == 1 and chunk.span[0] == 0:
            headings.append(candidate.heading)
    headings.sort(key=lambda heading: heading.span[0])
    return MiniToc(chunk.chunk_id, chunk.span, _number([(heading, None) for heading in headings]), calls)


def _from_picks(chunk: Chunk, picks: Sequence[tuple[int, int]], calls: int) -> MiniToc:
    """The chosen candidates, and the headings of the evidence that the model was not asked about."""
    asked_lines = {candidate.heading.span[0] for candidate in chunk.candidates if candidate.role is Role.OPEN}
    headings: list[tuple[Heading, int | None]] = [
        (heading, None)
        for heading in chunk.headings
        if heading.span[0] not in asked_lines or heading.span[0] == heading.span[1]
    ]
    for number, level in picks:
        candidate = chunk.candidates[number - 1]
        heading = candidate.heading
        if candidate.role is not Role.OPEN:
            continue
        if candidate.is_evidence:
            headings.append((replace(heading, confidence=max(heading.confidence, _SURE)), None))
        else:
            headings.append((replace(heading, origin=Origin.MODEL, confidence=_PICKED), level))
    # Stable: unprinted headings come before the printed one on their line, as the evidence had them.
    headings.sort(key=lambda item: item[0].span[0])
    return MiniToc(chunk.chunk_id, chunk.span, _number(headings), calls)


def _number(headings: Sequence[tuple[Heading, int | None]]) -> tuple[TocItem, ...]:
    items: list[TocItem] = []
    for heading, level in headings:
        same_line = bool(items) and items[-1].heading.span[0] == heading.span[0]
        items.append(TocItem(heading, items[-1].order + 1 if same_line else 0, level))
    return tuple(items)
