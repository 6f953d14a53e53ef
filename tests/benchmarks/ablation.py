"""What each part of the search adds: full text only, likelihood only, choice, fused, with rerank, with calibration.

    python -m tests.benchmarks.ablation retrieval DATASET --work FOLDER [--model NAME] [--questions N]
    python -m tests.benchmarks.ablation places DATASET --work FOLDER [--model NAME] [--questions N]
    python -m tests.benchmarks.ablation documents DATASET --work FOLDER --model NAME [--questions N]

`retrieval` ranks pages for the questions of a data set, the right document given; `places` asks with sentences whose
section is known, every third word dropped, with that sentence taken out of the summaries, the document not given.
`documents` asks which document comes first, by full text and by the model over descriptions, with the questions of the
data set, or with such sentences where it has none.
Scores are cached in FOLDER, so a second run with other weights costs little.
"""

import argparse
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from pageindex_local.evaluate.retrieval import score_rankings
from pageindex_local.llm.base import TextModel
from pageindex_local.llm.lazy import open_lazily
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.calibration import choose_plan
from pageindex_local.query.described import judge_documents
from pageindex_local.query.documents import rank_documents
from pageindex_local.query.find import find_pages
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.model_scorers import Budget, LikelihoodScorer
from pageindex_local.query.places import sample_sentences
from pageindex_local.query.strategies import FULLTEXT_PLAN, PATH_SHARE, Plan, Strategy, make_plan
from pageindex_local.query.trace import Trace
from pageindex_local.settings import QuerySettings, read_settings
from tests.benchmarks.retrieval import Bench, open_bench, print_score, shared_dataset

_SECTION_CALLS = 24


@dataclass(frozen=True)
class Variant:
    name: str
    plan: Plan
    calls: int


def variants(bench: Bench, model: TextModel | None, settings: QuerySettings) -> list[Variant]:
    """The plans that are compared."""
    fulltext = Variant("full text only", FULLTEXT_PLAN, 0)
    if model is None:
        return [fulltext]
    rerank = Plan(Strategy.FUSED, 0.0, 0.1, PATH_SHARE, "rerank")
    auto = choose_plan(bench.store, bench.release, model, settings)
    return [
        fulltext,
        Variant("full text, pages reranked by 0.1", rerank, 12),
        Variant("full text, pages reranked by 0.3", replace(rerank, page_share=0.3), 12),
        Variant("fused sections 0.3", replace(rerank, section_share=0.3, page_share=0.0), _SECTION_CALLS),
        Variant("fused sections 0.3, pages 0.1", replace(rerank, section_share=0.3), 12 + _SECTION_CALLS),
        Variant("likelihood only", make_plan(Strategy.LIKELIHOOD, model, settings), 12 + _SECTION_CALLS),
        Variant("choice only", make_plan(Strategy.CHOICE, model, settings), _SECTION_CALLS),
        Variant(f"auto ({auto.reason})", auto, settings.max_node_scores),
    ]


