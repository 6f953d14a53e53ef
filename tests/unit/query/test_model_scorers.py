import math
import re

import pytest

from pageindex_local.llm.base import Capability, GenerationRequest, ScoreRequest
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query.model_scorers import NO_OPINION, Budget, ChoiceScorer, LikelihoodScorer, list_orders
from pageindex_local.query.scorers import Section
from tests.sections import Section as Written
from tests.sections import render

QUESTION = "Who feeds the bees?"


def sections_of(*titles: str) -> list[Section]:
    tree = render([Written(title, title, ["text"]) for title in titles]).tree
    return [Section(node, (node.title,), "") for node in tree.walk()]


def favour(title: str) -> FunctionModel:
    """A model that finds the question likelier behind a text with this title."""
    return FunctionModel(lambda request: "", score_with=lambda request: -1.0 if title in request.prefix else -3.0)


def test_score_by_likelihood_is_the_gain_over_the_question_alone() -> None:
    scores = LikelihoodScorer(favour("Bees"), QUESTION, Budget(10, 10_000)).score(sections_of("Ropes", "Bees"))
    assert scores == [pytest.approx(0.5), pytest.approx(1 / (1 + math.exp(-12.0)))]


def test_score_by_likelihood_beyond_the_calls_has_no_opinion() -> None:
    model, budget = favour("Bees"), Budget(2, 10_000)
    scores = LikelihoodScorer(model, QUESTION, budget).score(sections_of("Bees", "Ropes", "Bees again"))
    assert scores[0] > scores[1]
    assert scores[2] == NO_OPINION
    assert budget.exhausted
    assert len(model.score_history) == 3  # two sections and the question alone


def test_score_by_likelihood_beyond_the_tokens_asks_nothing_more() -> None:
    model, budget = favour("Bees"), Budget(100, 1)
    scorer = LikelihoodScorer(model, QUESTION, budget)
    scorer.score(sections_of("Bees"))
    asked = len(model.score_history)
    assert scorer.score(sections_of("Ropes")) == [NO_OPINION]
    assert len(model.score_history) == asked


def test_score_by_likelihood_of_one_wide_chapter_asks_for_the_first_few() -> None:
    model = favour("Bees")
    scorer = LikelihoodScorer(model, QUESTION, Budget(100, 10_000), most=2)
    assert scorer.score(sections_of("Ropes", "Fuel", "Bees")) == [0.5, 0.5, NO_OPINION]
    assert len(model.score_history) == 3


def test_list_orders_put_entries_at_different_places() -> None:
    orders = list_orders(6, 3)
    assert [sorted(order) for order in orders] == [list(range(6))] * 3
    assert all(len({order.index(entry) for order in orders}) > 1 for entry in range(6))


def letter_of(title: str, prompt: str) -> str:
    found = re.search(rf"^([A-H])\. {title}", prompt, re.MULTILINE)
    return found[1] if found else "?"


def test_score_by_choice_names_the_section_wherever_it_stands() -> None:
    def score(request: ScoreRequest) -> float:
        return math.log(0.9) if request.continuation.strip() == letter_of("Bees", request.prefix) else math.log(0.05)

    scores = ChoiceScorer(FunctionModel(lambda request: "", score_with=score), QUESTION, Budget(10, 10_000)).score(
        sections_of("Ropes", "Bees")
    )
    assert scores == [pytest.approx(0.05), pytest.approx(0.9)]


def test_score_by_choice_of_a_model_that_always_says_a_prefers_none() -> None:
    """Three entries in three orders: whoever stands first gets the vote, which is a different one each time."""
    model = FunctionModel(
        lambda request: "", score_with=lambda request: 0.0 if request.continuation.strip() == "A" else -9.0
    )
    scores = ChoiceScorer(model, QUESTION, Budget(10, 10_000)).score(sections_of("Ropes", "Bees", "Fuel"))
    assert max(scores) == pytest.approx(min(scores), abs=1e-6)


def test_score_by_choice_without_scores_counts_votes() -> None:
    def choose(request: GenerationRequest) -> str:
        assert request.grammar is not None
        return letter_of("Bees", request.user)

    model = FunctionModel(choose, capabilities=frozenset({Capability.GRAMMAR}))
    scores = ChoiceScorer(model, QUESTION, Budget(10, 10_000)).score(sections_of("Ropes", "Bees", "Fuel"))
    assert scores == [0.0, 1.0, 0.0]


def test_score_by_choice_of_many_sections_asks_list_by_list_within_the_budget() -> None:
    budget = Budget(3, 100_000)
    model = FunctionModel(lambda request: "", score_with=lambda request: -1.0)
    scores = ChoiceScorer(model, QUESTION, budget).score(sections_of(*(f"Title {n}" for n in range(10))))
    assert scores[7:] == [NO_OPINION] * 3
    assert budget.calls == 0
