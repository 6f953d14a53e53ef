"""Retrieval on a folder of PDFs with a question file: ours beside page-level BM25, in one run.

    python -m tests.benchmarks.retrieval DATASET --work FOLDER [--model NAME] [--vectors NAME]

DATASET is a folder with `questions.jsonl` (or the name of one below ../shared/data). The index is built once in FOLDER
and used again. Prints recall@k, all@k and MRR with the right document given and not given, abstention, and cost.
"""

import argparse
import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.errors import EngineUnavailableError
from pageindex_local.evaluate.citations import CitationChecker, PrintedCitation
from pageindex_local.evaluate.retrieval import (
    EvidenceQuestion,
    RetrievalScore,
    read_questions,
    score_abstention,
    score_rankings,
)
from pageindex_local.llm.base import TextModel
from pageindex_local.llm.lazy import open_lazily
from pageindex_local.planning import Scope
from pageindex_local.query import Answer, answer
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.vectors import VectorSearch
from pageindex_local.settings import QuerySettings, Settings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release, StoredPage

_SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Bench:
    """An index with the questions about it."""

    store: IndexStore
    release: Release
    questions: list[EvidenceQuestion]
    doc_ids: dict[str, str]  # question id -> doc_id

    def pages(self, doc_id: str) -> Sequence[StoredPage]:
        found = self.release.find(doc_id)
        assert found is not None
        return self.store.open_document(self.release, found[0]).pages()


def shared_dataset(name: str) -> Path:
    """A folder by its path, or by its name below ../shared/data."""
    return Path(name) if Path(name).is_dir() else _SHARED / name


def open_bench(dataset: Path, work: Path, settings: Settings) -> Bench:
    """Build or reuse the index of a data set."""
    store = IndexStore(work, "bench", settings.store)
    started = time.perf_counter()
    build_collection(Scope((dataset,)), store, settings, None, library_builder(store, settings, None))
    release = store.require_current()
    print(f"index: release {release.name}, {len(release.documents)} documents, {time.perf_counter() - started:.1f} s")
    file = dataset / "questions.jsonl"
    questions = read_questions(file) if file.exists() else []
    stems = {Path(entry.doc_id).stem: entry.doc_id for entry in release.documents.values()}
    return Bench(store, release, questions, {q.question_id: stems[q.doc_name] for q in questions})


def rank_by_bm25(question: str, pages: Sequence[StoredPage], k1: float = 1.5, b: float = 0.75) -> list[int]:
    """Plain page-level BM25 over all words: the baseline everybody has."""
    counts = [Counter(_WORD.findall(page.text.lower())) for page in pages]
    sizes = [sum(count.values()) for count in counts]
    mean = sum(sizes) / len(sizes) or 1
    frequency = Counter(word for count in counts for word in count)
    scores = [0.0] * len(pages)
    for word in _WORD.findall(question.lower()):
        idf = math.log(1 + (len(pages) - frequency[word] + 0.5) / (frequency[word] + 0.5))
        for place, count in enumerate(counts):
            if count[word]:
                scores[place] += idf * count[word] * (k1 + 1) / (count[word] + k1 * (1 - b + b * sizes[place] / mean))
    order = sorted(range(len(pages)), key=lambda place: (-scores[place], place))
    return [pages[place].page_number for place in order]


def rank_by_vectors(bench: Bench, vectors: VectorSearch) -> dict[str, list[int]]:
    """Dense retrieval alone: pages of the right document by their nearest passage, for every question."""
    ranked = {}
    with open_search_index(bench.store, bench.release) as index:
        documents = {document.doc_id: document for document in index.documents.values()}
        for question in bench.questions:
            rank = vectors.ranker(bench.store, bench.release, index, question.question, {})
            pages = rank(documents[bench.doc_ids[question.question_id]])
            ranked[question.question_id] = [page for page, _ in pages]
    return ranked


def ask_all(
    bench: Bench,
    settings: QuerySettings,
    model: TextModel | None,
    doc_id_of: Callable[[EvidenceQuestion], str | None],
    max_pages: int = 20,
    vectors: VectorSearch | None = None,
) -> dict[str, Answer]:
    """Every question once, of the document chosen for it (None: of all)."""
    answers = {}
    for question in bench.questions:
        doc_id = doc_id_of(question)
        answers[question.question_id] = answer(
            question.question,
            bench.store,
            release=bench.release,
            doc_ids=None if doc_id is None else [doc_id],
            model=model,
            settings=settings,
            max_pages=max_pages,
            vectors=vectors,
        )
    return answers


def check_citations(bench: Bench, answers: Mapping[str, Answer]) -> tuple[int, int]:
    """Citations that hold, and all, by the second reader of the stored files."""
    checker = CitationChecker(bench.store.layout.folder, bench.release.name, bench.store.files.read_bytes)
    citations = [citation for result in answers.values() for citation in result.citations]
    faults = [checker.find_fault(PrintedCitation(**citation.model_dump())) for citation in citations]
    return faults.count(None), len(faults)


