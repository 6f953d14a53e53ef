"""Which judge searches the tree and how much a model counts: a strategy, a model and a calibration in, a plan out."""

from dataclasses import dataclass, replace
from enum import StrEnum

from pageindex_local.llm.base import Capability, TextModel
from pageindex_local.settings import QuerySettings


class Strategy(StrEnum):
    """How sections are judged. `auto` takes what was measured for this model and collection, else the default."""

    AUTO = "auto"
    FULLTEXT = "fulltext"
    LIKELIHOOD = "likelihood"
    CHOICE = "choice"
    FUSED = "fused"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a question is searched by.

    `section_share` is the model's part of a section's score, `page_share` that of a page's when pages are put in their
    last order, `document_share` that of a document's in a small collection (see `described`). `path_share` is the part
    of a page's score that comes from the path to it. `reason` is for the trace.
    """

    strategy: Strategy
    section_share: float
    page_share: float
    path_share: float
    reason: str
    document_share: float = 0.0

    @property
    def asks_model(self) -> bool:
        """Whether any score depends on a model."""
        return self.section_share > 0 or self.page_share > 0 or self.document_share > 0


PATH_SHARE = 0.3
_GUIDED_PATH_SHARE = 0.9  # where a model alone chooses sections, their pages follow its choice
FULLTEXT_PLAN = Plan(Strategy.FULLTEXT, 0.0, 0.0, PATH_SHARE, "no model")
CANNOT_SCORE = "the model cannot score"
# What a small model does where nothing was measured. The bundled one did not find more pages than full text alone, at
# three thousand tokens a question (ablation in docs/benchmarks.md); `calibrate` gives a better one its share.
SMALL_MODEL_PLAN = replace(FULLTEXT_PLAN, reason="a small model, not measured on this index; see `calibrate`")
CHOICE_SHARE = 0.5  # of a capable model's choice beside full text, unless measured
# Of a model's opinion on descriptions, unless measured. What a question says of a document's name, year and text tells
# more: by descriptions alone the bundled model names the right one of fourteen for less than a third of the questions,
# and a tenth is the largest share that costs none of them.
DOCUMENT_SHARE = 0.1


def make_plan(
    strategy: Strategy, model: TextModel | None, settings: QuerySettings, calibrated: Plan | None = None
) -> Plan:
    """The plan for a question. A strategy that the model cannot follow gives full text, and the reason says so."""
    if strategy is Strategy.FULLTEXT:
        return replace(FULLTEXT_PLAN, reason="asked for")
    if model is None:
        return FULLTEXT_PLAN
    if settings.max_node_scores == 0:
        return replace(FULLTEXT_PLAN, reason="no model score may be spent")
    description = model.describe()
    can_score = Capability.SCORE in description.capabilities
    if strategy is Strategy.AUTO:
        if calibrated is not None:
            return calibrated if can_score or calibrated.strategy is Strategy.CHOICE else _cannot_score()
        if description.strength == "capable" and Capability.GRAMMAR in description.capabilities:
            return Plan(
                Strategy.CHOICE,
                CHOICE_SHARE,
                0.0,
                PATH_SHARE,
                "a capable model chooses; not measured, see `calibrate`",
                DOCUMENT_SHARE,
            )
        return SMALL_MODEL_PLAN if can_score else _cannot_score()
    if strategy is Strategy.CHOICE:
        return Plan(Strategy.CHOICE, 1.0, 0.0, _GUIDED_PATH_SHARE, "asked for", DOCUMENT_SHARE)
    if not can_score:
        return _cannot_score()
    if strategy is Strategy.LIKELIHOOD:
        return Plan(Strategy.LIKELIHOOD, 1.0, 1.0, _GUIDED_PATH_SHARE, "asked for", DOCUMENT_SHARE)
    share = 1 - settings.fulltext_weight
    return Plan(Strategy.FUSED, share, share / 3, PATH_SHARE, "asked for", min(share, DOCUMENT_SHARE))


def _cannot_score() -> Plan:
    return replace(FULLTEXT_PLAN, reason=CANNOT_SCORE)
