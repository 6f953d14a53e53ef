"""The wording of every request of the build: data in, requests out. Knows no budget and reads no answer.

Instructions first and equal within one kind, so that their reading is shared; the variable text last. No absolute page,
chunk or section number is shown, so that equal text gives equal prompts. Document text is data: see `as_data`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from pageindex_local.llm.base import GenerationRequest
from pageindex_local.llm.grammar import NO_PICKS, picks_grammar

# Part of every version's fingerprint: raise a number whenever its wording changes.
PROMPT_VERSIONS = {"mini_toc": "3", "passages": "1", "leaf_summary": "4", "parent_summary": "2", "description": "2"}

_MINI_TOC_SYSTEM = (
    "The input is the outline of a document as far as it is known: headings, # for the largest sections, ## for "
    "sections inside them and so on. Between them stand numbered lines, each with the text that follows it. Name the "
    "numbered lines that are section headings too, and give each its level: 1 for #, 2 for ##. Write number:level, one "
    f"a line, in ascending order. If no numbered line is a heading, write {NO_PICKS}."
)
_PASSAGES_SYSTEM = (
    "The input is numbered passages of a text without headings: how each begins, and titles it might have. Name the "
    "passages with which a new subject begins, and give each the number of its best title. Write passage:title, one a "
    f"line, in ascending order. If all of it is one subject, write {NO_PICKS}."
)
# Small models follow an instruction in the system turn and take all of the user turn for text; asked in the user turn,
# the bundled one often answered "This is a summary of the text" or continued the text.
_LEAF_SYSTEM = (
    "State the main point of the input text in one very short sentence, with essential details such as names or dates "
    "where needed."
)
# Small models go on after the sentence that was asked for, and get worse. The full stop itself is cut off with the
# stop.
_SENTENCE_STOPS = (". ",)
_PARENT_SYSTEM = "The input lists the parts of one chapter. State in one short sentence what the chapter is about."
_DESCRIPTION_SYSTEM = "The input lists the parts of a document. State in one short sentence what the document is about."
_RETRY_HINT = " {problem} Use only facts from the input."

_CONTROL_TOKENS = re.compile(
    r"<\s*(?=[|｜])|(?<=[|｜])\s*>|<<(?=/?SYS>>)|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|<(?=/?(?:s|bos|eos|pad|unk|mask|think|tool_call|tool_response|start_of_turn|end_of_turn)>)",
    re.IGNORECASE,
)
_SPACED = {"<": "< ", "<<": "< < ", "[": "[ ", ">": " >"}
_UNPRINTED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def as_data(text: str) -> str:
    """Document text as it may stand in a prompt: control characters out, chat-control tokens broken by a space."""
    text = _UNPRINTED.sub(" ", text)
    return _CONTROL_TOKENS.sub(lambda found: _SPACED[found.group().replace(" ", "")], text)


def mini_toc_request(entries: Sequence[tuple[str, bool]], max_tokens: int) -> GenerationRequest:
    """Which of these lines are headings, and of what level. The answer is `grammar.parse_picks`'s to read.

    An entry marked true is a question and gets a local number, from 1; the others are shown as they are.
    """
    lines: list[str] = []
    count = 0
    for entry, is_question in entries:
        count += is_question
        lines.append(f"{count}: {as_data(entry)}" if is_question else as_data(entry))
    return GenerationRequest(
        system=_MINI_TOC_SYSTEM,
        user="\n".join(lines),
        max_tokens=max_tokens,
        grammar=picks_grammar(count),
        purpose="mini_toc",
    )


def passages_request(entries: Sequence[tuple[str, int]], max_tokens: int) -> GenerationRequest:
    """Which of these passages begin a subject, and which of its titles each bears: entries, and how many titles.

    The answer is `grammar.parse_picks`'s to read.
    """
    lines = [f"{number}: {as_data(entry)}" for number, (entry, _) in enumerate(entries, 1)]
    return GenerationRequest(
        system=_PASSAGES_SYSTEM,
        user="\n".join(lines),
        max_tokens=max_tokens,
        grammar=picks_grammar(len(entries), [choices for _, choices in entries]),
        purpose="passages",
    )


def leaf_summary_request(title: str, sentences: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a section, from sentences of it. An empty title is left out."""
    text = as_data(" ".join(sentences))
    user = f"{as_data(title)}\n{text}" if title else text
    return GenerationRequest(
        system=_LEAF_SYSTEM, user=user, max_tokens=max_tokens, stop=_SENTENCE_STOPS, purpose="leaf_summary"
    )


def parent_summary_request(title: str, parts: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a section with children, from a line on each of them."""
    user = f"{as_data(title)}\n{_as_list(parts)}"
    return GenerationRequest(system=_PARENT_SYSTEM, user=user, max_tokens=max_tokens, purpose="parent_summary")


def description_request(title: str, parts: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a document, from a line on each of its top-level sections."""
    user = f"{as_data(title)}\n{_as_list(parts)}"
    return GenerationRequest(system=_DESCRIPTION_SYSTEM, user=user, max_tokens=max_tokens, purpose="description")


def retry_request(request: GenerationRequest, problem: str) -> GenerationRequest:
    """The same request, asked again: another attempt, and what was wrong with the last answer."""
    hint = _RETRY_HINT.format(problem=as_data(problem[:1].upper() + problem[1:].rstrip(".") + "."))
    return replace(request, system=request.system + hint, attempt=request.attempt + 1)


def _as_list(parts: Sequence[str]) -> str:
    return "\n".join(f"- {as_data(part)}" for part in parts)
