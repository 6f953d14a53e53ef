"""A hundred real SIGKILLs of a publisher that also collects garbage, beside a reader that never sees anything torn."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pageindex_local.errors import IndexNotFoundError
from pageindex_local.store.gc import apply_gc
from pageindex_local.store.verify import verify_index
from tests.store_samples import make_store, publish_sections, sample_sections

KILLS = 100


class Reader(threading.Thread):
    """Reads the live release over and over: both documents bear its mark, and releases never go back."""

    def __init__(self, root: Path) -> None:
        super().__init__(daemon=True)
        self.store = make_store(root)
        self.stopped = threading.Event()
        self.reads = 0
        self.problems: list[str] = []
        self.last = 0

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                self.read()
            except Exception as error:  # noqa: BLE001 - whatever it is, the test reports it
                self.problems.append(repr(error))

    def read(self) -> None:
        release = self.store.current()
        if release is None:
            return
        with self.store.lease(release):
            marks = {
                self.store.open_document(release, key).pages()[0].text.partition("edition ")[2].partition(".")[0]
                for key in release.documents
            }
        if len(marks) != 1 or int(release.name) < self.last:
            self.problems.append(f"release {release.name} after {self.last} bears the marks {sorted(marks)}")
        self.last = int(release.name)
        self.reads += 1


def time_of_a_release(root: Path) -> float:
    """How long the publisher takes for one release on this machine today, in seconds; at most a quarter."""
    store = make_store(root)
    times: list[float] = []
    while len(times) < 2:
        started = time.monotonic()
        before = store.current()
        while store.current() == before:
            time.sleep(0.002)
            assert time.monotonic() - started < 60
        times.append(time.monotonic() - started)
    return min(times[-1], 0.25)


@pytest.mark.slow
def test_kill_publisher_a_hundred_times_reader_sees_whole_releases_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lot = random.Random(20)
    publisher = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.publisher", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert publisher.stdin is not None
    assert publisher.stdout is not None
    reader = Reader(tmp_path)
    reader.start()
    try:
        pace = 0.0
        for _ in range(KILLS):
            publisher.stdin.write("\n")
            publisher.stdin.flush()
            child = int(publisher.stdout.readline())
            if not pace:
                pace = time_of_a_release(tmp_path)
            time.sleep(lot.uniform(0.0, 2 * pace))
            os.kill(child, signal.SIGKILL)
    finally:
        publisher.stdin.close()
        publisher.wait(timeout=30)
        publisher.stdout.close()
        reader.stopped.set()
        reader.join(timeout=30)

    store = make_store(tmp_path, lock_timeout_s=5)
    report = verify_index(store, deep=True)
    last = int(store.require_current().name)
    with capsys.disabled():
        sys.stdout.write(f" [{KILLS} kills, {last} releases published, {reader.reads} reads]")
    assert reader.problems == []
    assert report.problems == ()
    assert reader.reads > KILLS / 2
    assert last >= 3, "hardly anything was published between the kills"
    publish_sections(store, sample_sections("after"))
    assert int(store.require_current().name) > last


def test_release_that_gc_collected_is_a_clear_error(tmp_path: Path) -> None:
    store = make_store(tmp_path)
    publish_sections(store, sample_sections("one"))
    old = store.require_current()
    publish_sections(store, sample_sections("two"))
    apply_gc(store, keep_releases=1)

    with pytest.raises(IndexNotFoundError):
        store.release(old.name)
