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
PROMPT_VERSIONS = {"mini_toc": "1", "leaf_summary": "1", "parent_summary": "1", "description": "1"}

_MINI_TOC_SYSTEM = "You find the section headings of a document."
_MINI_TOC_TASK = (
    "Below are numbered lines of a document, each with the text that follows it. Name the lines that are section "
    "headings. Give each its level: 1 for the largest sections, 2 for sections inside them, and so on. Write "
    f"number:level, one a line, in ascending order. If no line is a heading, write {NO_PICKS}.\n\n"
)
_SUMMARY_SYSTEM = "You summarize text in one sentence."
_LEAF_TASK = "Summarize this text in one short sentence.\n\n"
_PARENT_TASK = "These are the parts of one chapter. Summarize the chapter in one short sentence.\n\n"
_DESCRIPTION_TASK = "These are the parts of one document. Say in one short sentence what the document is about.\n\n"
_RETRY_HINT = "Use only facts from the text. {problem}\n"

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


def mini_toc_request(entries: Sequence[str], max_tokens: int) -> GenerationRequest:
    """Which of these candidate lines are headings, and of what level. The answer is `grammar.parse_picks`'s to read."""
    lines = "\n".join(f"{number}: {as_data(entry)}" for number, entry in enumerate(entries, 1))
    return GenerationRequest(
        system=_MINI_TOC_SYSTEM,
        user=_MINI_TOC_TASK + lines,
        max_tokens=max_tokens,
        grammar=picks_grammar(len(entries)),
        purpose="mini_toc",
    )


def leaf_summary_request(title: str, sentences: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a section, from sentences of it."""
    text = as_data(" ".join(sentences))
    return _summary_request("leaf_summary", f"{_LEAF_TASK}{as_data(title)}\n{text}", max_tokens)


def parent_summary_request(title: str, parts: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a section with children, from a line on each of them."""
    return _summary_request("parent_summary", f"{_PARENT_TASK}{as_data(title)}\n{_as_list(parts)}", max_tokens)


def description_request(title: str, parts: Sequence[str], max_tokens: int) -> GenerationRequest:
    """One sentence on a document, from a line on each of its top-level sections."""
    return _summary_request("description", f"{_DESCRIPTION_TASK}{as_data(title)}\n{_as_list(parts)}", max_tokens)


def retry_request(request: GenerationRequest, problem: str) -> GenerationRequest:
    """The same request, asked again: another attempt, and what was wrong with the last answer."""
    hint = _RETRY_HINT.format(problem=as_data(problem[:1].upper() + problem[1:].rstrip(".") + "."))
    head, separator, rest = request.user.partition("\n\n")
    return replace(request, user=f"{head} {hint}{separator}{rest}", attempt=request.attempt + 1)


def _summary_request(purpose: str, user: str, max_tokens: int) -> GenerationRequest:
    return GenerationRequest(system=_SUMMARY_SYSTEM, user=user, max_tokens=max_tokens, purpose=purpose)


def _as_list(parts: Sequence[str]) -> str:
    return "\n".join(f"- {as_data(part)}" for part in parts)
