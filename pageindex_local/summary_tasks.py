"""What there is to summarise, node by node: text or children's summaries in; a request and a stand-in for it out.

Budgets are counted by the tokenizer of the model that will read the prompt. Calls no model otherwise.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pageindex_local.extractive import (
    best_sentence,
    choose_sentences,
    count_words,
    cut_to_words,
    rank_sentences,
    unwrap_lines,
)
from pageindex_local.llm.base import GenerationRequest, TextModel
from pageindex_local.llm.budget import cut_to_tokens, fits
from pageindex_local.llm.prompts import description_request, leaf_summary_request, parent_summary_request
from pageindex_local.records import Node, NodeKind, ParsedDocument, SectionTree, SummarySource
from pageindex_local.sentences import split_sentences
from pageindex_local.settings import SummarySettings
from pageindex_local.tree.text import own_paragraphs
from pageindex_local.tree.titles import clean_title, split_title

_EXTRACT_WORDS = 45
_INTRODUCTION_WORDS = 30
_PART_WORDS = (24, 12, 6, 0)  # of each child's summary in its parent's prompt: as many as fit
_TITLES_SHOWN = 12
_PARTS = " Parts: "  # between the sentence and the list of titles in a composed summary
_LEAST_TOKENS = 16
_SELF_CHARS = 20_000
_SELF = re.compile(
    r"^(?:this|the present) (?:[\w-]+ ){0,3}?"
    r"(?:manual|document|guide|handbook|book|report|paper|article|standard|thesis|specification|tutorial|text|policy|"
    r"release|study|survey|note|filing|agreement|contract|regulation|rule)s? "
    r"(?:(?:also|briefly|mainly) )?"
    r"(?:describes?|explains?|covers?|provides?|is (?:a|an|the|about|intended|meant)|gives?|presents?|introduces?|"
    r"documents?|defines?|specif(?:y|ies)|shows?|discusses|sets|establishes|contains|consists|addresses|outlines)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and who wrote it; empty, by nobody, where there is no text."""

    text: str = ""
    source: SummarySource = SummarySource.NONE


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """A summary to be written.

    `request` is None where no model is to be asked, `retry` what is asked when its answer fails (None: the same again).
    `evidence` is the text that an answer is held against; `fallback` stands where no answer can be believed.
    """

    key: str
    title: str
    evidence: str
    request: GenerationRequest | None
    fallback: Summary
    retry: GenerationRequest | None = None


