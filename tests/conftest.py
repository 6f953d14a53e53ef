"""What every test may ask for: the shared benchmark data and a quiet, offline process."""

import os
from pathlib import Path

import pytest

# Set before any test module imports the libraries that read them.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")

_SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of benchmark data beside the checkout; skips where it is missing."""
    if not _SHARED_DATA.is_dir():
        pytest.skip(f"no benchmark data beside this checkout (looked for ../shared/data at {_SHARED_DATA.parent.name})")
    return _SHARED_DATA
