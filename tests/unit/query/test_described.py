from collections.abc import Sequence
from pathlib import Path

import pytest

from pageindex_local.llm.base import Capability, GenerationRequest, ScoreRequest
from pageindex_local.llm.fakes import FunctionModel
from pageindex_local.query import Trace, retrieve
from pageindex_local.query.calibrate import measure_model
from pageindex_local.query.calibration import write_calibration
from pageindex_local.query.described import describe_documents, judge_documents
from pageindex_local.query.documents import RankedDocument
from pageindex_local.query.judges import Judges
from pageindex_local.query.scorers import Section as Judged
from pageindex_local.query.scorers import describe_section
from pageindex_local.query.search_index import IndexedDocument
from pageindex_local.query.strategies import PATH_SHARE, Plan, Strategy
from pageindex_local.settings import read_settings
from pageindex_local.store.records import Release
from pageindex_local.view.search import read_search
from tests.sections import Section
from tests.unit.query.indexes import filler, publish

SETTINGS = read_settings().query
PLAN = Plan(Strategy.FUSED, 0.0, 0.0, PATH_SHARE, "test", document_share=0.5)


class Names:
    """Likes documents whose titles hold a word."""

    name = "names"

    def __init__(self, word: str) -> None:
        self._word = word

    def score(self, sections: Sequence[Judged]) -> list[float]:
        return [0.9 if self._word in " ".join(section.titles) else 0.4 for section in sections]


def ranked_of(release: Release) -> list[RankedDocument]:
    """Every document of a release, the first with score 1, each next one a fifth less."""
    entries = sorted(release.documents.items(), key=lambda item: item[1].doc_id)
    return [
        RankedDocument(IndexedDocument(key, entry.doc_id, entry.version_id, (1, 1), (1, 1), ""), 1 - n / 5, 1, 0, 0)
        for n, (key, entry) in enumerate(entries)
    ]


def release_of(tmp_path: Path, *names: str) -> Release:
    return publish(tmp_path, {name: [Section("a", "Opening", filler(name))] for name in names})[1]


def test_judge_documents_lets_the_share_decide_between_text_and_judge(tmp_path: Path) -> None:
    release = release_of(tmp_path, "a.pdf", "b.pdf", "plum.pdf")
    ranked = ranked_of(release)  # 1.0, 0.8, 0.6
    few = judge_documents(ranked, release, Names("plum"), share=0.2, depth=3)
    many = judge_documents(ranked, release, Names("plum"), share=0.5, depth=3)
    assert [found.document.doc_id for found in few] == ["a.pdf", "plum.pdf", "b.pdf"]
    assert [found.score for found in few] == pytest.approx([0.8, 0.8 * 0.6 + 0.2, 0.8 * 0.8])
    assert many[0].document.doc_id == "plum.pdf"
    assert [found.model for found in many] == [1.0, 0.0, 0.0]


def test_judge_documents_beyond_its_depth_keeps_the_rest_behind(tmp_path: Path) -> None:
    release = release_of(tmp_path, "a.pdf", "b.pdf", "plum.pdf")
    found = judge_documents(ranked_of(release), release, Names("plum"), share=1.0, depth=2)
    assert (found[2].document.doc_id, found[2].model) == ("plum.pdf", None)
    assert found[2].score <= found[1].score


def test_describe_documents_shows_name_and_description_as_data(tmp_path: Path) -> None:
    release = release_of(tmp_path, "reports/plum_harvest-2021.pdf", "b.pdf")
    ranked = ranked_of(release)
    shown = describe_section(describe_documents(ranked, release)[1])
    entry = release.documents[ranked[1].document.doc_key]
    assert shown.startswith("reports plum harvest 2021\n")
    assert entry.description in shown


@pytest.mark.parametrize(("documents", "asks"), [(1, False), (2, True), (30, True), (31, False)])
def test_judges_look_at_descriptions_only_in_small_collections(documents: int, asks: bool) -> None:
    settings = SETTINGS.model_copy(update={"max_described_documents": 30, "max_node_scores": 40})
    model = FunctionModel(lambda request: "", score_with=lambda request: -1.0)
    assert (Judges(PLAN, model, "Who?", settings, documents=documents).documents is not None) is asks