def stranger_of(bench: Bench) -> dict[str, str]:
    """For each question a document of somebody else: the next one in order whose name starts with another word."""
    doc_ids = sorted(set(bench.doc_ids.values()))
    chosen = {}
    for number, question in enumerate(bench.questions):
        own = re.split(r"[\W_]", bench.doc_ids[question.question_id])[0]
        others = [doc_id for doc_id in doc_ids if re.split(r"[\W_]", doc_id)[0] != own]
        chosen[question.question_id] = others[number % len(others)]
    return chosen


def print_score(name: str, score: RetrievalScore) -> None:
    recall = "  ".join(f"{value:.3f}" for value in score.recall.values())
    complete = "  ".join(f"{value:.3f}" for value in score.all.values())
    print(f"{name:34} {recall}  | {complete}  | {score.mrr:.3f}")


def pages_of(answers: Mapping[str, Answer], bench: Bench) -> dict[str, list[int]]:
    """Ranked pages; a page of another document keeps its rank as 0, which no evidence has."""
    return {
        key: [page.page_number if page.doc_id == bench.doc_ids[key] else -rank for rank, page in enumerate(found.pages)]
        for key, found in answers.items()
    }


def run(bench: Bench, settings: QuerySettings, model: TextModel | None, embedder: str) -> None:
    """Print the tables."""
    ks = (1, 3, 5, 10, 20)
    print(f"{'':34} " + "  ".join(f"r@{k:<3}" for k in ks) + "  | " + "  ".join(f"a@{k:<3}" for k in ks) + "  | MRR")
    baseline = {
        q.question_id: rank_by_bm25(q.question, bench.pages(bench.doc_ids[q.question_id])) for q in bench.questions
    }
    print_score("page-level BM25, document given", score_rankings(bench.questions, baseline))
    with VectorSearch(embedder) as vectors:
        try:
            dense = rank_by_vectors(bench, vectors)
        except EngineUnavailableError as error:
            print(f"dense baseline skipped: {error}")
        else:
            print_score(f"dense, {Path(embedder).stem[:18]}, given", score_rankings(bench.questions, dense))
            fused = settings.model_copy(update={"vectors": embedder})
            found = ask_all(bench, fused, None, lambda question: bench.doc_ids[question.question_id], vectors=vectors)
            print_score("ours fused with vectors, given", score_rankings(bench.questions, pages_of(found, bench)))
    variants: list[tuple[str, QuerySettings, TextModel | None]] = [("ours, full text only", settings, None)]
    if model is not None:
        variants.append(("ours, with model", settings, model))
    for name, chosen, used in variants:
        started = time.perf_counter()
        given = ask_all(bench, chosen, used, lambda question: bench.doc_ids[question.question_id])
        seconds = (time.perf_counter() - started) / len(bench.questions)
        print_score(f"{name}, document given", score_rankings(bench.questions, pages_of(given, bench)))
        tokens = statistics.median(found.cost.input_tokens for found in given.values())
        calls = statistics.median(found.cost.model_calls + found.cost.cached_calls for found in given.values())
        good, total = check_citations(bench, given)
        print(
            f"    {seconds:.3f} s, {calls:g} model calls, {tokens:g} tokens a question; citations {good}/{total} hold"
        )
        free = ask_all(bench, chosen, used, lambda _: None)
        print_score(f"{name}, not given", score_rankings(bench.questions, pages_of(free, bench)))
        first = sum(bool(f.pages) and f.pages[0].doc_id == bench.doc_ids[key] for key, f in free.items())
        good, total = check_citations(bench, free)
        print(f"    right document first {first}/{len(free)} = {first / len(free):.3f}; citations {good}/{total} hold")
        strangers = stranger_of(bench)
        other = ask_all(bench, chosen, used, lambda question, of=strangers: of[question.question_id])  # type: ignore[misc]
        score = score_abstention([f.abstained for f in given.values()], [f.abstained for f in other.values()])
        print(
            f"    abstains on {score.caught}/{score.unanswerable} = {score.caught_share:.3f} asked of a stranger's "
            f"document, refuses {score.refused}/{score.answerable} = {score.refused_share:.3f} of the answerable"
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="folder with questions.jsonl, or its name below ../shared/data")
    parser.add_argument("--work", type=Path, required=True, help="where the index is kept")
    parser.add_argument("--model", help="a model name or GGUF path; without it no model is asked")
    parser.add_argument("--vectors", default="wordllama", help="what makes the dense vectors: wordllama, or a GGUF")
    options = parser.parse_args(argv)
    dataset = shared_dataset(options.dataset)
    if not (dataset / "questions.jsonl").exists():
        parser.exit(0, f"skipped: {dataset} has no questions.jsonl\n")
    settings = read_settings(
        overrides={"summary": {"mode": "extractive"}, "tree": {"strategy": "auto"}, "model": {"name": options.model}}
    )
    with ExitStack() as stack:
        model = None
        if options.model:
            model = open_lazily(settings.model, options.work / "completions.sqlite")
            stack.callback(model.close)
        run(open_bench(dataset, options.work, settings), settings.query, model, options.vectors)


if __name__ == "__main__":
    main()