def run_retrieval(bench: Bench, settings: QuerySettings, model: TextModel | None, count: int) -> None:
    """Questions with evidence pages."""
    questions = bench.questions[:: max(1, -(-len(bench.questions) // count))]
    for variant in variants(bench, model, settings):
        chosen = settings.model_copy(update={"max_node_scores": variant.calls, "max_score_tokens": 100_000})
        rankings, started, before = {}, time.perf_counter(), _tokens(model)
        for question in questions:
            findings = find_pages(
                question.question, bench.store, release=bench.release, doc_ids=[bench.doc_ids[question.question_id]],
                model=model if variant.plan.asks_model else None, settings=chosen, max_pages=20, trace=Trace(),
                plan=variant.plan,
            )  # fmt: skip
            rankings[question.question_id] = [found.page_number for found in findings.candidates]
        print_score(variant.name, score_rankings(questions, rankings))
        _print_cost(len(questions), started, _tokens(model) - before)


def run_places(bench: Bench, settings: QuerySettings, model: TextModel | None, count: int) -> None:
    """Sentences whose section is known."""
    versions = [bench.store.open_document(bench.release, doc_key) for doc_key in bench.release.documents]
    places = sample_sentences(versions, count, seed=1)
    for variant in variants(bench, model, settings):
        chosen = settings.model_copy(update={"max_node_scores": variant.calls, "max_score_tokens": 100_000})
        first = {1: 0, 3: 0}
        documents, started, before = 0, time.perf_counter(), _tokens(model)
        for place in places:
            findings = find_pages(
                place.question, bench.store, release=bench.release, doc_ids=None,
                model=model if variant.plan.asks_model else None, settings=chosen, max_pages=8, trace=Trace(),
                plan=variant.plan, hidden=place.source,
            )  # fmt: skip
            leaves = list(dict.fromkeys((found.doc_key, found.node_id) for found in findings.candidates))
            for rank in first:
                first[rank] += (place.doc_key, place.node_id) in leaves[:rank]
            documents += leaves[:1] != [] and leaves[0][0] == place.doc_key
        size = len(places)
        shares = f"leaf first {first[1] / size:.3f}  in three {first[3] / size:.3f}  document {documents / size:.3f}"
        print(f"{variant.name:34} {shares}  ({size})")
        _print_cost(size, started, _tokens(model) - before)


def run_documents(bench: Bench, settings: QuerySettings, model: TextModel | None, count: int) -> None:
    """Which document comes first: by full text and what the question says of it, by descriptions, by both."""
    if bench.questions:
        chosen = bench.questions[:: max(1, -(-len(bench.questions) // count))]
        asked = [(question.question, bench.doc_ids[question.question_id], "") for question in chosen]
    else:
        versions = [bench.store.open_document(bench.release, doc_key) for doc_key in bench.release.documents]
        asked = [(place.question, place.doc_id, place.source) for place in sample_sentences(versions, count, seed=1)]
    size = len(bench.release.documents)
    with open_search_index(bench.store, bench.release) as index:
        for share in (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)[: None if model else 1]:
            ranks, started, before = [], time.perf_counter(), _tokens(model)
            for question, doc_id, hidden in asked:
                found = list(rank_documents(index, analyse_question(question)).ranked)
                if model is not None and share:
                    judge = LikelihoodScorer(model, question, Budget(size, 100_000), hidden=hidden)
                    found = judge_documents(found, bench.release, judge, share=share, depth=size)
                ranks.append([ranked.document.doc_id for ranked in found].index(doc_id) + 1)
            name = {0.0: "full text and names", 1.0: "by description only"}.get(share, f"fused {share:g}")
            shares = "  ".join(f"in {k} {sum(rank <= k for rank in ranks) / len(ranks):.3f}" for k in (1, 3))
            print(f"{name:34} {shares}  MRR {sum(1 / rank for rank in ranks) / len(ranks):.3f}  ({len(ranks)})")
            _print_cost(len(ranks), started, _tokens(model) - before)


def _tokens(model: TextModel | None) -> int:
    return 0 if model is None else model.usage.input_tokens  # type: ignore[attr-defined]


_TASKS = {"retrieval": run_retrieval, "places": run_places, "documents": run_documents}


def _print_cost(questions: int, started: float, tokens: int) -> None:
    seconds = (time.perf_counter() - started) / max(questions, 1)
    print(f"    {seconds:.2f} s, {tokens / max(questions, 1):.0f} new model tokens a question", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=tuple(_TASKS))
    parser.add_argument("dataset", help="folder, or its name below ../shared/data")
    parser.add_argument("--work", type=Path, required=True, help="where index and scores are kept")
    parser.add_argument("--model", help="a model name or GGUF path; without it only full text is measured")
    parser.add_argument("--questions", type=int, default=300, help="how many at most")
    options = parser.parse_args(argv)
    dataset = shared_dataset(options.dataset)
    if not dataset.is_dir():
        parser.exit(0, f"skipped: {dataset} is not there\n")
    overrides = {"summary": {"mode": "extractive"}, "model": {"name": options.model}}
    settings = read_settings(overrides=overrides)
    with ExitStack() as stack:
        model = None
        if options.model:
            model = open_lazily(settings.model, options.work / "completions.sqlite")
            stack.callback(model.close)
        bench = open_bench(dataset, options.work, settings)
        _TASKS[options.task](bench, settings.query, model, options.questions)


if __name__ == "__main__":
    main()
