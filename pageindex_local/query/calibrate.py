"""An index asked about itself: which shares a model should have, measured on places that are known. No labels needed.

Enters: a store, a release, a model. Leaves: a measurement. Stores nothing; prints nothing.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from pageindex_local.llm.base import Capability, TextModel
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.query.analyse import analyse_question
from pageindex_local.query.calibration import Choice, ModelMeasurement
from pageindex_local.query.described import describe_documents
from pageindex_local.query.documents import rank_documents
from pageindex_local.query.evidence import gather_evidence
from pageindex_local.query.excerpts import excerpt, word_weights
from pageindex_local.query.find import EXCERPT_WORDS, find_pages, leaf_reader
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.judges import open_document_judge
from pageindex_local.query.model_scorers import Budget, ChoiceScorer, LikelihoodScorer
from pageindex_local.query.places import KnownPlace, sample_sentences
from pageindex_local.query.rerank import spread_gains
from pageindex_local.query.scorers import FulltextScorer, NodeScorer
from pageindex_local.query.search import section_of
from pageindex_local.query.search_index import SearchIndex
from pageindex_local.query.strategies import FULLTEXT_PLAN, Strategy
from pageindex_local.query.trace import Trace
from pageindex_local.settings import QuerySettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release

if TYPE_CHECKING:
    from pageindex_local.query.vectors import VectorSearch

SHARES = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0)
LIST_SIZE = 7  # sections that a judge chooses from
PAGES = 8  # pages that are put in order
_FOLDS = 5
_PLENTY = 1_000_000


@dataclass(frozen=True, slots=True)
class Case:
    """Things in a list of which exactly one is right: how full text and a model score each."""

    right: int
    fulltext: tuple[float, ...]
    model: tuple[float, ...]

    def reciprocal_rank(self, share: float) -> float:
        """1 over the rank of the right one when the model has this share; ties count against it."""
        fused = [(1 - share) * a + share * b for a, b in zip(self.fulltext, self.model, strict=True)]
        return 1 / sum(score >= fused[self.right] for score in fused)


def measure_model(
    store: IndexStore,
    release: Release,
    model: TextModel,
    settings: QuerySettings,
    *,
    samples: int,
    seed: int,
    progress: Progress = NO_PROGRESS,
    vectors: "VectorSearch | None" = None,
) -> ModelMeasurement:
    """Fit the shares of a model on sentences of the release whose section is known.

    For each sentence one step of the way to its section is judged (the right child among its likeliest siblings), and
    the pages that full text finds for it are put in order, and in a small collection its document is looked for among
    the likeliest. The least share within one standard error of the best wins, so a model that does not clearly help
    gets none. Cost: about twenty scores a sample.

    Raises:
        ModelError: the model fails.
        CorruptIndexError: a stored version cannot be read.
    """
    versions = {key: store.open_document(release, key) for key in release.documents}
    places = sample_sentences(list(versions.values()), samples, seed)
    rng = random.Random(f"levels {seed}")
    description = model.describe()
    kinds: list[Strategy] = []
    if Capability.SCORE in description.capabilities:
        kinds.append(Strategy.FUSED)
    if description.strength == "capable":
        kinds.append(Strategy.CHOICE)
    sections: dict[Strategy, list[Case]] = {kind: [] for kind in kinds}
    documents: dict[Strategy, list[Case]] = {kind: [] for kind in kinds}
    pages: list[Case] = []
    is_small = 1 < len(release.documents) <= settings.max_described_documents
    with open_search_index(store, release) as index:
        progress.start("calibrate", len(places))
        for place in places:
            step = _choose_step(versions[place.doc_key], place, rng)
            if step is not None:
                for kind in kinds:
                    sections[kind].append(_judge_step(index, versions[place.doc_key], place, step, model, kind))
            if Strategy.FUSED in sections:
                pages += _judge_pages(store, release, place, model, settings, vectors)
            if is_small:
                for kind in kinds:
                    documents[kind].append(_judge_documents(index, release, place, model, kind))
            progress.advance()
        progress.finish()
    tried = [choice for kind, cases in sections.items() for choice in try_shares(kind, cases)]
    best = choose_share(tried)
    tried_pages = try_shares(Strategy.FUSED, pages)
    page_share = choose_share(tried_pages).share
    # One judge for a question: documents are chosen by the one that sections are, if any of them are.
    tried_documents = [choice for kind, cases in documents.items() if cases for choice in try_shares(kind, cases)]
    best_document = choose_share(
        [choice for choice in tried_documents if not best.share or choice.strategy is best.strategy]
    )
    judge = best.strategy if best.share else best_document.strategy if best_document.share else Strategy.FUSED
    return ModelMeasurement(
        model_name=description.name,
        model_fingerprint=description.fingerprint,
        samples=len(places),
        seed=seed,
        strategy=judge if best.share or page_share or best_document.share else Strategy.FULLTEXT,
        section_share=best.share,
        page_share=page_share,
        document_share=best_document.share,
        sections_tried=tuple(tried),
        pages_tried=tuple(tried_pages),
        documents_tried=tuple(tried_documents),
        held_out=round(cross_validate(pages), 4),
    )


def try_shares(kind: Strategy, cases: Sequence[Case]) -> list[Choice]:
    """The mean reciprocal rank at every share, with its standard error. No case gives one choice: none of the model."""
    if not cases:
        return [Choice(strategy=kind, share=0.0, score=0.0, error=0.0)]
    tried = []
    for share in SHARES:
        ranks = [case.reciprocal_rank(share) for case in cases]
        mean = fmean(ranks)
        spread = sqrt(fmean((rank - mean) ** 2 for rank in ranks) / len(ranks))
        tried.append(Choice(strategy=kind, share=share, score=round(mean, 4), error=round(spread, 4)))
    return tried


def choose_share(tried: Sequence[Choice]) -> Choice:
    """The smallest share within one standard error of the best score.

    Source: the one-standard-error rule of Breiman et al., Classification and Regression Trees (1984).
    """
    if not tried:
        return Choice(strategy=Strategy.FULLTEXT, share=0.0, score=0.0, error=0.0)
    best = max(tried, key=lambda choice: choice.score)
    near = [choice for choice in tried if choice.score >= best.score - best.error]
    return min(near, key=lambda choice: (choice.share, -choice.score))


def cross_validate(cases: Sequence[Case], kind: Strategy = Strategy.FUSED) -> float:
    """The mean reciprocal rank on cases that the share was not chosen by: five folds, every fifth case in one."""
    ranks: list[float] = []
    for fold in range(min(_FOLDS, len(cases))):
        others = [case for place, case in enumerate(cases) if place % _FOLDS != fold]
        share = choose_share(try_shares(kind, others)).share
        ranks += [case.reciprocal_rank(share) for place, case in enumerate(cases) if place % _FOLDS == fold]
    return fmean(ranks) if ranks else 0.0


def _choose_step(version: StoredVersion, place: KnownPlace, rng: random.Random) -> tuple[str, tuple[str, ...]] | None:
    """One node on the way to the place that has siblings, with them; None where there is no choice anywhere."""
    tree = version.tree()
    steps = []
    for node_id in tree.path(place.node_id):
        parent = tree.nodes[node_id].parent_id
        siblings = tree.roots if parent is None else tree.nodes[parent].children
        if len(siblings) > 1:
            steps.append((node_id, siblings))
    return rng.choice(steps) if steps else None


def _judge_step(
    index: SearchIndex,
    version: StoredVersion,
    place: KnownPlace,
    step: tuple[str, tuple[str, ...]],
    model: TextModel,
    kind: Strategy,
) -> Case:
    right, siblings = step
    tree = version.tree()
    question = analyse_question(place.question)
    evidence = gather_evidence(index, index.documents[place.doc_key], question)
    text_of = leaf_reader(version, question, evidence)
    sections = [section_of(tree, node_id, text_of) for node_id in siblings]
    quick = FulltextScorer(tree, evidence).score(sections)
    order = sorted(range(len(siblings)), key=lambda place: (siblings[place] != right, -quick[place], place))
    shown = sorted(order[:LIST_SIZE])
    opener = ChoiceScorer if kind is Strategy.CHOICE else LikelihoodScorer
    judge: NodeScorer = opener(model, place.question, Budget(_PLENTY, _PLENTY), hidden=place.source)
    return Case(
        right=shown.index(siblings.index(right)),
        fulltext=tuple(quick[number] for number in shown),
        model=tuple(judge.score([sections[number] for number in shown])),
    )


def _judge_documents(index: SearchIndex, release: Release, place: KnownPlace, model: TextModel, kind: Strategy) -> Case:
    """The likeliest documents by full text and what the question says of them, the right one among them."""
    ranked = rank_documents(index, analyse_question(place.question)).ranked
    order = sorted(range(len(ranked)), key=lambda number: (ranked[number].document.doc_key != place.doc_key, number))
    shown = [ranked[number] for number in sorted(order[:LIST_SIZE])]
    top = ranked[0].score or 1.0
    judge = open_document_judge(kind, model, place.question, Budget(_PLENTY, _PLENTY), place.source)
    judged = judge.score(describe_documents(shown, release))
    return Case(
        right=[found.document.doc_key for found in shown].index(place.doc_key),
        fulltext=tuple(found.score / top for found in shown),
        model=tuple(spread_gains(judged)),
    )


def _judge_pages(
    store: IndexStore,
    release: Release,
    place: KnownPlace,
    model: TextModel,
    settings: QuerySettings,
    vectors: "VectorSearch | None",
) -> list[Case]:
    """The pages that full text finds, if the place is on one of them: otherwise no order helps."""
    findings = find_pages(
        place.question, store, release=release, doc_ids=[place.doc_id], model=None, settings=settings, max_pages=PAGES,
        trace=Trace(), plan=FULLTEXT_PLAN, vectors=vectors,
    )  # fmt: skip
    right = next((n for n, found in enumerate(findings.candidates) if found.node_id == place.node_id), None)
    if right is None:
        return []
    texts = []
    for found in findings.candidates:
        searched = findings.documents[found.doc_key]
        weights = word_weights(findings.question, searched.evidence)
        texts.append(excerpt(searched.page_lines(found.page_number), weights, EXCERPT_WORDS))
    gains = LikelihoodScorer(model, place.question, Budget(_PLENTY, _PLENTY)).gains(texts)
    top = findings.candidates[0].score or 1.0
    return [Case(right, tuple(found.score / top for found in findings.candidates), tuple(spread_gains(gains)))]
