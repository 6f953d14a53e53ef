"""SIGKILL in the middle of a build with the real model: the old release answers, finished work is kept."""

from pathlib import Path

import pytest

from tests.benchmarks.kill_build import run_rounds


@pytest.mark.model
@pytest.mark.slow
def test_kill_build_at_random_moments_keeps_the_old_release_and_finished_calls(tmp_path: Path) -> None:
    rounds = run_rounds(tmp_path, kills=3, sections=8, seed=3, model="smollm2-135m-instruct")
    assert any(not row.build_was_over for row in rounds), "every build was over before its kill: nothing was tested"
    assert [row for row in rounds if not row.holds] == []
