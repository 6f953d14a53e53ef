"""The judges of one question, opened by its plan: who judges sections, who judges pages, and what they may cost."""

from pageindex_local.llm.base import TextModel
from pageindex_local.query.evidence import Evidence
from pageindex_local.query.model_scorers import Budget, ChoiceScorer, LikelihoodScorer
from pageindex_local.query.scorers import FulltextScorer, FusedScorer, NeutralScorer, NodeScorer
from pageindex_local.query.strategies import Plan, Strategy
from pageindex_local.records import SectionTree
from pageindex_local.settings import QuerySettings

RERANK_DEPTH = 12


class Judges:
    """Judges of one question, each with its part of the budget.

    Pages get what `RERANK_DEPTH` of them need, but no more than half where sections are judged as well.

    `hidden` as in `describe_section`.
    """

    def __init__(
        self, plan: Plan, model: TextModel | None, question: str, settings: QuerySettings, hidden: str = ""
    ) -> None:
        self._plan = plan
        self._sections: NodeScorer | None = None
        self.pages: LikelihoodScorer | None = None
        allowed = settings.max_node_scores // 2 if plan.section_share > 0 else settings.max_node_scores
        kept = min(allowed, RERANK_DEPTH) if plan.page_share > 0 else 0
        tokens = settings.max_score_tokens * kept // max(settings.max_node_scores, 1)
        self._page_budget = Budget(kept, tokens)
        self._section_budget = Budget(settings.max_node_scores - kept, settings.max_score_tokens - tokens)
        if model is None or not plan.asks_model:
            return
        if plan.page_share > 0:
            self.pages = LikelihoodScorer(model, question, self._page_budget)
        if plan.section_share > 0 and self._section_budget.calls:
            kind = ChoiceScorer if plan.strategy is Strategy.CHOICE else LikelihoodScorer
            most = None if plan.section_share >= 1 else settings.beam
            self._sections = kind(model, question, self._section_budget, most=most, hidden=hidden)

    def for_tree(self, tree: SectionTree, evidence: Evidence) -> tuple[NodeScorer, NodeScorer]:
        """The cheap judge of all children of a section, and the one whose scores count."""
        fulltext = FulltextScorer(tree, evidence)
        share = self._plan.section_share
        if self._sections is None:
            return fulltext, fulltext
        if share >= 1:
            return NeutralScorer(), self._sections
        return fulltext, FusedScorer([(fulltext, 1 - share), (self._sections, share)])

    def left(self) -> tuple[int, int]:
        """Calls and tokens that were not spent."""
        budgets = self._page_budget, self._section_budget
        return sum(budget.calls for budget in budgets), sum(budget.tokens for budget in budgets)

    def events(self) -> list[str]:
        """What is worth counting: budgets that ran out."""
        return ["score budget spent"] * (self._page_budget.exhausted or self._section_budget.exhausted)
