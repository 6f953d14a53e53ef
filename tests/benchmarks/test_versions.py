"""The claims about ids on real version series; the whole table is printed by `python -m tests.benchmarks.versions`."""

from pathlib import Path

import pytest

from tests.benchmarks.versions import SERIES, TRUTHS, Truth, iter_pairs, judge, measure


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("series", SERIES)
def test_carry_real_series_keeps_the_id_of_every_unchanged_section(shared_data: Path, series: str) -> None:
    pairs = list(iter_pairs(shared_data / "versions", series))

    assert len(pairs) == 9
    for pair in pairs:
        row = measure(pair)
        assert row.kept == row.unchanged, f"{series} {pair.old_name} > {pair.new_name}"
        assert row.unchanged > 0


@pytest.mark.data
@pytest.mark.parametrize("truth", TRUTHS, ids=lambda truth: truth.series)
def test_carry_pair_known_by_hand_loses_few_ids_and_gives_none_away(shared_data: Path, truth: Truth) -> None:
    pair = next(pair for pair in iter_pairs(shared_data / "versions", truth.series) if pair.new_name == truth.new)

    changed, lost, wrong = judge(pair, truth)

    assert changed > 10
    assert wrong == []
    assert len(lost) <= 0.05 * changed, lost
