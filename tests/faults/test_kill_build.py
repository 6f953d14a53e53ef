"""SIGKILL in the middle of a build with the real model: the old release answers, finished work is kept."""

from pathlib import Path

import pytest

from tests.benchmarks.kill_build import run_kills


@pytest.mark.model
@pytest.mark.slow
def test_kill_build_with_calls_finished_keeps_the_old_release_and_asks_only_the_rest(tmp_path: Path) -> None:
    done = run_kills(tmp_path, kills=2, sections=16, seed=3, model="smollm2-135m-instruct", after_results=1)
    assert [kill for kill in done if not kill.holds] == []
    assert all(kill.finished_before_kill > 0 and not kill.was_published for kill in done)
    assert all(kill.asked_again < kill.needed for kill in done)


@pytest.mark.model
@pytest.mark.slow
def test_kill_build_at_random_moments_leaves_a_whole_release(tmp_path: Path) -> None:
    done = run_kills(tmp_path, kills=2, sections=8, seed=5, model="smollm2-135m-instruct")
    assert [kill for kill in done if not kill.holds] == []
