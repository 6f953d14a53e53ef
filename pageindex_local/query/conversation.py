"""Conversations: earlier turns and a question in, the question as it has to be searched out. Keeps one file.

"And in 2021?" means nothing to a search. By rule, what the earlier question asked is carried on, with years, names and
numbers replaced; a capable model may rewrite instead, in words of the conversation only.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from pageindex_local.errors import ModelError, SettingsError, reading_problem
from pageindex_local.llm.base import GenerationRequest, TextModel
from pageindex_local.query.analyse import Question, analyse_question
from pageindex_local.query.citations import numbers_in, quote_words
from pageindex_local.query.trace import Trace
from pageindex_local.query.words import is_stop_word, split_words

REWRITE_PROMPT_VERSION = 1
CARRIED_SHARE = 0.5
_TURNS_READ = 3  # by the model that rewrites
_REWRITE_TOKENS = 80
_FEW_WORDS = 6  # a longer question that holds a pronoun usually says itself what it is about
_OPENING = re.compile(
    r"\s*(?:and|but|or|also|then|so)\b[\s,]*|\s*(?:what|how) about\b\s*|\s*(?:the )?same (?:for|in|of)\b\s*",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|she|him|his|her|those|these|that one|the same|the former|the latter)\b",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"\s*(?:who|what|which|when|where|why|how|whom|whose|is|are|was|were|do|does|did|can|could|may|must|should|shall|will"
    r"|would|has|have|had|list|name|show|give|explain|describe|compare|tell|find)\b",
    re.IGNORECASE,
)
_SYSTEM = (
    "You rewrite the last question of a conversation so that it can be understood alone. Use only words of the "
    "conversation. Reply with the question and nothing else."
)
_GRAMMAR = 'root ::= [^\\n?]{3,300} "?"'


class Turn(BaseModel):
    """One line of a conversation file. `asked_as` is the question as it was searched, where that differs."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    question: str = Field(min_length=1)
    answer: str = ""
    asked_as: str = ""
    release: str = ""


def read_conversation(path: Path) -> list[Turn]:
    """The turns of a JSON Lines file, oldest first; a file that does not exist is a conversation not begun.

    Raises:
        SettingsError: unreadable, or a line is no turn; names the line.
    """
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # JSON may hold other line separators
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            reading_problem(error), subject=str(path), next_step="Give --conversation another file, or a new one."
        ) from None
    turns = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                turns.append(Turn.model_validate(json.loads(line)))
            except (ValueError, RecursionError):
                raise SettingsError(
                    f"line {number} is no turn of a conversation",
                    subject=str(path),
                    next_step='Each line is a JSON object with "question" and "answer".',
                ) from None
    return turns


def append_turn(path: Path, turn: Turn) -> None:
    """Add a turn at the end of the file, which is made where it is missing.

    Raises:
        SettingsError: the file cannot be written.
    """
    try:
        broken = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        with path.open("a", encoding="utf-8") as stream:
            stream.write("\n" * broken + json.dumps(turn.model_dump(), ensure_ascii=False) + "\n")
    except OSError as error:
        raise SettingsError(
            f"the conversation cannot be kept ({error.strerror})",
            subject=str(path),
            next_step="Give --conversation a file in a folder that can be written.",
        ) from None


def resolve_question(question: str, turns: Sequence[Turn], model: TextModel | None, trace: Trace) -> str:
    """The question as it has to be searched: itself, where it says itself what it is about.

    Costs one short generation with a capable model and a follow-up, else nothing. A rewritten question that brings in
    a word or number from nowhere, or loses one that was asked, is dropped for the rule's.
    """
    if not turns or not split_words(question) or not is_follow_up(question):
        return question
    with trace.step("follow-up") as details:
        earlier = turns[-1].asked_as or turns[-1].question
        resolved, by = carry_on(question, earlier), "rule"
        if model is not None and model.describe().strength == "capable":
            rewritten = _rewrite(question, turns, model, trace)
            if rewritten:
                resolved, by = rewritten, "model"
        details.update({"asked": question, "understood as": resolved, "by": by})
    return resolved


