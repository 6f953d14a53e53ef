"""A section tree in, the same tree with summaries and a description out, bottom-up.

Only what cannot be taken over from the previous version is asked of the model, in one call for each height of the tree.
What the model says is checked against the section; where it fails, the section's own best sentence stands instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pageindex_local.llm.base import Generation, GenerationRequest, TextModel
from pageindex_local.llm.budget import fits
from pageindex_local.llm.prompts import retry_request
from pageindex_local.progress import Progress
from pageindex_local.records import Node, NodeKind, ParsedDocument, SectionTree, SummarySource
from pageindex_local.sentences import split_sentences
from pageindex_local.settings import SummarySettings
from pageindex_local.summary_checks import find_summary_problems, tidy_summary
from pageindex_local.summary_tasks import Summary, SummaryTask, description_task, leaf_task, parent_task
from pageindex_local.tree.text import own_paragraphs
from pageindex_local.tree.titles import split_title


@dataclass(frozen=True, slots=True)
class _Previous:
    """The version before: its tree, and its summaries by node id."""

    tree: SectionTree
    summaries: Mapping[str, Summary]


def summarise_tree(
    document: ParsedDocument,
    tree: SectionTree,
    previous: SectionTree | None,
    model: TextModel | None,
    settings: SummarySettings,
    progress: Progress,
) -> SectionTree:
    """The tree with a summary on every node that has text or children, and a description.

    A leaf keeps its summary from `previous` where its `own_hash` is the same; a parent where, besides, its children's
    titles (numbers aside) and summaries are the same in the same order; the description likewise. The caller gives no
    `previous` where prompts, settings or model differ from then.

    Costs in mode `model`: a call for each leaf of `short_text_words` or more, with at most about `max_input_tokens` in
    and `max_output_tokens` out, with a capable model also for each parent and the description; up to `attempts` calls
    where answers fail the checks, the later ones reading less. Without a model, mode `model` is `extractive`.

    Raises:
        ModelError: the engine failed.
    """
    if settings.mode == "none":
        return _with_summaries(tree, dict.fromkeys(tree.nodes, Summary()), Summary())
    writer = model if settings.mode == "model" else None
    before = None if previous is None else _Previous(previous, _stored_summaries(previous))
    done: dict[str, Summary] = {}
    progress.start("summarising sections", len(tree.nodes) + 1)
    for nodes in _group_by_height(tree):
        tasks: list[SummaryTask] = []
        for node in nodes:
            kept = _kept_summary(tree, node, before, done)
            if kept is not None:
                done[node.node_id] = kept
                progress.advance()
            elif node.children:
                tasks.append(parent_task(tree, node, done, writer, settings))
            else:
                tasks.append(leaf_task(node, own_paragraphs(document, tree, node), writer, settings))
        done |= _write(tasks, writer, settings, progress)
    description = _kept_description(tree, before, done)
    if description is None:
        task = description_task(document, tree, done, writer, settings)
        written = _write([task], writer, settings, progress)[task.key]
        description = replace(written, text=next(iter(split_sentences(written.text)), ""))
    progress.finish()
    return _with_summaries(tree, done, description)


def _group_by_height(tree: SectionTree) -> list[list[Node]]:
    """Leaves first, then nodes all of whose children are in groups before, and so on. Pre-order within a group."""
    heights: dict[str, int] = {}
    for node in reversed(list(tree.walk())):
        heights[node.node_id] = 1 + max((heights[child] for child in node.children), default=-1)
    groups: list[list[Node]] = [[] for _ in range(1 + max(heights.values(), default=-1))]
    for node in tree.walk():
        groups[heights[node.node_id]].append(node)
    return groups


def _stored_summaries(tree: SectionTree) -> dict[str, Summary]:
    return {node.node_id: Summary(node.summary, node.summary_source) for node in tree.walk()}


def _with_summaries(tree: SectionTree, summaries: Mapping[str, Summary], description: Summary) -> SectionTree:
    nodes = {
        node.node_id: replace(node, summary=summaries[node.node_id].text, summary_source=summaries[node.node_id].source)
        for node in tree.walk()
    }
    return replace(tree, nodes=nodes, description=description.text, description_source=description.source)


def _kept_summary(
    tree: SectionTree, node: Node, before: _Previous | None, done: Mapping[str, Summary]
) -> Summary | None:
    old = None if before is None else before.tree.nodes.get(node.node_id)
    if before is None or old is None or not old.summary or old.own_hash != node.own_hash:
        return None
    if _read_of(before.tree, old.children, before.summaries) != _read_of(tree, node.children, done):
        return None
    return Summary(old.summary, old.summary_source)


def _kept_description(tree: SectionTree, before: _Previous | None, done: Mapping[str, Summary]) -> Summary | None:
    if before is None or not before.tree.description:
        return None
    if _read_of(before.tree, before.tree.roots, before.summaries) != _read_of(tree, tree.roots, done):
        return None
    return Summary(before.tree.description, before.tree.description_source)


def _read_of(
    tree: SectionTree, children: Sequence[str], summaries: Mapping[str, Summary]
) -> list[tuple[str, str, NodeKind]]:
    """What a parent reads of its children. Section numbers do not count: they shift when a section is put in before."""
    return [
        (split_title(tree.nodes[child].title)[1], summaries[child].text, tree.nodes[child].kind) for child in children
    ]


def _write(
    tasks: Sequence[SummaryTask], model: TextModel | None, settings: SummarySettings, progress: Progress
) -> dict[str, Summary]:
    """A summary for each task: the model's where it passes the checks, else the fallback."""
    done = {task.key: task.fallback for task in tasks}
    pending = [(task, task.request) for task in tasks if task.request is not None]
    progress.advance(len(tasks) - len(pending))
    for attempt in range(settings.attempts):
        if not pending or model is None:
            break
        steps = 1 if attempt == 0 else 0

        def advance(_index: int, _result: Generation, steps: int = steps) -> None:
            progress.advance(steps)

        generations = model.generate([request for _, request in pending], on_result=advance)
        again: list[tuple[SummaryTask, GenerationRequest]] = []
        for (task, request), generation in zip(pending, generations, strict=True):
            text = tidy_summary(_whole_text(generation, request))
            problems = find_summary_problems(text, task.evidence, task.title)
            if not problems:
                done[task.key] = Summary(text, SummarySource.MODEL)
                continue
            retry = retry_request(replace(task.retry or request, attempt=request.attempt), problems[0])
            if fits(model, retry):
                again.append((task, retry))
        pending = again
    return done


def _whole_text(generation: Generation, request: GenerationRequest) -> str:
    """What the model wrote, with the full stop that a stop string took away."""
    text = generation.text.strip()
    if ". " in request.stop and generation.finish_reason == "stop" and text[-1:].isalnum():
        return f"{text}."
    return text
