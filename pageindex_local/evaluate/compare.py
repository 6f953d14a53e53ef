"""Two runs side by side, and a run against thresholds: outcomes in, differences and sentences out."""

import math
from collections.abc import Iterable, Mapping

from pageindex_local.errors import SettingsError
from pageindex_local.evaluate.records import Comparison, Outcome, Pair, Run
from pageindex_local.evaluate.run import FIGURE_NAMES


def compare_runs(first: Run, second: Run) -> Comparison:
    """Question by question, which of two runs ranks the first evidence page higher."""
    others = {outcome.question_id: outcome for outcome in second.outcomes}
    won, lost, equal = [], [], 0
    for outcome in first.outcomes:
        other = others.get(outcome.question_id)
        if other is None or not outcome.evidence_pages:
            continue
        pair = Pair(question_id=outcome.question_id, rank_a=first_rank(outcome), rank_b=first_rank(other))
        if pair.rank_a == pair.rank_b:
            equal += 1
        elif (pair.rank_b or math.inf) < (pair.rank_a or math.inf):
            won.append(pair)
        else:
            lost.append(pair)
    return Comparison(won_by_b=tuple(won), lost_by_b=tuple(lost), equal=equal, chance=sign_test(len(won), len(lost)))


def first_rank(outcome: Outcome) -> int:
    """Rank from 1 of the first evidence page, 0 where none was found."""
    gold = set(outcome.evidence_pages)
    return next((rank for rank, page in enumerate(outcome.ranking, 1) if page in gold), 0)


def sign_test(wins: int, losses: int) -> float:
    """Probability that an even coin parts `wins + losses` throws at least so unevenly; ties are left out."""
    count, fewer = wins + losses, min(wins, losses)
    tail = sum(math.comb(count, hits) for hits in range(fewer + 1)) / float(2**count)
    return round(min(1.0, 2 * tail), 4)


def read_thresholds(option: str, texts: Iterable[str]) -> dict[str, float]:
    """`recall@5=0.5` and the like, as name -> number.

    Raises:
        SettingsError: another form or an unknown name.
    """
    thresholds = {}
    for text in texts:
        name, equals, number = text.partition("=")
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not equals or math.isnan(value):
            raise SettingsError(f"`{text}` is not of the form NAME=NUMBER", subject=option)
        if name not in FIGURE_NAMES:
            raise SettingsError(
                f"there is no figure `{name}`", subject=option, next_step=f"Known: {', '.join(FIGURE_NAMES)}."
            )
        thresholds[name] = value
    return thresholds


def find_missed(run: Run, at_least: Mapping[str, float], at_most: Mapping[str, float]) -> list[str]:
    """Sentences about every figure that is below or above what was asked; a figure that was not measured is missed."""
    missed = []
    for name, bound in at_least.items():
        value = run.figures.values[name]
        if value is None or value < bound:
            missed.append(f"{name} is {_text(value)}, at least {bound:g} was asked")
    for name, bound in at_most.items():
        value = run.figures.values[name]
        if value is None or value > bound:
            missed.append(f"{name} is {_text(value)}, at most {bound:g} was asked")
    return missed


def _text(value: float | None) -> str:
    return "not measured by these questions" if value is None else f"{value:g}"