def leaf_task(node: Node, text: str, model: TextModel | None, settings: SummarySettings) -> SummaryTask:
    """The task for a leaf with this own text. Text of fewer than `short_text_words` is its own summary."""
    running = unwrap_lines(text)
    words = count_words(running)
    if not words:
        return SummaryTask(node.node_id, node.title, text, None, Summary())
    if words < settings.short_text_words:
        return SummaryTask(node.node_id, node.title, text, None, _extract(running.replace("\n", " ")))
    fallback = _extract(best_sentence(text, node.title, _EXTRACT_WORDS) or cut_to_words(running, _EXTRACT_WORDS))
    task = SummaryTask(node.node_id, node.title, text, None, fallback)
    if model is None:
        return task
    # A small model tends to repeat a title instead of reading on.
    title = split_title(node.title)[1] if is_capable(model) else ""
    ranked = rank_sentences(text, node.title)
    empty = leaf_summary_request(title, [], settings.max_output_tokens)
    room = settings.max_input_tokens - model.count_prompt_tokens(empty.system, empty.user)
    requests = []
    for budget in (room, room // 2):
        chosen = choose_sentences(ranked, budget, lambda part: model.count_tokens(part) + 1)
        if not chosen:
            chosen = [cut_to_tokens(running.replace("\n", " "), max(budget, _LEAST_TOKENS), model.count_tokens)]
        requests.append(leaf_summary_request(title, chosen, settings.max_output_tokens))
    return replace(task, request=_if_it_fits(requests[0], model), retry=requests[1])


def parent_task(
    tree: SectionTree, node: Node, summaries: Mapping[str, Summary], model: TextModel | None, settings: SummarySettings
) -> SummaryTask:
    """The task for a node whose children are summarised: it reads their titles and summaries.

    Only a capable model is asked. In trials on manuals and a filing the bundled one mostly answered with empty talk, or
    took one child's fact for the whole. Without one, the summary is composed of the children's (`compose_summary`).
    """
    lines = _child_lines(tree, node.children, summaries, _PART_WORDS[0])
    request = None
    if model is not None and is_capable(model):
        for words in _PART_WORDS:
            parts = _child_lines(tree, node.children, summaries, words)
            request = parent_summary_request(split_title(node.title)[1], parts, settings.max_output_tokens)
            if model.count_prompt_tokens(request.system, request.user) <= settings.max_input_tokens:
                break
        else:
            request = parent_summary_request(
                split_title(node.title)[1], parts[:_TITLES_SHOWN], settings.max_output_tokens
            )
    fallback = compose_summary(tree, node.title, node.children, summaries)
    return SummaryTask(node.node_id, node.title, "\n".join(lines), _if_it_fits(request, model), fallback)


def description_task(
    document: ParsedDocument,
    tree: SectionTree,
    summaries: Mapping[str, Summary],
    model: TextModel | None,
    settings: SummarySettings,
) -> SummaryTask:
    """The task for the document's description: it reads the top-level titles and summaries.

    As with parents, only a capable model is asked. Else the document's own sentence about itself is taken, where one
    stands near its beginning, or the sentence of the sections' summaries that says most.
    """
    title = clean_title(document.metadata.get("title", ""))
    lines = _child_lines(tree, tree.roots, summaries, _PART_WORDS[0])
    request = None
    if model is not None and is_capable(model):
        for words in _PART_WORDS:
            parts = _child_lines(tree, tree.roots, summaries, words)
            request = description_request(title, parts, settings.max_output_tokens)
            if model.count_prompt_tokens(request.system, request.user) <= settings.max_input_tokens:
                break
        else:
            request = description_request(title, parts[:_TITLES_SHOWN], settings.max_output_tokens)
    fallback = _extract(_self_description(document, tree))
    if not fallback.text:
        fallback = _lead(tree, title, tree.roots, summaries)
    if not fallback.text:
        fallback = _extract(_list_titles(tree, tree.roots))
    if title and fallback.text:
        fallback = replace(fallback, text=f"{title}: {fallback.text}")
    return SummaryTask("", title, "\n".join(lines), _if_it_fits(request, model), fallback)


def is_capable(model: TextModel) -> bool:
    """Whether the model may be asked for more than one sentence on a few others."""
    return model.describe().strength == "capable"


def _self_description(document: ParsedDocument, tree: SectionTree) -> str:
    """The first sentence near the beginning in which the document speaks of itself (`This manual describes`)."""
    read = 0
    for leaf in tree.leaves():
        text = own_paragraphs(document, tree, leaf)[: _SELF_CHARS - read]
        for sentence in split_sentences(unwrap_lines(text)):
            if _SELF.match(sentence) and 6 <= count_words(sentence) <= _EXTRACT_WORDS:
                return sentence
        read += len(text)
        if read >= _SELF_CHARS:
            break
    return ""


def _extract(text: str) -> Summary:
    text = " ".join(clean_title(word) for word in text.split())
    return Summary(text, SummarySource.EXTRACTIVE) if text else Summary()


def _if_it_fits(request: GenerationRequest | None, model: TextModel | None) -> GenerationRequest | None:
    return request if request is not None and model is not None and fits(model, request) else None


def _child_lines(tree: SectionTree, children: Sequence[str], summaries: Mapping[str, Summary], words: int) -> list[str]:
    """A line on each child: its title and so many words of its summary. An introduction bears its parent's title."""
    lines: list[str] = []
    for child in children:
        node = tree.nodes[child]
        summary = cut_to_words(summaries[child].text, words) if words else ""
        if node.kind is NodeKind.INTRODUCTION:
            line = summary
        else:
            line = f"{split_title(node.title)[1]}: {summary}" if summary else split_title(node.title)[1]
        if line:
            lines.append(line)
    return lines


def compose_summary(
    tree: SectionTree, title: str, children: Sequence[str], summaries: Mapping[str, Summary]
) -> Summary:
    """A parent's summary without a model: the sentence of its children's summaries that says most, then their titles.

    It counts as the model's where the sentence does.
    """
    lead = _lead(tree, title, children, summaries)
    listed = _list_titles(tree, children)
    if not lead.text:
        return _extract(listed)
    return replace(lead, text=f"{lead.text}{_PARTS}{listed}" if listed else lead.text)


def _lead(tree: SectionTree, title: str, children: Sequence[str], summaries: Mapping[str, Summary]) -> Summary:
    """The introduction's summary, or the best sentence of the other children's; empty where nobody has one."""
    for child in children:
        if tree.nodes[child].kind is NodeKind.INTRODUCTION and summaries[child].text:
            return replace(summaries[child], text=cut_to_words(summaries[child].text, _INTRODUCTION_WORDS))
    own_words = {child: summaries[child].text.partition(_PARTS)[0] for child in children}
    best = best_sentence("\n\n".join(filter(None, own_words.values())), title, _EXTRACT_WORDS)
    if not best:
        return Summary()
    wrote = {summaries[child].source for child in children if best.removesuffix("…") in own_words[child]}
    return Summary(best, SummarySource.EXTRACTIVE if wrote == {SummarySource.EXTRACTIVE} else SummarySource.MODEL)


def _list_titles(tree: SectionTree, children: Sequence[str]) -> str:
    kept = [child for child in children if tree.nodes[child].kind is not NodeKind.INTRODUCTION]
    if len(kept) > 1:
        kept = [child for child in kept if tree.nodes[child].kind is not NodeKind.FRONT_MATTER]
    titles = [split_title(tree.nodes[child].title)[1] for child in kept]
    shown = "; ".join(titles[:_TITLES_SHOWN])
    return f"{shown}; …" if len(titles) > _TITLES_SHOWN else f"{shown}." if shown else ""