def is_follow_up(question: str) -> bool:
    """Whether a question leans on the one before: by its opening, a pronoun, or because it is no whole question.

    One without a word that says what it is about ("Why?", "How much in 2021?") does too.
    """
    content = [word for word in split_words(question) if not is_stop_word(word)]
    if _OPENING.match(question) or all(word.isdigit() for word in content):
        return True
    if _BACK.search(question) and len(content) <= _FEW_WORDS:
        return True
    return len(content) <= 3 and not _ASKING.match(question)


def carry_on(question: str, earlier: str) -> str:
    """A follow-up in full, by rule.

    Years, periods and single names of the earlier question give way to those of the new one. If the new one says
    nothing else, the earlier question is asked again with them; otherwise both stand side by side, the new one first.
    """
    new, old = analyse_question(question), analyse_question(earlier)
    carried = _replace_slots(earlier, old, new)
    own = {word for word in split_words(_OPENING.sub("", question, count=1)) if not is_stop_word(word)}
    slots = {word for text in [*map(str, new.years), *new.periods, *new.names] for word in split_words(text)}
    if own <= slots and carried != earlier:
        return carried
    return f"{_as_question(question)} {carried}"


def weigh_carried(question: Question, asked: str, history: Sequence[Turn]) -> Question:
    """A question that carries an earlier one behind it, so weighed that what is asked now decides.

    All words carried on count together at most `CARRIED_SHARE` of what is asked, and none of their pairs: a long
    question before a short one would find its own pages again. Others come back as they are, and so does one that
    asks nothing but "Why?".
    """
    own = analyse_question(asked)
    opening = _as_question(asked)
    if not history or question.text == opening or not question.text.startswith(f"{opening} "):
        return question
    kept = {word.word for word in own.words if not is_stop_word(word.word)}
    if not kept:
        return question
    weights = [sum(word.weight for word in question.words if (word.word in kept) is is_own) for is_own in (True, False)]
    factor = min(1.0, CARRIED_SHARE * weights[0] / (weights[1] or 1.0))
    words = tuple(word if word.word in kept else replace(word, weight=factor * word.weight) for word in question.words)
    return replace(question, words=words, pairs=own.pairs)


def _replace_slots(earlier: str, old: Question, new: Question) -> str:
    carried = earlier
    if new.years and old.years:
        pattern = "|".join(str(year) for year in old.years)
        carried = re.sub(rf"(?<!\d)(?:{pattern})(?!\d)", str(new.years[0]), carried)
    pairs = [(old.periods, new.periods), (old.names, new.names), (old.versions, new.versions)]
    for before, after in pairs:
        if len(before) == 1 and len(after) == 1 and before != after:
            carried = re.sub(rf"(?<!\w){re.escape(before[0])}(?!\w)", lambda _, text=after[0]: text, carried)  # type: ignore[misc]
    return carried


def _as_question(text: str) -> str:
    text = text.strip()
    return text if text.endswith(("?", "？", ".", "!")) else f"{text}?"


def _rewrite(question: str, turns: Sequence[Turn], model: TextModel, trace: Trace) -> str | None:
    lines = [
        f"Question: {turn.asked_as or turn.question}\nAnswer: {' '.join(turn.answer.split()[:60])}"
        for turn in turns[-_TURNS_READ:]
    ]
    user = "\n".join([*lines, f"Last question: {question}", "Last question, understood alone:"])
    request = GenerationRequest(user, _REWRITE_TOKENS, system=_SYSTEM, grammar=_GRAMMAR, purpose="follow-up")
    try:
        (generation,) = model.generate([request])
    except ModelError as error:
        trace.count(f"model failed: {type(error).__name__}")
        return None
    rewritten = " ".join(generation.text.split())
    said = " ".join([question, *(f"{turn.question} {turn.asked_as} {turn.answer}" for turn in turns)])
    words = set(quote_words(rewritten))
    invents = {word for word in words - set(quote_words(said)) if not is_stop_word(word)}
    loses = (numbers_in(question) - numbers_in(rewritten)) or not words
    if generation.finish_reason != "stop" or invents or loses:
        trace.count("rewritten question dropped")
        return None
    return rewritten
