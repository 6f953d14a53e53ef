"""A section corrected from the command line, the ways in which that is refused, and what later builds make of it."""

from pathlib import Path

import pytest

from tests.cli.conftest import GUIDE, Runner


@pytest.fixture
def on_index(run: Runner, build: Runner, index: Path) -> Runner:
    build()
    return lambda *arguments, **given: run(*arguments, "--index", index, **given)


@pytest.fixture
def fees(on_index: Runner) -> str:
    """The id of the section `Fees`, which has a section in it."""
    return node_id(on_index, "Fees", "section")


def node_id(on_index: Runner, title: str, kind: str) -> str:
    nodes = on_index("tree", "guide.md", "--json").json["nodes"]
    return next(str(node["node_id"]) for node in nodes if (node["title"], node["kind"]) == (title, kind))


@pytest.fixture
def corrected(on_index: Runner, fees: str, tmp_path: Path) -> Path:
    """A file with the text of `Fees` after a correction."""
    file = tmp_path / "fees.md"
    text = on_index("resolve", fees, "--text").out
    assert text == GUIDE[GUIDE.index("## Fees") : GUIDE.index("## Waste")].strip() + "\n"
    file.write_text(text.replace("nine crowns", "eleven crowns"), encoding="utf-8")
    return file


def test_replace_publishes_a_version_that_answers(on_index: Runner, fees: str, corrected: Path) -> None:
    done = on_index("replace", fees, "--from", corrected, "--model", "fake", "--json")
    assert done.code == 0
    assert (done.json["doc_id"], done.json["version"], done.json["release"]) == ("guide.md", "v000002", "000002")
    assert (done.json["changed"], done.json["nodes"]) == (True, 7)
    asked = on_index("ask", "How much is the fee for one night?", "--no-model", "--json").json
    assert any("eleven crowns" in citation["quote"] for citation in asked["citations"])
    (entry, _) = on_index("release", "list", "--json").json["releases"]
    assert entry["reason"] == f"replace {fees} in guide.md"
    assert on_index("history", "guide.md", "--json").json["versions"][1]["replaced_by_hand"] == [fees]


def test_replace_takes_the_document_before_the_node(on_index: Runner, fees: str, corrected: Path) -> None:
    assert on_index("replace", "guide.md", fees, "--from", corrected, "--model", "fake").code == 0
    done = on_index("replace", "yard/crane.md", fees, "--from", corrected, "--model", "fake")
    assert done.code == 6
    assert fees in done.err


def test_replace_tells_what_changed_within_eighty_columns(on_index: Runner, fees: str, corrected: Path) -> None:
    done = on_index("replace", fees, "--from", corrected, "--model", "fake")
    first, *rest = done.out.splitlines()
    assert first.startswith("guide.md: v000002 in new release 000002; ")
    assert all(len(line) <= 80 for line in rest)
    assert any(line.startswith("~ Fees (introduction)  [") and line.endswith("edited") for line in rest)


def test_dry_run_shows_it_and_writes_nothing(on_index: Runner, fees: str, corrected: Path, index: Path) -> None:
    before = sorted(index.rglob("*"))
    done = on_index("replace", fees, "--from", corrected, "--model", "fake", "--dry-run", "--json")
    assert (done.code, done.json["changed"], done.json["release"]) == (0, True, None)
    assert [change["kinds"] for change in done.json["changes"]["changed"]][-1][0] == "edited"
    assert sorted(index.rglob("*")) == before


def test_replace_by_the_same_text_publishes_nothing(on_index: Runner, fees: str, tmp_path: Path) -> None:
    file = tmp_path / "same.md"
    file.write_text(on_index("resolve", fees, "--text").out, encoding="utf-8")
    done = on_index("replace", fees, "--from", file, "--model", "fake", "--json")
    assert (done.code, done.json["changed"], done.json["version"]) == (0, False, "v000001")
    assert len(on_index("release", "list", "--json").json["releases"]) == 1


def test_replace_reads_standard_input(on_index: Runner, fees: str) -> None:
    given = "## Fees\n\nNothing is paid on the first day of the year by anybody.\n"
    assert on_index("replace", fees, "--from", "-", "--model", "fake", stdin=given.encode()).code == 0
    assert on_index("resolve", fees, "--text").out == given


def test_build_of_the_unchanged_source_keeps_the_correction(
    on_index: Runner, build: Runner, fees: str, corrected: Path
) -> None:
    on_index("replace", fees, "--from", corrected, "--model", "fake")
    assert build("--check").code == 0
    assert "eleven crowns" in on_index("resolve", fees, "--text").out
    build("--force")
    assert "eleven crowns" in on_index("resolve", fees, "--text").out


