"""Does the program say so when the answer is not there: questions asked of documents that hold them and that do not.

    python -m tests.benchmarks.abstention DATASET --work FOLDER [--questions 60] [--seed 1]

DATASET is a folder of documents (or the name of one below ../shared/data). Sentences are sampled, every third word is
dropped, and each is asked of the whole collection (it can be answered) and of all documents but its own, and of one
other document (it cannot, unless another document says the same). Once as it is, once as its first five content words.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.evaluate.retrieval import score_abstention
from pageindex_local.planning import Scope
from pageindex_local.query import retrieve
from pageindex_local.query.places import KnownPlace, sample_sentences
from pageindex_local.query.words import is_stop_word, split_words
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore

_SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
_SHORT = 5


def first_words(question: str) -> str:
    """The first content words of a question, as somebody types them who expects a search engine."""
    words = [word for word in question.split() if any(not is_stop_word(part) for part in split_words(word))]
    return " ".join(words[:_SHORT])


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="folder of documents, or its name below ../shared/data")
    parser.add_argument("--work", type=Path, required=True, help="where the index is kept")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    dataset = Path(options.dataset) if Path(options.dataset).is_dir() else _SHARED / options.dataset
    if not dataset.is_dir():
        parser.exit(0, f"skipped: there is no {dataset}\n")
    settings = read_settings(overrides={"summary": {"mode": "extractive"}})
    store = IndexStore(options.work, "abstention", settings.store)
    build_collection(Scope((dataset,)), store, settings, None, library_builder(store, settings, None))
    release = store.require_current()
    versions = [store.open_document(release, key) for key in release.documents]
    doc_ids = [version.manifest.doc_id for version in versions]
    places = sample_sentences(versions, options.questions, options.seed)

    def refuses(question: str, among: Sequence[str] | None) -> bool:
        found = retrieve(question, store, release=release, doc_ids=among, settings=settings.query)
        return found.abstained

    def others(place: KnownPlace) -> list[str]:
        return [doc_id for doc_id in doc_ids if doc_id != place.doc_id]

    forms: list[tuple[str, Callable[[str], str]]] = [("every third word dropped", str), ("five words", first_words)]
    for name, form in forms:
        there = [refuses(form(place.question), None) for place in places]
        absent = [refuses(form(place.question), others(place)) for place in places]
        other = [refuses(form(p.question), [others(p)[n % len(others(p))]]) for n, p in enumerate(places)]
        score, single = score_abstention(there, absent), score_abstention(there, other)
        print(
            f"{name}: refuses {score.refused}/{score.answerable} = {score.refused_share:.3f} asked of all documents, "
            f"{score.caught}/{score.unanswerable} = {score.caught_share:.3f} asked of all but their own, "
            f"{single.caught}/{single.unanswerable} = {single.caught_share:.3f} of one other"
        )


if __name__ == "__main__":
    main()
