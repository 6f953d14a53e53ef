"""Every command on an index in a bucket: servers on this machine, reached as any others through their addresses."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import GUIDE, NOTES, Run, Runner

if TYPE_CHECKING:
    from tests.s3_server import S3Server

QUESTION = "How much is the fee for one night?"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    (folder / "notes.md").write_text(NOTES)
    return folder


@pytest.fixture
def on(run: Runner, s3_server: "S3Server", s3_place: str) -> Runner:
    """Runs a command on the bucket."""
    return lambda *arguments, **rest: run(*arguments, "--index", s3_place, **rest)


@pytest.fixture(params=["s3_place", "google_place", "azure_place"])
def place(request: pytest.FixtureRequest) -> str:
    """A place at each service; Azure's where there is an emulator of it."""
    address: str = request.getfixturevalue(request.param)
    return address


def build(on: Callable[..., Run], sources: Path, *options: str) -> Run:
    return on("build", sources, "--summaries", "extractive", "--strategy", "layout", "--no-dagster", *options)


def test_every_command_works_on_a_bucket(run: Runner, place: str, sources: Path, tmp_path: Path) -> None:
    def on(*arguments: object) -> Run:
        return run(*arguments, "--index", place)

    assert build(on, sources, "--check").code == 10
    built = build(on, sources, "--json").json
    assert [(document["doc_id"], document["version"]) for document in built["documents"]] == [
        ("guide.md", "v000001"),
        ("notes.md", "v000001"),
    ]
    assert build(on, sources, "--check").code == 0

    found = on("retrieve", QUESTION, "--no-model", "--json").json
    assert found["pages"][0]["doc_id"] == "guide.md"
    answered = on("ask", QUESTION, "--no-model", "--json").json
    assert any("nine crowns" in citation["quote"] for citation in answered["citations"])

    (sources / "guide.md").write_text(GUIDE.replace("nine crowns", "twelve crowns"))
    again = build(on, sources, "--json").json
    assert again["release"] == "000002"
    assert {document["doc_id"]: document["changed"] for document in again["documents"]} == {
        "guide.md": True,
        "notes.md": False,
    }
    answered = on("ask", QUESTION, "--no-model", "--json").json
    assert any("twelve crowns" in citation["quote"] for citation in answered["citations"])
    older = on("ask", QUESTION, "--no-model", "--json", "--release", "1").json
    assert any("nine crowns" in citation["quote"] for citation in older["citations"])

    (status,) = on("status", "--json").json["collections"]
    assert (status["release"], status["releases"], len(status["documents"])) == ("000002", 2, 2)
    assert status["size_bytes"] > 10_000
    assert on("tree", "guide.md", "--json").code == 0
    assert len(on("history", "guide.md", "--json").json["versions"]) == 2
    assert "Fees" in on("diff", "guide.md", "v000001", "v000002").out

    assert on("release", "rollback", "1").code == 0
    answered = on("ask", QUESTION, "--no-model", "--json").json
    assert any("nine crowns" in citation["quote"] for citation in answered["citations"])

    (section,) = [row for row in on("tree", "notes.md", "--json").json["nodes"] if row["title"] == "Grease"]
    (tmp_path / "grease.md").write_text("## Grease\n\nUse no grease but graphite, as the maker of the crane says.\n")
    replaced = on("replace", section["node_id"], "--from", tmp_path / "grease.md", "--model", "fake", "--json")
    assert replaced.code == 0
    answered = on("ask", "Which grease?", "--no-model", "--json").json
    assert any("graphite" in citation["quote"] for citation in answered["citations"])
    assert on("verify", "--deep", "--json").json["clean"]

    planned = on("gc", "--keep", "1", "--json").json
    assert planned["applied"] is False
    assert on("gc", "--keep", "1", "--apply").code == 0
    assert on("verify", "--deep", "--json").json["clean"]

    bundle = tmp_path / "manuals.pil"
    exported = on("export", bundle, "--json").json
    elsewhere = place + "-copy"
    imported = run("import", bundle, "--index", elsewhere, "--root-hash", exported["root_hash"], "--json").json
    assert imported == exported
    assert run("verify", "--deep", "--index", elsewhere, "--json").json["clean"]
    answered = run("ask", QUESTION, "--no-model", "--json", "--index", elsewhere).json
    assert any("nine crowns" in citation["quote"] for citation in answered["citations"])


