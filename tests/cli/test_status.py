from pathlib import Path

from tests.cli.conftest import Runner
from tests.unit.test_build_by_model import numbered_text


def test_status_lists_documents_of_the_current_release(run: Runner, build: Runner, index: Path) -> None:
    build()
    result = run("status", "--index", index, "--json").json
    (collection,) = result["collections"]
    assert (collection["name"], collection["release"], collection["releases"]) == ("default", "000001", 1)
    assert [document["doc_id"] for document in collection["documents"]] == ["guide.md", "yard/crane.md"]
    on_disk = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
    assert collection["size_bytes"] == on_disk


def test_status_text_fits_eighty_columns(run: Runner, build: Runner, index: Path) -> None:
    build()
    done = run("status", "--index", index)
    assert done.code == 0
    assert "yard/crane.md" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines()[1:])


def test_status_shows_all_collections(run: Runner, build: Runner, index: Path) -> None:
    build()
    build("--collection", "second")
    names = [entry["name"] for entry in run("status", "--index", index, "--json").json["collections"]]
    assert names == ["default", "second"]


def test_status_of_missing_index_exits_6(run: Runner, tmp_path: Path) -> None:
    done = run("status", "--index", tmp_path / "nowhere")
    assert done.code == 6
    assert "nowhere" in done.err


def test_status_says_where_a_model_was_not_believed(run: Runner, build: Runner, folder: Path, index: Path) -> None:
    (folder / "rules.txt").write_text(numbered_text(20), encoding="utf-8")
    build("--strategy", "model")
    documents = run("status", "--index", index, "--json").json["collections"][0]["documents"]
    by_name = {document["doc_id"]: document["warnings"] for document in documents}
    assert by_name["guide.md"] == []
    (warning,) = by_name["rules.txt"]
    assert "headings come from the evidence alone" in warning
    assert "rules.txt: lines 1-" in run("status", "--index", index).out
