"""Model calls over the real version series: a full build and a rebuild of each version, against what had to be asked.

Used by `python -m tests.benchmarks.versions --calls`. What had to be asked is counted from the texts themselves and
from two full builds that know nothing of each other: no id, hash or match report takes part. A call is the first for
its section; second tries, where the stand-in's answer fails the checks, are counted apart.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pageindex_local.build import BuildJob, build_document
from pageindex_local.extractive import count_words, unwrap_lines
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import SectionTree
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import VersionDraft
from pageindex_local.tree.text import own_paragraphs
from pageindex_local.tree.titles import split_title

STRENGTHS = ("small", "capable")  # the bundled model is small: it is asked about leaves only


@dataclass(frozen=True)
class CostRow:
    """One pair: nodes with an old id and nodes rebuilt, calls of a full build, of the rebuild, and calls needed."""

    series: str
    old_name: str
    new_name: str
    nodes: int
    kept: int
    rebuilt: int
    full_calls: int
    rebuild_calls: int
    rebuild_retries: int
    needed_calls: int
    same_tree: bool

    @property
    def ratio(self) -> float:
        """Calls made over calls needed; 1 where neither is any."""
        if not self.needed_calls:
            return 1.0 if not self.rebuild_calls else float("inf")
        return self.rebuild_calls / self.needed_calls


def iter_costs(data: Path, series: str, strength: str, work: Path) -> Iterator[CostRow]:
    """Each version of a series built from nothing and from the one before, without a completion cache."""
    settings = read_settings()
    store = IndexStore(work / strength, series, settings.store)
    before: tuple[str, StoredVersion, Counter[Hashable]] | None = None
    for number, folder in enumerate(sorted(path for path in (data / series).iterdir() if path.is_dir()), 1):
        path = next(path for path in folder.iterdir() if path.suffix in (".md", ".pdf"))
        source = read_source(f"{series}{path.suffix}", path, settings.parse)
        version_id = f"v{number:06d}"
        full, full_calls, _ = _build(BuildJob(source, version_id), None, settings, strength)
        inputs = _inputs(full, settings, strength)
        if before is None:
            draft = full
        else:
            old_name, previous, old_inputs = before
            job = BuildJob(source, version_id, previous.version_id)
            draft, calls, retries = _build(job, previous, settings, strength)
            yield CostRow(
                series,
                old_name,
                folder.name,
                nodes=len(draft.tree.nodes),
                kept=len(previous.tree().nodes.keys() & draft.tree.nodes.keys()),
                rebuilt=draft.nodes_rebuilt,
                full_calls=full_calls,
                rebuild_calls=calls,
                rebuild_retries=retries,
                needed_calls=(inputs - old_inputs).total(),
                same_tree=_plain(draft.tree) == _plain(full.tree),
            )
        ref = store.write_version(draft)
        before = folder.name, store.open_version(ref.doc_key, version_id), inputs


def _build(
    job: BuildJob, previous: StoredVersion | None, settings: Settings, strength: str
) -> tuple[VersionDraft, int, int]:
    """A version, how many first questions it cost the model, and how many second ones."""
    model = ExtractiveModel(context_tokens=settings.model.context_tokens, strength=strength)
    draft = build_document(job, previous, LazyModel(lambda: model, identity=strength), settings)
    first = sum(request.attempt == 0 for request in model.history)
    return draft, first, len(model.history) - first


def _inputs(draft: VersionDraft, settings: Settings, strength: str) -> Counter[Hashable]:
    """What each call of a full build was about: a leaf's title and text, a parent's title and what its children say."""
    document, tree = draft.document, draft.tree
    inputs: Counter[Hashable] = Counter()
    for node in tree.walk():
        title = split_title(node.title)[1].casefold()
        if node.children:
            if strength == "capable":
                inputs[title, _said(tree, node.children)] += 1
            continue
        text = unwrap_lines(own_paragraphs(document, tree, node))
        if count_words(text) >= settings.summary.short_text_words:
            inputs[title, " ".join(text.split())] += 1
    if strength == "capable":
        inputs["description", _said(tree, tree.roots)] += 1
    return inputs


def _said(tree: SectionTree, children: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((split_title(tree.nodes[child].title)[1].casefold(), tree.nodes[child].summary) for child in children)


def _plain(tree: SectionTree) -> list[tuple[object, ...]]:
    """A tree without its ids."""
    return [(node.title, node.level, node.span, node.summary, node.subtree_hash) for node in tree.walk()]


def print_costs(data: Path, series: list[str], work: Path) -> None:
    """The tables; `equal` says whether the rebuild gave the tree of the full build, ids aside."""
    for strength in STRENGTHS:
        print(f"\n{strength + ' model':19}  pair  nodes   kept rebuilt   full calls needed ratio of full retries equal")
        rows = [row for name in series for row in iter_costs(data, name, strength, work)]
        for row in rows:
            share = row.rebuild_calls / row.full_calls
            print(
                f"{row.series:19} {row.old_name}>{row.new_name} {row.nodes:6} {row.kept:6} {row.rebuilt:7}"
                f" {row.full_calls:6} {row.rebuild_calls:5} {row.needed_calls:6} {row.ratio:5.2f} {share:7.1%}"
                f" {row.rebuild_retries:7} {'yes' if row.same_tree else 'no':>5}"
            )
        made, needed, full = (
            sum(getattr(row, name) for row in rows) for name in ("rebuild_calls", "needed_calls", "full_calls")
        )
        worst = max(row.ratio for row in rows)
        print(f"{len(rows)} pairs: {made} calls made, {needed} needed, {full} in full builds; worst ratio {worst:.2f}")
