"""Candidate pages put in their last order: evidence, model judgement and repeated text in, ranked pages out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pageindex_local.query.model_scorers import LikelihoodScorer

FUSION_K = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """One page that may be shown. Scores compare across documents; `likelihood` is None where no model judged."""

    doc_key: str
    page_number: int
    node_id: str
    score: float
    content_hash: str
    likelihood: float | None = None


def drop_repeats(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates without those whose page text equals an earlier one's in the same document; order kept."""
    seen: set[tuple[str, str]] = set()
    kept = []
    for candidate in candidates:
        key = candidate.doc_key, candidate.content_hash
        if candidate.content_hash and key in seen:
            continue
        seen.add(key)
        kept.append(candidate)
    return kept


def rerank_pages(
    candidates: Sequence[Candidate],
    scorer: LikelihoodScorer,
    excerpt_of: Callable[[Candidate], str],
    *,
    weight: float,
    depth: int,
) -> list[Candidate]:
    """The first `depth` candidates reordered by evidence and likelihood, the rest behind them as they were.

    Likelihoods are spread over the candidates' own range, because only their order carries information. One that the
    budget did not reach counts as a middling one. Scores of the same question and text come from the completion cache.
    """
    head, tail = list(candidates[:depth]), list(candidates[depth:])
    if len(head) < 2 or weight == 0:
        return [*head, *tail]
    gains = scorer.gains([excerpt_of(candidate) for candidate in head])
    top = max(candidate.score for candidate in head) or 1.0
    judged = [
        replace(candidate, likelihood=gain, score=(1 - weight) * candidate.score + weight * top * part)
        for candidate, gain, part in zip(head, gains, spread_gains(gains), strict=True)
    ]
    floor = min(candidate.score for candidate in judged)
    judged.sort(key=lambda candidate: -candidate.score)
    return [*judged, *(replace(candidate, score=min(candidate.score, floor)) for candidate in tail)]


def fuse_pages(
    candidates: Sequence[Candidate], near: Sequence[tuple[int, str]], doc_key: str, share: float
) -> list[Candidate]:
    """Candidates of one document fused by reciprocal rank with pages that vectors rank; those may name new pages.

    Scores become shares of the best possible rank, times the document's `share`.
    """
    ordered = sorted(candidates, key=lambda found: (-found.score, found.page_number))
    known = {found.page_number: found for found in ordered}
    fused = fuse_rankings([[found.page_number for found in ordered], [page for page, _ in near]])
    leaves = dict(near)
    pages = [
        replace(known[page], score=share * score)
        if page in known
        else Candidate(doc_key, page, leaves[page], share * score, "")
        for page, score in fused.items()
    ]
    return sorted(pages, key=lambda found: (-found.score, found.page_number))


def take_in_turn(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best of each document, then the second of each: what a comparison needs. Scores never rise along the list."""
    queues: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        queues.setdefault(candidate.doc_key, []).append(candidate)
    longest = max(map(len, queues.values()), default=0)
    turns = [queue[turn] for turn in range(longest) for queue in queues.values() if turn < len(queue)]
    score = turns[0].score if turns else 0.0
    taken = []
    for candidate in turns:
        score = min(score, candidate.score)
        taken.append(replace(candidate, score=score))
    return taken


def spread_gains(gains: Sequence[float | None]) -> list[float]:
    """Gains from 0 for the least to 1 for the most; 0.5 where one is unknown or all are equal."""
    known = [gain for gain in gains if gain is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    return [(gain - low) / (high - low) if gain is not None and high > low else 0.5 for gain in gains]


def fuse_rankings(rankings: Sequence[Sequence[int]], k: int = FUSION_K) -> dict[int, float]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank) over all rankings, as a share of the largest possible.

    Source: Cormack, Clarke and Buettcher, Reciprocal Rank Fusion outperforms Condorcet (2009), with their k of 60.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, entry in enumerate(ranking, 1):
            scores[entry] = scores.get(entry, 0.0) + 1 / (k + rank)
    most = len(rankings) / (k + 1)
    return {entry: score / most for entry, score in scores.items()}
