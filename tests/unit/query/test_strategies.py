import pytest

from pageindex_local.llm.base import Capability
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query.strategies import CANNOT_SCORE, PATH_SHARE, Plan, Strategy, make_plan
from pageindex_local.settings import read_settings

SETTINGS = read_settings().query
SCORING = FunctionModel(lambda request: "", score_with=lambda request: -1.0)
WRITING = FunctionModel(lambda request: "", capabilities=frozenset({Capability.GRAMMAR}))


@pytest.mark.parametrize("strategy", Strategy)
def test_make_plan_without_a_model_is_full_text(strategy: Strategy) -> None:
    plan = make_plan(strategy, None, SETTINGS)
    assert plan.strategy is Strategy.FULLTEXT
    assert not plan.asks_model


def test_make_plan_of_a_small_model_not_measured_asks_it_nothing() -> None:
    plan = make_plan(Strategy.AUTO, SCORING, SETTINGS)
    assert not plan.asks_model
    assert "calibrate" in plan.reason


def test_make_plan_follows_what_was_measured() -> None:
    measured = Plan(Strategy.FUSED, 0.2, 0.5, PATH_SHARE, "measured")
    assert make_plan(Strategy.AUTO, SCORING, SETTINGS, measured) == measured


def test_make_plan_of_a_model_that_cannot_score_says_so() -> None:
    for strategy in (Strategy.AUTO, Strategy.LIKELIHOOD, Strategy.FUSED):
        plan = make_plan(strategy, WRITING, SETTINGS, Plan(Strategy.FUSED, 0.5, 0.5, PATH_SHARE, "measured"))
        assert plan.strategy is Strategy.FULLTEXT
        assert plan.reason == CANNOT_SCORE


def test_make_plan_of_likelihood_or_choice_leaves_the_choice_to_the_model() -> None:
    assert make_plan(Strategy.LIKELIHOOD, SCORING, SETTINGS).section_share == 1
    assert make_plan(Strategy.CHOICE, WRITING, SETTINGS).section_share == 1


def test_make_plan_with_no_calls_to_spend_is_full_text() -> None:
    settings = SETTINGS.model_copy(update={"max_node_scores": 0})
    assert make_plan(Strategy.LIKELIHOOD, SCORING, settings).strategy is Strategy.FULLTEXT
