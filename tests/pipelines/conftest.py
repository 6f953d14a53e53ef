"""What the Dagster tests share: a folder of documents, a collection beside it, and a watch on the network."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from pageindex_local.llm.lazy import open_lazily
from pageindex_local.planning import Scope
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pipelines.resources import Workspace, WorkspaceSettings
from tests.network_guard import GUARD

PARAGRAPH = "The {0} of the harbour is {0} for all ships, and whoever is late for the {0} pays {1} crowns at the gate. "


def write_document(path: Path, title: str, sections: int = 4) -> None:
    """A Markdown document with long enough sections that the model is asked about each."""
    rules = (
        f"## Rule {number} of {title}\n\n{PARAGRAPH.format(f'rule{number}', 10 + number) * 3}\n"
        for number in range(sections)
    )
    path.write_text("\n".join([f"# {title}\n", *rules]), encoding="utf-8")


@pytest.fixture(autouse=True)
def offline() -> Iterator[None]:
    GUARD.attempts.clear()
    GUARD.is_on = True
    yield
    GUARD.is_on = False
    assert not GUARD.attempts, f"the network was asked for: {GUARD.attempts}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    root.mkdir()
    write_document(root / "tides.md", "Tides")
    write_document(root / "winds.md", "Winds")
    return root


@pytest.fixture
def settings() -> Settings:
    return read_settings(None, {"model": {"name": "fake"}})


def open_workspace_in(index: Path, folder: Path, settings: Settings) -> Workspace:
    store = IndexStore(index, "default", settings.store)
    model = open_lazily(settings.model, store.layout.work / "completions.sqlite")
    return Workspace(store, settings, model, Scope((folder,)))


@pytest.fixture
def workspace(tmp_path: Path, folder: Path, settings: Settings) -> Workspace:
    return open_workspace_in(tmp_path / "index", folder, settings)


@pytest.fixture
def workspace_settings(tmp_path: Path, folder: Path) -> WorkspaceSettings:
    return WorkspaceSettings(sources=str(folder), index=str(tmp_path / "index"), model="fake")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance
