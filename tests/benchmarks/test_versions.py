"""The claims about ids and calls on real version series; `python -m tests.benchmarks.versions` prints all of them."""

from functools import cache
from pathlib import Path

import pytest

from tests.benchmarks.version_cost import STRENGTHS, iter_costs
from tests.benchmarks.versions import SERIES, TRUTHS, Pair, Truth, iter_pairs, judge, measure


@cache
def read_series(data: Path, series: str) -> tuple[Pair, ...]:
    """All pairs of a series; two tests look at them."""
    return tuple(iter_pairs(data, series))


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_carry_real_series_keeps_the_id_of_every_unchanged_section(shared_data: Path, series: str) -> None:
    pairs = read_series(shared_data / "versions", series)

    assert len(pairs) == 9
    for pair in pairs:
        row = measure(pair)
        assert row.kept == row.unchanged, f"{series} {pair.old_name} > {pair.new_name}"
        assert row.unchanged > 0


@pytest.mark.data
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.series)
def test_carry_pair_known_by_hand_loses_few_ids_and_gives_none_away(shared_data: Path, truth: Truth) -> None:
    pairs = read_series(shared_data / "versions", truth.series)
    pair = next(pair for pair in pairs if pair.new_name == truth.new)

    changed, lost, wrong = judge(pair, truth)

    assert changed > 10
    assert wrong == []
    assert len(lost) <= 0.05 * changed, lost


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("strength", STRENGTHS)
def test_rebuild_commits_asks_for_what_changed_and_no_more(shared_data: Path, tmp_path: Path, strength: str) -> None:
    rows = list(iter_costs(shared_data / "versions", "commonmark-commits", strength, tmp_path))

    assert len(rows) == 9
    for row in rows:
        assert row.needed_calls <= row.rebuild_calls <= 1.1 * row.needed_calls
        assert row.rebuild_calls < 0.1 * row.full_calls
        assert row.same_tree