def test_judges_of_documents_share_the_calls_with_sections(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"max_node_scores": 10})
    model = FunctionModel(lambda request: "", score_with=lambda request: -1.0)
    plan = Plan(Strategy.LIKELIHOOD, 1.0, 0.0, PATH_SHARE, "test", document_share=0.5)
    judges = Judges(plan, model, "Who?", settings, documents=8)
    release = release_of(tmp_path, *(f"{letter}.pdf" for letter in "abcdefgh"))
    assert judges.documents is not None
    assert judges.document_depth == 5
    judge_documents(ranked_of(release), release, judges.documents, share=0.5, depth=judges.document_depth)
    assert judges.left()[0] == 5
    assert judges.events() == []


def likes_plums(request: ScoreRequest) -> float:
    return -1.0 if "plum" in request.prefix.casefold() else -3.0


def test_retrieve_by_a_plan_with_a_share_of_documents_shows_it_in_the_trace(tmp_path: Path) -> None:
    text = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]
    store, _ = publish(tmp_path, {"alder.pdf": text, "plum.pdf": text, "willow.pdf": text})
    model = FunctionModel(lambda request: "", score_with=likes_plums)
    trace = Trace()
    settings = SETTINGS.model_copy(update={"strategy": "likelihood"})
    found = retrieve("When is the fee paid?", store, model=model, settings=settings, trace=trace)
    assert found.pages[0].doc_id == "plum.pdf"
    step = next(step for step in trace.steps if step.name == "choose documents")
    assert step.details["judged by description"] == 3
    first = step.details["documents"][0]
    assert (first["doc_id"], first["model"]) == ("plum.pdf", 1.0)
    assert any("plum.pdf" in line and "model 1" in line for _, line in trace.outline())
    assert "3 documents judged by description" in read_search(trace.as_data(), "plum.pdf").facts


def test_retrieve_within_one_document_asks_nothing_about_descriptions(tmp_path: Path) -> None:
    text = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]
    store, _ = publish(tmp_path, {"alder.pdf": text, "plum.pdf": text})
    model = FunctionModel(lambda request: "", score_with=likes_plums)
    trace = Trace()
    settings = SETTINGS.model_copy(update={"strategy": "likelihood"})
    retrieve("When is the fee paid?", store, doc_ids=["alder.pdf"], model=model, settings=settings, trace=trace)
    step = next(step for step in trace.steps if step.name == "choose documents")
    assert "judged by description" not in step.details


def test_measure_model_gives_descriptions_a_share_only_where_they_help(tmp_path: Path) -> None:
    """Twins that full text cannot tell apart: a model that knows better earns a share, one that guesses none."""
    text = [Section(f"s{n}", f"Chapter {n}", [f"Rule {n} binds every keeper of the tall lantern."]) for n in range(6)]
    store, release = publish(tmp_path, {"alder.pdf": text, "plum.pdf": text})
    knows = FunctionModel(lambda request: "", score_with=likes_plums)
    guesses = FunctionModel(lambda request: "", score_with=lambda request: -1.0)
    measured = measure_model(store, release, knows, SETTINGS, samples=8, seed=1)
    by_share = {choice.share: choice.score for choice in measured.documents_tried}
    # Half of the places are in each twin, and ties count against the right one.
    assert by_share[1.0] == pytest.approx((1 + 1 / 2) / 2)
    assert by_share[0.0] == pytest.approx(1 / 2)
    assert measured.document_share > 0
    assert measure_model(store, release, guesses, SETTINGS, samples=8, seed=1).document_share == 0
    write_calibration(store, release, measured)
    trace = Trace()
    retrieve("Which rule binds the keeper?", store, model=knows, settings=SETTINGS, trace=trace)
    chosen = next(step for step in trace.steps if step.name == "choose a strategy")
    assert chosen.details["model's share of documents"] == measured.document_share


def test_retrieve_by_choice_lets_a_model_pick_from_labelled_documents(tmp_path: Path) -> None:
    text = [Section("fee", "Fees", ["The fee is paid monthly.", *filler("fee")])]
    store, _ = publish(tmp_path, {"alder.pdf": text, "plum.pdf": text, "willow.pdf": text})
    asked: list[str] = []

    def pick(request: GenerationRequest) -> str:
        asked.append(request.user)
        lines = request.user.splitlines()
        return next(line[0] for line in lines if "plum" in line or line.endswith("None of these"))

    model = FunctionModel(pick, capabilities=frozenset({Capability.GRAMMAR}))
    settings = SETTINGS.model_copy(update={"strategy": "choice"})
    found = retrieve("When is the fee paid?", store, model=model, settings=settings)
    assert found.pages[0].doc_id == "plum.pdf"
    assert asked[0].startswith("Documents:\nA. ")
    assert "Which document holds the answer?" in asked[0]
