"""From findings to an answer whose every citation was resolved and checked by code.

A capable model writes from numbered contexts and cites them by number; what the contexts do not hold is flagged. A
small model, a failed check or no model at all gives the best verified quotes, not a sentence that may be invented.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pageindex_local.errors import ModelError
from pageindex_local.llm.base import GenerationRequest, OnText, TextModel, generate_watched
from pageindex_local.query.assemble import NOT_FOUND, Context, assemble_prompt
from pageindex_local.query.citations import make_inert, numbers_in, quote_words
from pageindex_local.query.conversation import Turn
from pageindex_local.query.excerpts import excerpt, word_weights
from pageindex_local.query.extract import Quote, best_segment, extract_quotes, quoted_answer, verify_quote
from pageindex_local.query.findings import Findings
from pageindex_local.query.trace import Trace
from pageindex_local.query.words import is_stop_word
from pageindex_local.settings import QuerySettings

CONTEXT_WORDS = 260
SUPPORT = 0.5  # share of a sentence's content words that its context must hold
WEAK_FACTOR = 1.2  # evidence below this many times the abstention threshold is called weak
_MARKER = re.compile(r"\s*\[(\d{1,3}(?:\s*,\s*\d{1,3})*)\]")
_SENTENCE = re.compile(r"[^.!?。！？]+(?:[.!?。！？](?=\d)[^.!?。！？]*)*[.!?。！？]*(?:\s*\[[\d,\s]+\])*")


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer, its quotes in citation order, the sentences nothing supports, and who wrote it."""

    text: str
    quotes: tuple[Quote, ...]
    uncited: tuple[str, ...] = ()
    written_by: str = "quotes"
    abstained: bool = False


def write_answer(
    findings: Findings,
    model: TextModel | None,
    settings: QuerySettings,
    trace: Trace,
    *,
    history: Sequence[Turn] = (),
    notes: Sequence[str] = (),
    on_text: OnText | None = None,
) -> WrittenAnswer:
    """Answer from what was found, or abstain. Model cost: one generation, and only with a capable model.

    `on_text` hears the model's draft as it grows, before anything in it was checked.
    """
    with trace.step("answer") as details:
        answer = _write(findings, model, settings, trace, history, notes, on_text)
        details["written by"] = answer.written_by
        details["abstained"] = answer.abstained
        details["text"] = answer.text if answer.written_by == "model" else ""  # else the quotes say it
        details["citations"] = [
            {
                "doc_id": findings.documents[quote.doc_key].ranked.document.doc_id,
                "page": quote.page_number,
                "columns": quote.columns,
                "quote": quote.text,
            }
            for quote in answer.quotes
        ]
        details["uncited"] = list(answer.uncited)
    return answer


def _write(
    findings: Findings,
    model: TextModel | None,
    settings: QuerySettings,
    trace: Trace,
    history: Sequence[Turn],
    notes: Sequence[str],
    on_text: OnText | None,
) -> WrittenAnswer:
    if not findings.candidates or findings.confidence.value < settings.abstain_below:
        trace.count("abstained")
        return WrittenAnswer("", (), written_by="nobody", abstained=True)
    if model is not None and model.describe().strength == "capable":
        written = _ask_model(findings, model, settings, trace, history, notes, on_text)
        if written is not None:
            return written
        trace.count("answer fell back to quotes")
    quotes = extract_quotes(findings)
    if not quotes:
        trace.count("no quotable text")
        return WrittenAnswer("", (), written_by="nobody", abstained=True)
    return WrittenAnswer(quoted_answer(quotes), tuple(quotes))


def build_contexts(findings: Findings) -> list[Context]:
    """The best part of each page found, numbered from 1 in rank order."""
    contexts = []
    for number, candidate in enumerate(findings.candidates, 1):
        searched = findings.documents[candidate.doc_key]
        weights = word_weights(findings.question, searched.evidence)
        contexts.append(
            Context(
                number=number,
                doc_key=candidate.doc_key,
                doc_id=searched.ranked.document.doc_id,
                version=searched.version.version_id,
                node_id=candidate.node_id,
                title=searched.tree.nodes[candidate.node_id].title,
                page_number=candidate.page_number,
                text=excerpt(searched.page_lines(candidate.page_number), weights, CONTEXT_WORDS),
            )
        )
    return contexts


def _ask_model(
    findings: Findings,
    model: TextModel,
    settings: QuerySettings,
    trace: Trace,
    history: Sequence[Turn],
    notes: Sequence[str],
    on_text: OnText | None,
) -> WrittenAnswer | None:
    weak = findings.confidence.value < WEAK_FACTOR * settings.abstain_below
    try:
        prompt = assemble_prompt(
            findings.question.text,
            build_contexts(findings),
            model,
            answer_tokens=settings.answer_tokens,
            notes=notes,
            history=history,
            weak=weak,
        )
        with trace.step("prompt") as details:
            details["weak evidence"] = weak
            details["budgets"] = [asdict(budget) for budget in prompt.budgets]
        request = GenerationRequest(prompt.user, settings.answer_tokens, system=prompt.system, purpose="answer")
        generation = generate_watched(model, request, on_text)
    except ModelError as error:
        trace.count(f"model failed: {type(error).__name__}")
        return None
    if NOT_FOUND in generation.text.upper():
        trace.count("model found nothing")
        return WrittenAnswer("", (), written_by="model", abstained=True)
    return read_answer(generation.text, prompt.contexts, findings)


def read_answer(text: str, contexts: Sequence[Context], findings: Findings) -> WrittenAnswer | None:
    """A model's answer with its numbers resolved, or None where no sentence is supported.

    Numbers that name no context vanish. A sentence is supported by a cited context (or, where it cites none, by any)
    that holds all its numbers and `SUPPORT` of its words; other sentences are kept and listed in `uncited`.
    """
    known = {context.number: context for context in contexts}
    quotes: list[Quote] = []
    parts: list[str] = []
    uncited: list[str] = []
    for match in _SENTENCE.finditer(make_inert(text)):
        cited = [int(number) for found in _MARKER.findall(match.group()) for number in re.findall(r"\d+", found)]
        sentence = _MARKER.sub("", match.group()).strip()
        if not any(char.isalnum() for char in sentence):
            continue
        named = [known[number] for number in dict.fromkeys(cited) if number in known]
        supports = [context for context in named or contexts if supports_claim(sentence, context, findings)]
        quote = next(filter(None, (_quote_for(sentence, context, findings) for context in supports)), None)
        if quote is None:
            parts.append(sentence)
            uncited.append(sentence)
            continue
        same = [place for place, earlier in enumerate(quotes, 1) if earlier.text == quote.text]
        if not same:
            quotes.append(quote)
        parts.append(f"{sentence} [{same[0] if same else len(quotes)}]")
    if not quotes:
        return None
    return WrittenAnswer(" ".join(parts), tuple(quotes), tuple(uncited), "model")


def supports_claim(claim: str, context: Context, findings: Findings) -> bool:
    """Whether the page behind a context holds every number and enough words of a claim."""
    page = findings.documents[context.doc_key].page(context.page_number).text
    if not numbers_in(claim) <= numbers_in(page) | numbers_in(findings.question.text):
        return False
    words = {word for word in quote_words(claim) if not is_stop_word(word)}
    return len(words & set(quote_words(page))) >= SUPPORT * len(words)


def _quote_for(claim: str, context: Context, findings: Findings) -> Quote | None:
    searched = findings.documents[context.doc_key]
    segment = best_segment(searched, context.page_number, claim)
    return verify_quote(searched, segment, 1.0) if segment is not None else None
