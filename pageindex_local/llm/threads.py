"""How many threads are worth starting: what the system says of its processors in, a number out.

Two threads on one physical core share its vector units, so a model gains nothing from the second.
"""

import math
import os
from pathlib import Path

CPU_FOLDER = Path("/sys/devices/system/cpu")
CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def count_physical_cores(cpu_folder: Path = CPU_FOLDER, cpu_quota: Path = CPU_QUOTA) -> int:
    """Physical cores this process may use: its affinity, without sibling threads, within the container's quota."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    cores = {_siblings(cpu_folder, cpu) for cpu in usable}
    quota = _quota(cpu_quota)
    return max(1, min(len(cores), quota) if quota else len(cores))


def _siblings(cpu_folder: Path, cpu: int) -> str:
    try:
        return (cpu_folder / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _quota(cpu_quota: Path) -> int:
    try:
        allowed, period = cpu_quota.read_text().split()
        return math.ceil(int(allowed) / int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return 0
