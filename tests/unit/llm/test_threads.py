"""Cores counted from the files the system describes them in."""

import os
from pathlib import Path

from pageindex_local.llm.threads import count_physical_cores


def _write_cpus(folder: Path, siblings: str) -> None:
    for cpu in os.sched_getaffinity(0):
        topology = folder / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(siblings or str(cpu))


def test_count_sibling_threads_of_one_core_is_one(tmp_path: Path) -> None:
    _write_cpus(tmp_path, "0-63")
    assert count_physical_cores(tmp_path, tmp_path / "no quota") == 1


def test_count_separate_cores_is_all_this_process_may_use(tmp_path: Path) -> None:
    _write_cpus(tmp_path, "")
    assert count_physical_cores(tmp_path, tmp_path / "no quota") == len(os.sched_getaffinity(0))


def test_count_without_any_description_is_all_this_process_may_use(tmp_path: Path) -> None:
    assert count_physical_cores(tmp_path, tmp_path / "no quota") == len(os.sched_getaffinity(0))


def test_count_quota_of_a_container_is_the_upper_bound(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("50000 100000\n")
    assert count_physical_cores(tmp_path, quota) == 1
    quota.write_text("max 100000\n")
    assert count_physical_cores(tmp_path, quota) == len(os.sched_getaffinity(0))