def test_build_after_an_edit_elsewhere_keeps_it_and_of_the_section_gives_it_up_aloud(
    on_index: Runner, build: Runner, folder: Path, fees: str, corrected: Path
) -> None:
    on_index("replace", fees, "--from", corrected, "--model", "fake")
    text = GUIDE.replace("forty metres", "fifty metres")
    (folder / "guide.md").write_text(text, encoding="utf-8")
    done = build()
    assert "by hand" not in done.err
    assert "eleven crowns" in on_index("resolve", fees, "--text").out
    (folder / "guide.md").write_text(text.replace("nine crowns", "ten crowns"), encoding="utf-8")
    done = build()
    assert "The correction of “Fees” made by hand in v000002 is no longer in use" in done.err
    assert "ten crowns" in on_index("resolve", fees, "--text").out


def test_restore_takes_a_correction_back(on_index: Runner, fees: str, corrected: Path) -> None:
    on_index("replace", fees, "--from", corrected, "--model", "fake")
    done = on_index("replace", fees, "--restore", "--model", "fake", "--json")
    assert (done.code, done.json["version"]) == (0, "v000003")
    assert "nine crowns" in on_index("resolve", fees, "--text").out
    assert on_index("replace", fees, "--restore", "--model", "fake").code == 3


def test_index_built_without_a_model_is_corrected_without_one(
    run: Runner, folder: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("build", folder, "--index", index, "--no-dagster", "--summaries", "extractive", "--strategy", "outline")
    monkeypatch.setattr("pageindex_local.llm.lazy.open_model", None)
    nodes = run("tree", "guide.md", "--json", "--index", index).json["nodes"]
    waste = next(node["node_id"] for node in nodes if node["title"] == "Waste")
    file = tmp_path / "waste.md"
    file.write_text("Everything is poured into the green barrel, and the barrel is emptied once a week. " * 5)
    done = run("replace", waste, "--from", file, "--index", index, "--json")
    assert (done.code, done.json["model_calls"]) == (0, 0)
    again = run(*("build", folder, "--index", index, "--check", "--summaries", "extractive", "--strategy", "outline"))
    assert again.code == 0


def test_unknown_ids_are_refused_and_ended_ones_say_what_became_of_them(
    on_index: Runner, build: Runner, folder: Path, corrected: Path
) -> None:
    waste = node_id(on_index, "Waste", "section")
    (folder / "guide.md").write_text(GUIDE[: GUIDE.index("## Waste")], encoding="utf-8")
    build()
    done = on_index("replace", waste, "--from", corrected, "--model", "fake")
    assert done.code == 6
    assert "“Waste” was removed in v000002 of guide.md" in done.err
    done = on_index("replace", "naaaaaaaaaaaaa", "--from", corrected, "--model", "fake", "--json")
    assert done.code == 6
    assert done.json["error"]["subject"] == "naaaaaaaaaaaaa"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no bytes"),
        (b" \n \n", "no text"),
        (b"%PDF-1.7\n", "is a PDF"),
        (b"PK\x03\x04....", "zip archive"),
        (b"# Fees\n\nText.\n", "level 1"),
        (b"## Fees\n\nText.\n\n## More\n\nText.\n", "outside of this one"),
    ],
)
def test_file_that_is_no_replacement_is_refused(
    on_index: Runner, fees: str, tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "new.md"
    file.write_bytes(content)
    done = on_index("replace", fees, "--from", file, "--model", "fake")
    assert done.code == 3
    assert said in done.err
    assert len(done.err.splitlines()) <= 2
    assert on_index("replace", fees, "--from", tmp_path / "nowhere.md", "--model", "fake").code == 3


@pytest.mark.parametrize("options", [(), ("--restore", "--from", "x.md"), ("--from", "x.md", "more", "names")])
def test_replace_without_one_clear_order_exits_2(on_index: Runner, fees: str, options: tuple[str, ...]) -> None:
    done = on_index("replace", fees, *options)
    assert done.code == 2
    assert done.out == ""


def test_correction_inside_is_told_when_it_is_taken_up_and_when_it_comes_back(
    on_index: Runner, fees: str, corrected: Path, tmp_path: Path
) -> None:
    inner = node_id(on_index, "Reductions", "section")
    file = tmp_path / "reductions.md"
    file.write_text(on_index("resolve", inner, "--text").out.replace("half of", "a third of"), encoding="utf-8")
    assert on_index("replace", inner, "--from", file, "--model", "fake").err == ""

    name = {"node_id": inner, "title": "Reductions", "made_in": "v000002"}
    tried = on_index("replace", fees, "--from", corrected, "--model", "fake", "--dry-run", "--json").json
    assert (tried["took_up"], tried["brought_back"]) == ([name], [])
    done = on_index("replace", fees, "--from", corrected, "--model", "fake")
    assert done.code == 0
    assert f"The correction of “Reductions” ({inner}, made in v000002) lies inside" in done.err
    assert on_index("resolve", inner, "--text").out.count("half of") == 1

    back = on_index("replace", fees, "--restore", "--model", "fake", "--json").json
    assert (back["took_up"], back["brought_back"]) == ([], [name])
    assert on_index("resolve", inner, "--text").out == file.read_text(encoding="utf-8")
    assert "nine crowns" in on_index("resolve", fees, "--text").out
