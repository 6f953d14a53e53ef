"""What a question costs as an index grows: one document of 100 to 100,000 nodes, and 10,000 documents of twenty.

    python -m tests.benchmarks.search_cost --work FOLDER [--nodes 100 1000 10000 100000] [--documents 10000]

Documents are made: every section has words of its own beside words that all share. A stand-in model that counts its
calls takes part, so that calls and tokens are those of a real one. Indexes are written into FOLDER once, unparsed.
`judged` sections are those that a judge saw, `calls` those that cost a model score. Seconds are processor time; `load`
is the part of it that reading one document's tree takes, which a question pays for each document it searches.
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query.find import find_pages
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.query.strategies import PATH_SHARE, Plan, Strategy
from pageindex_local.query.trace import Trace
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from tests.sections import Section
from tests.store_samples import write_sections

_FAN_OUT = 10
_QUESTIONS = 20
_PLAN = Plan(Strategy.FUSED, 0.3, 0.1, PATH_SHARE, "benchmark")


def word(number: int) -> str:
    """A made word for a number: letters only, none a real word's stem by chance alone."""
    letters = []
    while number:
        number, rest = divmod(number, 20)
        letters.append("bcdfghjklmnpqrstvwxz"[rest])
    return "q" + "o".join(letters) + "a"


def make_sections(nodes: int, seed: int) -> list[Section]:
    """About that many sections, ten below each, every leaf with two words that are its own."""
    rng = random.Random(seed)
    levels: list[list[Section]] = [[_leaf(number, rng) for number in range(max(nodes * 9 // 10, 1))]]
    while len(levels[-1]) > _FAN_OUT:
        below = levels[-1]
        groups = [below[start : start + _FAN_OUT] for start in range(0, len(below), _FAN_OUT)]
        levels.append(
            [Section(f"l{len(levels)}g{n}", f"Part {len(levels)}.{n}", [], group) for n, group in enumerate(groups)]
        )
    return levels[-1]


def _leaf(number: int, rng: random.Random) -> Section:
    shared = " ".join(rng.choice(["pump", "valve", "rotor", "seal", "gauge", "oil"]) for _ in range(12))
    return Section(
        f"leaf{number}",
        f"Item {number}",
        [f"The {word(2 * number + 1)} holds the {word(2 * number + 2)} with {shared}."],
    )


def open_made(work: Path, name: str, documents: Sequence[tuple[str, list[Section]]]) -> tuple[IndexStore, Release]:
    """The index of made documents, written if it is not there yet."""
    store = IndexStore(work, name, read_settings().store)
    release = store.current()
    if release is None:
        refs = {}
        for doc_id, sections in documents:
            ref = write_sections(store, sections, doc_id)
            refs[ref.doc_key] = ref
        release = store.publish(refs, expected_parent=None)
        build_search_index(store, release)
    return store, release


def measure(store: IndexStore, release: Release, leaves: int, name: str) -> None:
    """Ask for sections by their own words, and print what that costs."""
    model = FunctionModel(lambda request: "", score_with=lambda request: -2.0)
    settings = read_settings(overrides={"query": {"max_node_scores": 60, "max_score_tokens": 100_000}}).query
    rng = random.Random(5)
    seconds, judged, opened, found, calls, tokens = [], [], [], 0, [], []
    for _ in range(_QUESTIONS):
        number = rng.randrange(leaves)
        wanted = word(2 * number + 1)
        trace, before = Trace(), len(model.score_history)
        started = time.process_time()
        result = find_pages(
            f"What does the {wanted} hold with oil and pump?", store, release=release, doc_ids=None, model=model,
            settings=settings, max_pages=8, trace=trace, plan=_PLAN,
        )  # fmt: skip
        seconds.append(time.process_time() - started)
        searches = [step.details for step in trace.steps if "sections judged" in step.details]
        judged.append(sum(details["sections judged"] for details in searches))
        opened.append(sum(len(details["opened"]) for details in searches))
        calls.append(len(model.score_history) - before)
        tokens.append(sum(model.count_tokens(request.prefix) for request in model.score_history[before:]))
        first = result.candidates[0] if result.candidates else None
        if first is not None:
            title = result.documents[first.doc_key].tree.nodes[first.node_id].title
            found += title == f"Item {number}"
    started = time.process_time()
    for doc_key in list(release.documents)[:3]:
        store.open_document(release, doc_key).tree()
    load = (time.process_time() - started) / min(len(release.documents), 3)
    middle = statistics.median
    print(
        f"{name:>24} | {middle(opened):6g} | {middle(judged):6g} | {middle(calls):5g} | {middle(tokens):6g} | "
        f"{middle(seconds):7.3f} | {max(seconds):7.3f} | {load:7.3f} | {found}/{_QUESTIONS}",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--documents", type=int, default=10_000)
    options = parser.parse_args(argv)
    print(f"{'':>24} | opened | judged | calls | tokens | seconds |    most |    load | found first")
    for nodes in options.nodes:
        sections = make_sections(nodes, seed=nodes)
        store, release = open_made(options.work, f"n{nodes}", [("manual.md", sections)])
        measure(store, release, max(nodes * 9 // 10, 1), f"{nodes} nodes")
    if options.documents:
        rng = random.Random(3)
        made = [
            (f"folder{n % 100}/document-{n}.md", [_leaf(20 * n + place, rng) for place in range(20)])
            for n in range(options.documents)
        ]
        store, release = open_made(options.work, f"d{options.documents}", made)
        measure(store, release, 20 * options.documents, f"{options.documents} documents")


if __name__ == "__main__":
    main()
