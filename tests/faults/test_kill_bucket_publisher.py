"""Real SIGKILLs of a publisher whose puts are under way to a real server, beside a reader: whole releases only."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pageindex_local.store.index import IndexStore
from pageindex_local.store.places import read_place
from pageindex_local.store.verify import verify_index
from tests.store_samples import publish_sections, sample_sections, store_settings

if TYPE_CHECKING:
    from tests.s3_server import S3Server

KILLS = 8


def count_puts(server: "S3Server") -> int:
    """The publisher's puts so far. A release of two documents takes a dozen, after four that try the service."""
    return sum(method == "PUT" and "/leases/" not in path for method, path in list(server.requests))


@pytest.mark.slow
@pytest.mark.parametrize("service", ["s3", "google"])
def test_kill_publisher_of_a_bucket_reader_sees_whole_releases_only(
    service: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    server: S3Server = request.getfixturevalue(f"{service}_server")
    place: str = request.getfixturevalue(f"{service}_place")
    lot = random.Random(20)
    store = IndexStore(read_place(place), "main", store_settings(lock_timeout_s=20))
    publisher = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.publisher", place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert publisher.stdin is not None
    assert publisher.stdout is not None
    stopped = threading.Event()
    problems: list[str] = []
    reads = 0

    def read() -> None:
        nonlocal reads
        reader = IndexStore(read_place(place), "main", store_settings())
        while not stopped.is_set():
            release = reader.current()
            if release is None:
                time.sleep(0.05)
                continue
            with reader.lease(release):
                pages = [reader.open_document(release, key).pages()[0] for key in release.documents]
            marks = {page.text.partition("edition ")[2].partition(".")[0] for page in pages}
            if len(marks) != 1:
                problems.append(f"release {release.name} bears the marks {sorted(marks)}")
            reads += 1
            time.sleep(0.05)  # the server answers one at a time: leave some to the publisher

    def read_and_tell() -> None:
        try:
            read()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test reports it
            problems.append(repr(error))

    thread = threading.Thread(target=read_and_tell, daemon=True)
    thread.start()
    try:
        for _ in range(KILLS):
            publisher.stdin.write("\n")
            publisher.stdin.flush()
            child = int(publisher.stdout.readline())
            # Die after some number of puts: that is where it hurts, however busy the machine is.
            wanted = count_puts(server) + lot.randint(5, 45)
            give_up = time.monotonic() + 20
            while count_puts(server) < wanted and time.monotonic() < give_up:
                time.sleep(0.002)
            os.kill(child, signal.SIGKILL)
    finally:
        publisher.stdin.close()
        publisher.wait(timeout=30)
        publisher.stdout.close()
        stopped.set()
        thread.join(timeout=30)

    report = verify_index(store, deep=True)
    last = int(store.require_current().name)
    with capsys.disabled():
        sys.stdout.write(f" [{KILLS} kills, {last} releases published, {reads} reads]")
    assert problems == []
    assert report.problems == ()
    assert reads > 0
    assert last >= 3, "hardly anything was published between the kills"
    publish_sections(store, sample_sections("after"))
    assert int(store.require_current().name) > last
