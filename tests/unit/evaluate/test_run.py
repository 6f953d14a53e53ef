from pathlib import Path

import pytest

from pageindex_local.errors import SettingsError
from pageindex_local.evaluate.compare import compare_runs, find_missed, read_thresholds, sign_test
from pageindex_local.evaluate.questions import EvidenceQuestion
from pageindex_local.evaluate.records import Outcome, Run
from pageindex_local.evaluate.run import Subject, match_documents, run_questions, total_figures
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, filler, publish

SETTINGS = read_settings().query


def outcome(key: str, ranking: tuple[int, ...], gold: tuple[int, ...] = (3,), **changes: object) -> Outcome:
    fields = {"answerable": True, "document_first": True, "abstained": False, "evidence": 1.0, **changes}
    return Outcome.model_validate({"question_id": key, "ranking": ranking, "evidence_pages": gold, **fields})


def run_of(name: str, *outcomes: Outcome) -> Run:
    return Run(name=name, release="000001", model="", figures=total_figures(outcomes), outcomes=outcomes)


def test_run_questions_measures_a_real_index(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "yard/orchard.pdf": ORCHARD})
    version = store.open_document(release, next(k for k, e in release.documents.items() if e.doc_id == "harbour.pdf"))
    page = next(page.page_number for page in version.pages() if "45 crowns" in page.text)
    questions = [
        EvidenceQuestion(
            question_id="fee", question="How high is the mooring fee for a night?", doc_name="harbour",
            evidence_pages=(page,), answer="45 crowns",
        ),
        EvidenceQuestion(question_id="yeast", question="Which yeast raises sourdough bread?", answerable=False),
    ]  # fmt: skip
    run = run_questions(questions, Subject("A", store, release, SETTINGS), with_answers=True)
    values = run.figures.values
    assert (values["recall@1"], values["mrr"], values["document_first"]) == (1.0, 1.0, 1.0)
    assert (values["citations"], values["answers"], values["refused"], values["caught"]) == (1.0, 1.0, 0.0, 1.0)
    assert values["calls"] == 0
    assert [o.question_id for o in run.outcomes] == ["fee", "yeast"]


def test_match_documents_by_id_name_or_stem_and_never_by_guess(tmp_path: Path) -> None:
    same = [Section("s", "Fees", filler("fee"))]
    _, release = publish(tmp_path, {"a/rules.pdf": same, "b/rules.pdf": same, "one.pdf": same})

    def match(name: str) -> str:
        question = EvidenceQuestion(question_id="q", question="?", doc_name=name, evidence_pages=(1,))
        return match_documents([question], release)["q"]

    assert match("one") == match("one.pdf") == "one.pdf"
    assert match("a/rules") == "a/rules.pdf"
    with pytest.raises(SettingsError, match="several"):
        match("rules")
    with pytest.raises(SettingsError, match="question q"):
        match("two")


def test_total_figures_counts_pages_of_other_documents_as_misses() -> None:
    figures = total_figures([outcome("a", (0, 0, 3)), outcome("b", (3,)), outcome("c", (), answered_right=False)])
    assert figures.values["recall@1"] == pytest.approx(1 / 3)
    assert figures.values["recall@3"] == pytest.approx(2 / 3)
    assert figures.values["mrr"] == pytest.approx((1 / 3 + 1) / 3)
    assert figures.values["answers"] == 0.0
    assert figures.values["caught"] is None


def test_compare_runs_pairs_the_questions() -> None:
    first = run_of("A", outcome("same", (3,)), outcome("worse", (3, 1)), outcome("found", (1, 2)))
    second = run_of("B", outcome("same", (3, 9)), outcome("worse", (1, 3)), outcome("found", (1, 3)))
    found = compare_runs(first, second)
    assert [(pair.question_id, pair.rank_a, pair.rank_b) for pair in found.won_by_b] == [("found", 0, 2)]
    assert [(pair.question_id, pair.rank_a, pair.rank_b) for pair in found.lost_by_b] == [("worse", 1, 2)]
    assert found.equal == 1


@pytest.mark.parametrize(
    ("wins", "losses", "chance"), [(0, 0, 1.0), (5, 5, 1.0), (5, 0, 2 / 32), (0, 5, 2 / 32), (9, 1, 22 / 1024)]
)
def test_sign_test_is_the_binomial_tail_twice(wins: int, losses: int, chance: float) -> None:
    assert sign_test(wins, losses) == pytest.approx(chance, abs=1e-4)


def test_find_missed_names_the_figure_and_what_was_asked() -> None:
    run = run_of("A", outcome("a", (3,)), outcome("b", (1,)))
    at_least = read_thresholds("--min", ["recall@5=0.6", "mrr=0.5", "caught=0.1"])
    missed = find_missed(run, at_least, read_thresholds("--max", ["refused=0.2"]))
    assert missed == [
        "recall@5 is 0.5, at least 0.6 was asked",
        "caught is not measured by these questions, at least 0.1 was asked",
    ]


@pytest.mark.parametrize("text", ["recall@5", "recall@5=many", "recall@7=0.5", "=1"])
def test_read_thresholds_of_another_form_is_an_error(text: str) -> None:
    with pytest.raises(SettingsError, match="--min"):
        read_thresholds("--min", [text])
