import pytest

from pageindex_local.evaluate.structure import Entry, match_entries, mean_scores, score_structure

GOLD = [Entry(1, "1 Scope", 1), Entry(2, "1.1 Words", 2), Entry(1, "2 Uses", 5)]


def test_score_when_trees_are_equal_is_one() -> None:
    score = score_structure(GOLD, GOLD)
    assert (score.precision, score.recall, score.f1, score.page_exact, score.parent) == (1, 1, 1, 1, 1)


def test_score_when_numbers_and_case_differ_still_matches() -> None:
    predicted = [Entry(1, "SCOPE", 1), Entry(2, "Words", 2), Entry(1, "Chapter 2 Uses", 5)]
    assert score_structure(GOLD, predicted).f1 == 1


def test_score_when_a_page_is_beside_matches_but_is_not_exact() -> None:
    predicted = [Entry(1, "Scope", 1), Entry(2, "Words", 3), Entry(1, "Uses", 5)]
    score = score_structure(GOLD, predicted)
    assert score.f1 == 1
    assert score.page_exact == pytest.approx(2 / 3)


def test_score_when_a_page_is_two_away_does_not_match() -> None:
    assert score_structure(GOLD[:1], [Entry(1, "Scope", 3)]).matched_count == 0


def test_score_when_levels_differ_counts_the_parent() -> None:
    predicted = [Entry(1, "Scope", 1), Entry(1, "Words", 2), Entry(1, "Uses", 5)]
    assert score_structure(GOLD, predicted).parent == pytest.approx(2 / 3)


def test_score_when_entries_are_extra_lowers_precision_alone() -> None:
    score = score_structure(GOLD, [*GOLD, Entry(1, "Appendix", 9)])
    assert (score.precision, score.recall) == (0.75, 1.0)


def test_score_when_nothing_is_predicted_is_zero() -> None:
    assert score_structure(GOLD, []).f1 == 0


def test_match_keeps_the_order_of_both_lists() -> None:
    predicted = [Entry(1, "Uses", 5), Entry(1, "Scope", 1), Entry(1, "Words", 2)]
    assert match_entries(GOLD, predicted) == [(0, 1), (1, 2)]


def test_mean_scores_weigh_files_equally() -> None:
    perfect, empty = score_structure(GOLD, GOLD), score_structure(GOLD[:1], [])
    assert mean_scores([perfect, empty])["f1"] == 0.5