def test_evaluate_a_bucket_gives_figures_and_compares_releases(on: Runner, sources: Path, tmp_path: Path) -> None:
    build(on, sources)
    file = tmp_path / "questions.jsonl"
    # A Markdown document has one block a heading: "Fees" is the third of the guide.
    file.write_text(
        json.dumps({"question_id": "fee", "question": QUESTION, "doc_name": "guide", "evidence_pages": [3]}) + "\n"
    )

    first = on("evaluate", file, "--model", "fake", "--answers", "--json").json
    (sources / "guide.md").write_text(GUIDE.replace("The fee for one night", "What is asked for"))
    build(on, sources)
    second = on("evaluate", file, "--model", "fake", "--answers", "--json", "--against", "1").json

    values = first["runs"][0]["figures"]["values"]
    assert values["recall@1"] == values["citations"] == 1.0
    assert {run["release"] for run in second["runs"]} == {"000001", "000002"}
    assert second["comparison"] is not None


def test_calibrate_a_bucket_is_stored_there_and_followed(
    on: Runner, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(on, sources)
    trace = tmp_path / "trace.json"

    assert on("calibrate", "--model", "fake", "--samples", "5").code == 0

    monkeypatch.setenv("HOME", str(tmp_path / "another machine"))
    assert on("retrieve", QUESTION, "--model", "fake", "--trace", trace).code == 0
    (chosen,) = [step for step in json.loads(trace.read_text())["steps"] if step["name"] == "choose a strategy"]
    assert chosen["why"] == "measured on release 000001 with 5 samples"


def test_chat_on_a_bucket_answers_and_remembers(on: Runner, sources: Path, tmp_path: Path) -> None:
    build(on, sources)
    talk = tmp_path / "talk.jsonl"

    done = on(
        "chat", "--model", "fake", "--conversation", talk, stdin=f"{QUESTION}\nAnd for fishing boats?\n\n".encode()
    )

    assert done.code == 0
    assert "nine crowns" in done.out
    assert "Fishing boats" in done.out
    assert len(talk.read_text().splitlines()) == 2


def test_bundle_of_a_bucket_is_that_of_a_folder(
    on: Runner, run: Runner, s3_place: str, sources: Path, tmp_path: Path
) -> None:
    build(on, sources)
    bundle, again = tmp_path / "one.pil", tmp_path / "two.pil"
    on("export", bundle)
    folder = tmp_path / "index"

    assert run("import", bundle, "--index", folder).code == 0
    run("export", again, "--index", folder)

    assert again.read_bytes() == bundle.read_bytes()


def test_build_under_dagster_publishes_into_a_bucket(run: Runner, place: str, sources: Path) -> None:
    done = run("build", sources, "--summaries", "extractive", "--strategy", "layout", "--json", "--index", place)

    assert done.code == 0
    assert done.json["release"] == "000001"
    assert run("verify", "--deep", "--json", "--index", place).json["clean"]


def test_question_fetches_only_what_it_needs(
    on: Runner, s3_server: "S3Server", s3_place: str, sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number in range(6):
        (sources / f"other-{number}.md").write_text(f"# Shed {number}\n\nThe shed number {number} is painted green.\n")
    build(on, sources)
    monkeypatch.setenv("HOME", str(tmp_path / "another machine"))

    def ask() -> list[str]:
        s3_server.requests.clear()
        assert on("retrieve", QUESTION, "--no-model", "--doc", "guide.md").code == 0
        return [path.partition("/indexes/")[2] for method, path in s3_server.requests if method == "GET"]

    first, second = ask(), ask()

    assert any("guide-md" in path for path in first)
    assert not [path for path in first if "shed" in path or "notes" in path or "other" in path]
    assert sum(path.endswith(".sqlite") for path in first) == 1, "fetched, not built from every document"
    # The second time only what can have changed is asked for.
    assert {path.rsplit("/", 1)[-1] for path in second if path and not path.endswith("/")} <= {"CURRENT"}


def test_questions_on_a_machine_without_a_home_still_work(
    on: Runner, sources: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(on, sources)
    (tmp_path / "file").write_text("no folder can be made below this")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))

    found = on("retrieve", QUESTION, "--no-model", "--json")

    assert found.code == 0
    assert found.json["pages"][0]["doc_id"] == "guide.md"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s3://nobody-made-this/x", "no such bucket"),
        ("ftp://bucket/x", "not below ftp://"),
        ("s3://", "names no bucket"),
    ],
)
def test_place_that_cannot_be_used_is_one_sentence_and_a_next_step(
    run: Runner, s3_server: "S3Server", place: str, words: str
) -> None:
    done = run("status", "--index", place)

    assert done.code in (2, 6)
    assert words in done.err
    assert len(done.err.splitlines()) == 2


def test_bucket_that_denies_is_one_sentence_and_a_next_step(on: Runner, s3_server: "S3Server", sources: Path) -> None:
    build(on, sources)
    s3_server.fault = lambda method, path: (403, "AccessDenied")

    for command in (("status",), ("retrieve", QUESTION, "--no-model"), ("verify",), ("build", sources)):
        done = on(*command)
        assert done.code == 6, command
        assert "access denied" in done.err
        assert "s3:GetObject" in done.err
