from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query.judges import RERANK_DEPTH, Judges
from pageindex_local.query.strategies import FULLTEXT_PLAN, PATH_SHARE, Plan, Strategy
from pageindex_local.settings import read_settings

SETTINGS = read_settings().query
MODEL = FunctionModel(lambda request: "", score_with=lambda request: -1.0)


def test_judges_of_a_full_text_plan_ask_no_model() -> None:
    judges = Judges(FULLTEXT_PLAN, MODEL, "Who?", SETTINGS)
    assert judges.pages is None
    assert judges.left() == (SETTINGS.max_node_scores, SETTINGS.max_score_tokens)
    assert judges.events() == []


def test_judges_of_sections_and_pages_share_the_calls() -> None:
    settings = SETTINGS.model_copy(update={"max_node_scores": 10})
    judges = Judges(Plan(Strategy.LIKELIHOOD, 1.0, 1.0, PATH_SHARE, "test"), MODEL, "Who?", settings)
    assert judges.pages is not None
    judges.pages.gains([f"page {number}" for number in range(20)])
    assert judges.left()[0] == 5
    assert judges.events() == ["score budget spent"]


def test_judges_of_pages_alone_keep_enough_for_all_that_are_put_in_order() -> None:
    judges = Judges(Plan(Strategy.FUSED, 0.0, 0.1, PATH_SHARE, "test"), MODEL, "Who?", SETTINGS)
    assert judges.pages is not None
    assert None not in judges.pages.gains([f"page {number}" for number in range(RERANK_DEPTH)])
    assert judges.events() == []
