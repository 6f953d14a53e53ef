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

    Documents get one call each, pages what `RERANK_DEPTH` of them need, but no more than half where something else is
    judged as well; sections get the rest. `hidden` as in `describe_section`; `documents` is how many the question may
    be about. They are judged where the settings call the collection small: then `documents` judges the first
    `document_depth`.
    """

    def __init__(
        self,
        plan: Plan,
        model: TextModel | None,
        question: str,
        settings: QuerySettings,
        hidden: str = "",
        *,
        documents: int = 0,
    ) -> None:
        self._plan = plan
        self._sections: NodeScorer | None = None
        self.documents: NodeScorer | None = None
        self.pages: LikelihoodScorer | None = None
        kind = ChoiceScorer if plan.strategy is Strategy.CHOICE else LikelihoodScorer
        is_small = 1 < documents <= settings.max_described_documents
        left = Budget(settings.max_node_scores, settings.max_score_tokens)
        wanted = kind.calls_for(documents) if plan.document_share > 0 and is_small else 0
        self._document_budget = _take(left, wanted, is_shared=plan.section_share > 0 or plan.page_share > 0)
        self.document_depth = kind.texts_for(self._document_budget.calls)
        wanted = RERANK_DEPTH if plan.page_share > 0 else 0
        self._page_budget = _take(left, wanted, is_shared=plan.section_share > 0)
        self._section_budget = left
        if model is None or not plan.asks_model:
            return
        if self._document_budget.calls:
            self.documents = open_document_judge(plan.strategy, model, question, self._document_budget, hidden)
        if plan.page_share > 0:
            self.pages = LikelihoodScorer(model, question, self._page_budget)
        if plan.section_share > 0 and self._section_budget.calls:
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
        return sum(budget.calls for budget in self._budgets), sum(budget.tokens for budget in self._budgets)

    def events(self) -> list[str]:
        """What is worth counting: budgets that ran out."""
        return ["score budget spent"] * any(budget.exhausted for budget in self._budgets)

    @property
    def _budgets(self) -> tuple[Budget, ...]:
        return self._document_budget, self._page_budget, self._section_budget


def open_document_judge(
    strategy: Strategy, model: TextModel, question: str, budget: Budget, hidden: str = ""
) -> NodeScorer:
    """The judge of documents by their descriptions: of the same kind as the one of sections."""
    if strategy is Strategy.CHOICE:
        return ChoiceScorer(model, question, budget, hidden=hidden, noun="document")
    return LikelihoodScorer(model, question, budget, hidden=hidden)


def _take(left: Budget, wanted: int, *, is_shared: bool) -> Budget:
    """The calls wanted out of what is left, half of it at most where that is shared, and tokens in proportion."""
    calls = min(wanted, left.calls // 2 if is_shared else left.calls)
    tokens = left.tokens * calls // max(left.calls, 1)
    left.spend(calls, tokens)
    return Budget(calls, tokens)
