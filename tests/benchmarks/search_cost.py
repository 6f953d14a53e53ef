"""What a question costs as an index grows: one document of 100 to 100,000 nodes, and 10,000 documents of twenty.

    python -m tests.benchmarks.search_cost --work FOLDER [--nodes 100 1000 10000 100000] [--documents 10000]
        [--octave] [--model NAME] [--questions 20]

Documents are made: every section has words of its own beside words that all share. A stand-in model that counts its
calls takes part, so that calls and tokens are those of a real one. Indexes are written into FOLDER once, unparsed.
`judged` sections are those that a judge saw, `calls` those that cost a model score, `records` the sections of the tree
that were made into records. Seconds are processor time; `load` is the part of it that opening one document's tree
takes, which a question pays for each document it searches.

`--octave` adds the 1,158 pages of `octave.pdf` from ../shared/data, asked by its own sentences with words left out.
`--model` asks a real model instead, by the settings of `--strategy fused` and with nothing in its cache.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.collection import build_collection, library_builder
from pageindex_local.llm.base import TextModel
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.llm.lazy import open_lazily
from pageindex_local.planning import Scope
from pageindex_local.query.find import find_pages
from pageindex_local.query.fulltext import build_search_index
from pageindex_local.query.places import sample_sentences
from pageindex_local.query.strategies import PATH_SHARE, Plan, Strategy
from pageindex_local.query.trace import Trace
from pageindex_local.records import Node
from pageindex_local.settings import QuerySettings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.lazy_rows import NodeRows
from pageindex_local.store.records import Release
from tests.sections import Section
from tests.store_samples import write_sections

_FAN_OUT = 10
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


@dataclass(frozen=True)
class Asker:
    """Who judges beside full text, and how. `spent` says how many scores and input tokens it cost so far."""

    model: TextModel
    settings: QuerySettings
    plan: Plan | None
    spent: Callable[[], tuple[int, int]]


def stand_in() -> Asker:
    """A model that has one opinion of everything, with the widest settings."""
    model = FunctionModel(lambda request: "", score_with=lambda request: -2.0)
    settings = read_settings(overrides={"query": {"max_node_scores": 60, "max_score_tokens": 100_000}}).query

    def spent() -> tuple[int, int]:
        return len(model.score_history), sum(model.count_tokens(request.prefix) for request in model.score_history)

    return Asker(model, settings, _PLAN, spent)


def real_model(name: str, stack: ExitStack) -> Asker:
    """A model of this machine, as `--strategy fused` asks it."""
    settings = read_settings(overrides={"model": {"name": name}, "query": {"strategy": Strategy.FUSED.value}})
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    model = open_lazily(settings.model, Path(folder) / "completions.sqlite")
    stack.callback(model.close)
    return Asker(model, settings.query, None, lambda: (model.usage.model_calls, model.usage.input_tokens))


def made_questions(leaves: int, count: int) -> list[tuple[str, Callable[[Node], bool]]]:
    """Questions for sections by a word of their own, each with a test of the section found."""
    rng = random.Random(5)
    numbers = [rng.randrange(leaves) for _ in range(count)]
    return [
        (f"What does the {word(2 * n + 1)} hold with oil and pump?", lambda node, n=n: node.title == f"Item {n}")  # type: ignore[misc]
        for n in numbers
    ]


def measure(
    store: IndexStore,
    release: Release,
    asker: Asker,
    questions: Sequence[tuple[str, Callable[[Node], bool]]],
    name: str,
) -> None:
    """Ask, and print what that costs."""
    seconds, judged, opened, records, found, calls, tokens = [], [], [], [], 0, [], []
    for question, is_right in questions:
        trace, before = Trace(), asker.spent()
        started = time.process_time()
        result = find_pages(
            question, store, release=release, doc_ids=None, model=asker.model, settings=asker.settings, max_pages=8,
            trace=trace, plan=asker.plan,
        )  # fmt: skip
        seconds.append(time.process_time() - started)
        searches = [step.details for step in trace.steps if "sections judged" in step.details]
        judged.append(sum(details["sections judged"] for details in searches))
        opened.append(sum(len(details["opened"]) for details in searches))
        trees = [searched.tree.nodes for searched in result.documents.values()]
        records.append(sum(nodes.made for nodes in trees if isinstance(nodes, NodeRows)))
        after = asker.spent()
        calls.append(after[0] - before[0])
        tokens.append(after[1] - before[1])
        first = result.candidates[0] if result.candidates else None
        found += first is not None and is_right(result.documents[first.doc_key].tree.nodes[first.node_id])
    started = time.process_time()
    for doc_key in list(release.documents)[:3]:
        store.open_document(release, doc_key).tree()
    load = (time.process_time() - started) / min(len(release.documents), 3)
    middle = statistics.median
    print(
        f"{name:>24} | {middle(opened):6g} | {middle(judged):6g} | {middle(records):7g} | {middle(calls):5g} | "
        f"{middle(tokens):6g} | {middle(seconds):7.3f} | {max(seconds):7.3f} | {load:7.3f} | {found}/{len(questions)}",
        flush=True,
    )


def measure_octave(work: Path, asker: Asker, count: int) -> None:
    """The 1,158 pages of a real manual, built once."""
    file = Path(__file__).resolve().parents[3] / "shared" / "data" / "outline-dev" / "octave.pdf"
    if not file.exists():
        print(f"skipped: there is no {file.name}")
        return
    settings = read_settings(overrides={"summary": {"mode": "extractive"}})
    store = IndexStore(work, "octave", settings.store)
    if store.current() is None:
        build_collection(Scope((file,)), store, settings, None, library_builder(store, settings, None))
    release = store.require_current()
    places = sample_sentences([store.open_document(release, key) for key in release.documents], count, 5)
    questions = [(place.question, lambda node, of=place: node.node_id == of.node_id) for place in places]
    measure(store, release, asker, questions, "octave.pdf")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--octave", action="store_true", help="also ask a real manual of 1,158 pages")
    parser.add_argument("--model", help="a model name or GGUF path, asked instead of the stand-in")
    parser.add_argument("--questions", type=int, default=20)
    options = parser.parse_args(argv)
    with ExitStack() as stack:
        asker = real_model(options.model, stack) if options.model else stand_in()
        print(f"{'':>24} | opened | judged | records | calls | tokens | seconds |    most |    load | found first")
        for nodes in options.nodes:
            sections = make_sections(nodes, seed=nodes)
            store, release = open_made(options.work, f"n{nodes}", [("manual.md", sections)])
            measure(store, release, asker, made_questions(max(nodes * 9 // 10, 1), options.questions), f"{nodes} nodes")
        if options.documents:
            rng = random.Random(3)
            made = [
                (f"folder{n % 100}/document-{n}.md", [_leaf(20 * n + place, rng) for place in range(20)])
                for n in range(options.documents)
            ]
            store, release = open_made(options.work, f"d{options.documents}", made)
            measure(
                store,
                release,
                asker,
                made_questions(20 * options.documents, options.questions),
                f"{options.documents} documents",
            )
        if options.octave:
            measure_octave(options.work, asker, options.questions)


if __name__ == "__main__":
    main()
