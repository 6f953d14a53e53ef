from pathlib import Path

import pytest

from tests.contract.media import BUCKETS, MAKERS, Disk, Place, local, memory


@pytest.fixture(params=list(MAKERS))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return MAKERS[request.param](tmp_path, request)


@pytest.fixture(params=["local", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    return (local if request.param == "local" else memory)(tmp_path, request)


@pytest.fixture(params=BUCKETS)
def bucket(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return MAKERS[request.param](tmp_path, request)
