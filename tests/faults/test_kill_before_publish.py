"""SIGKILL after versions were written and before they are published: the next build publishes them, asking no model."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from tests.cli.conftest import GUIDE, NOTES, Runner

_KILLED = """
import os, signal, sys
from pageindex_local.store.index import IndexStore
def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)
IndexStore.publish = die
from pageindex_local.cli import main
main()
"""


def _arguments(folder: Path, index: Path) -> list[str]:
    return ["build", str(folder), "--index", str(index), "--model", "fake", "--no-dagster", "--json"]


def _kill_before_publish(folder: Path, index: Path) -> None:
    command = [sys.executable, "-c", _KILLED, *_arguments(folder, index)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL, done.stderr


def _versions(index: Path) -> dict[str, int]:
    return {
        f"{path.parent.parent.name}/{path.name}": (path / "manifest.json").stat().st_ino
        for path in index.glob("default/documents/*/versions/*")
    }


def _store(index: Path) -> IndexStore:
    return IndexStore(index, "default", read_settings().store)


def test_build_after_a_kill_before_the_first_publication_publishes_what_was_written(
    run: Runner, folder: Path, index: Path, tmp_path: Path
) -> None:
    _kill_before_publish(folder, index)
    written = _versions(index)
    assert len(written) == 2
    assert _store(index).current() is None

    done = run(*_arguments(folder, index))

    assert done.code == 0
    assert _versions(index) == written
    assert [(document["version"], document["model_calls"]) for document in done.json["documents"]] == [
        ("v000001", 0),
        ("v000001", 0),
    ]
    assert all(document["changed"] and document["cached_calls"] == 0 for document in done.json["documents"])
    undisturbed = tmp_path / "undisturbed"
    run(*_arguments(folder, undisturbed))
    for doc_key in _store(index).require_current().documents:
        one, other = (_store(place).open_version(doc_key, "v000001").manifest for place in (index, undisturbed))
        assert one.content_hash == other.content_hash


def test_build_after_a_kill_publishes_the_changed_document_and_keeps_its_ids(
    run: Runner, folder: Path, index: Path
) -> None:
    before = run(*_arguments(folder, index))
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    _kill_before_publish(folder, index)
    written = _versions(index)
    assert len(written) == 3
    assert _store(index).require_current().name == before.json["release"]

    done = run(*_arguments(folder, index))

    guide = next(document for document in done.json["documents"] if document["doc_id"] == "guide.md")
    assert (guide["version"], guide["model_calls"], guide["cached_calls"]) == ("v000002", 0, 0)
    # Not rebuilt: pilots, reductions, waste, and what stands before the first section.
    assert guide["nodes_reused"] >= 4
    assert _versions(index) == written


def test_build_after_a_kill_and_another_edit_builds_again(run: Runner, folder: Path, index: Path) -> None:
    run(*_arguments(folder, index))
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "ten crowns"), encoding="utf-8")
    _kill_before_publish(folder, index)
    (folder / "guide.md").write_text(GUIDE.replace("nine crowns", "eleven crowns"), encoding="utf-8")

    done = run(*_arguments(folder, index))

    guide = next(document for document in done.json["documents"] if document["doc_id"] == "guide.md")
    assert guide["version"] == "v000003"
    store = _store(index)
    found = store.require_current().find("guide.md")
    assert found is not None
    version = store.open_document(store.require_current(), found[0])
    assert version.manifest.parent_version == "v000001"
    assert any("eleven crowns" in page.text for page in version.pages())


def test_build_after_a_kill_with_a_damaged_version_builds_again(run: Runner, folder: Path, index: Path) -> None:
    run(*_arguments(folder, index))
    (folder / "yard" / "crane.md").write_text(NOTES.replace("Monday", "Friday"), encoding="utf-8")
    _kill_before_publish(folder, index)
    damaged = next(path for path in index.glob("default/documents/*/versions/v000002"))
    (damaged / "pages.parquet").write_bytes(b"PAR1")

    done = run(*_arguments(folder, index))

    crane = next(document for document in done.json["documents"] if document["doc_id"] == "yard/crane.md")
    assert (crane["version"], crane["error"]) == ("v000003", None)
