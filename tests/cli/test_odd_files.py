"""Odd and hostile files through a real build: each gives the sections that it holds or an error that says what to do.

The expected values say what `odd.tsv` beside the shared files asks for, or what stands in the files. The same kinds are
made anew by `odd_documents`, so that most of them are also tested where the shared files are missing.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Runner
from tests.cli.odd_documents import make_odd_folder
from tests.cli.test_process import COMMAND

LIMIT_S = 10.0
LIMIT_BYTES = 1_000_000_000
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2060-\u206f\ufeff]")

# Level, title and first page (first line, from 1, of Markdown) of every section.
Sections = list[tuple[int, str, int]]
CONTROL_CASE: Sections = [
    (1, "1. Introduction", 1),
    (2, "1.1 Background", 2),
    (2, "1.2 Motivation", 3),
    (1, "2. Main Content", 4),
    (2, "2.1 First Topic", 5),
    (2, "2.2 Second Topic", 6),
    (1, "3. Conclusion", 7),
    (2, "3.1 Summary", 8),
    (2, "3.2 Future Work", 9),
]
PRINTED = list(zip(["Foo", "Bar", "Baz"] * 3, [2, 2, 2, 2, 3, 3, 3, 4, 4], strict=True))
NUMBERED: Sections = [(1, f"{number} {title}", page) for number, (title, page) in enumerate(PRINTED, 1)]
PARTS: Sections = [(1, f"Part {number}", 3 * number - 2) for number in range(1, 5)]
# tree.max_depth is 12: what lies deeper is lifted to it, with a warning.
DEEP: Sections = [(min(level, 12), f"Level {level}", level) for level in range(1, 61)]
ASTRAY: Sections = [(1, f"Chapter {number}", number) for number in (1, 2, 6, 7, 8)]
SAME: Sections = [(1, "Overview", number) for number in range(1, 41)]
CHAPTERS: Sections = [(1, f"{number} Chapter {number}", 50 * number - 49) for number in range(1, 101)]
FOUR: Sections = [(1, f"{number} Section {number}", number) for number in range(1, 5)]
HARNESS = (
    *("Mozilla automated testing", "In production", "buildbot automation", "compiled-code (B)", "xpcshell (X)"),
    *("JS shell tests (J)", "crashtest (C)", "reftest (R)", "Mochitest (M)", "Mochitest-other (Moth)"),
    *("Mochitest-Robocop (Mrc)", "Talos (T)", "Mozmill", "Speedtests", "Peptest", "Marionette harness"),
    "So which do I use already?",
)
HARNESS_PAGES = (1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 4, 4, 4, 4)

SECTIONS: dict[str, Sections] = {
    "nested_outline.pdf": CONTROL_CASE,
    # The outline is wrong or broken and the printed contents are right.
    "outlines-with-invalid-destinations.pdf": NUMBERED,
    "mistitled_outlines_example.pdf": NUMBERED,
    # The first of nine entries has no title.
    "outline-without-title.pdf": [(1, title, page) for title, page in PRINTED[1:]],
    # A page without text has one place; entries that go back, or share a place with one before, are left out.
    "outlines_for_editor.pdf": [
        (1, "Page 1 - explicit dest", 1),
        (1, "Page 2 - named dest", 2),
        (2, "Section 2", 3),
        (2, "Subsection", 5),
    ],
    "outline_goto_action.pdf": [(1, "Parent", 1), (2, "Child", 2)],
    "issue14267.pdf": [(1, "helloworld", 1)],
    "file_pdfjs_test.pdf": [(1, title, page) for title, page in zip(HARNESS, HARNESS_PAGES, strict=True)],
    "issue3214.pdf": [(1, "this bookmark is bold", 1), (1, "this bookmark is italic", 1)],
    "issue15367.pdf": [(1, "First Page", 1), (1, "Last Page", 3)],
    "labelled_pages.pdf": [(1, "Blank Page", number) for number in range(1, 12)],
    "multicolumn.pdf": [(1, "Abstract", 1)],
    "bomb_giant.pdf": [(1, "GIANT JBIG2 BOMB", 1)],
    "syn-circular-next.pdf": PARTS,
    "syn-depth-60.pdf": DEEP,
    "syn-page-out-of-range.pdf": ASTRAY,
    "syn-same-title-40.pdf": SAME,
    "syn-5000-pages.pdf": CHAPTERS,
    "syn-prompt-injection.pdf": FOUR,
    "syn-fences.md": [
        (1, "Real 1", 1),
        (2, "Real 1.1", 15),
        (1, "Setext One", 17),
        (2, "Setext two", 20),
        (1, "Closed", 29),
    ],
    "syn-utf16-crlf.md": [(1, "Überschrift", 1), (2, "Zweite ✓", 5)],
    # No headings at all, or none that running heads would not be: text only.
    "Pages-tree-refs.pdf": [],
    "Seige_of_Vicksburg_Sample_OCR.pdf": [],
    "bad-PageLabels.pdf": [],
    "habibi-rotated.pdf": [],
    "issue11656.pdf": [],
    "issue6387.pdf": [],
    "multilang.pdf": [],
    "r6-empty-password.pdf": [],
    "rotation.pdf": [],
    "syn-no-headings.txt": [],
    "syn-one-line-900k.txt": [],
}
SOME_SECTIONS = {
    "TAMReview.pdf": [("Abstract", 2), ("Introduction", 2), ("TAMevolving", 10), ("Conclusions", 18)],
}
TEXTS = {
    "habibi-rotated.pdf": "حَبيبي",
    "issue11656.pdf": "שלום עולם",
    "issue6387.pdf": "風",
    "multilang.pdf": "Привет, мир",
    "rotation.pdf": "This is my second page.",
    "r6-empty-password.pdf": "pdf encryption test password",
}
WARNINGS = {
    "TAMReview.pdf": "garbled",
    "Pages-tree-refs.pdf": "1 of 2 pages cannot be read",
    "outlines-with-invalid-destinations.pdf": "lead to no page",
    "outlines_for_editor.pdf": "None of the 5 pages has text",
    "syn-depth-60.pdf": "were lifted to tree.max_depth = 12",
    "syn-page-out-of-range.pdf": "3 of 8 outline entries lead to no page",
}
# Kind of error, what it says, what it tells the reader to do.
Refusal = tuple[str, str, str]
NO_PAGES: Refusal = ("EmptySourceError", "no pages", "save it again")
LOCKED: Refusal = ("EncryptedSourceError", "needs a password", "password")
NO_TEXT: Refusal = ("NoTextError", "none of its 6 pages has text", "OCR")
BROKEN: Refusal = ("DamagedSourceError", "cannot be opened as a PDF", "fresh copy")
REFUSED: dict[str, Refusal] = {
    "poppler-85140-0.pdf": BROKEN,
    "poppler-67295-0.pdf": BROKEN,
    "REDHAT-1531897-0.pdf": NO_PAGES,
    "issue9418.pdf": NO_PAGES,
    "r6-user-password.pdf": LOCKED,
    "encrypted-file.pdf": LOCKED,
    "imagemagick-images.pdf": NO_TEXT,
    "syn-scan-policy.pdf": NO_TEXT,
    "syn-empty.pdf": ("EmptySourceError", "no bytes", "Copy the file again"),
    "syn-not-a-pdf.pdf": ("UnsupportedSourceError", "holds no PDF", "Convert it first"),
    "syn-truncated.pdf": NO_PAGES,
}
MADE_SECTIONS: dict[str, Sections] = {
    "circular.pdf": PARTS,
    "deep.pdf": DEEP,
    "astray.pdf": ASTRAY,
    "same-title.pdf": SAME,
    "titles.pdf": [(1, "two lines", 2), (1, "control ✓", 3), (1, "override", 4)],
    "long.pdf": CHAPTERS,
    "hostile.pdf": FOUR,
    "turned.pdf": [],
    "empty-password.pdf": [],
    "fences.md": [(1, "Real one", 1), (2, "Real two", 9), (1, "Underlined", 11), (1, "Closed", 20)],
    "utf16.md": [(1, "Größe", 1), (2, "Zweite ✓", 5)],
    "no-headings.txt": [],
    "one-line.txt": [],
}
MADE_REFUSED: dict[str, Refusal] = {
    "empty.pdf": ("EmptySourceError", "no bytes", "Copy the file again"),
    "no-pdf.pdf": ("UnsupportedSourceError", "holds no PDF", "Convert it first"),
    "broken.pdf": NO_PAGES,
    "scan.pdf": ("NoTextError", "none of its 2 pages has text", "OCR"),
    "locked.pdf": LOCKED,
    "cut.pdf": BROKEN,
}


@dataclass(frozen=True)
class Built:
    """A folder built in a process of its own: how it ended, what it cost, and where the index is."""

    index: Path
    code: int
    report: dict[str, Any]
    err: str
    peak_bytes: int
    busy_share: float

    def document(self, name: str) -> dict[str, Any]:
        return next(entry for entry in self.report["documents"] if entry["doc_id"] == name)


Reader = Callable[[Built, str], dict[str, Any]]


@pytest.fixture
def read_tree(run: Runner) -> Reader:
    """Reads a document's tree as `tree --json` prints it."""

    def read(built: Built, name: str) -> dict[str, Any]:
        done = run("tree", name, "--index", built.index, "--json")
        assert done.code == 0
        tree: dict[str, Any] = done.json
        return tree

    return read


def _build(folder: Path, work: Path) -> Built:
    index = work / "index"
    command = [*COMMAND, "build", str(folder), "--index", str(index), "--model", "fake", "--no-dagster", "--json", "-q"]
    started = time.monotonic()
    with (work / "out").open("wb") as out, (work / "err").open("wb") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        # The peak is that of the largest of the process and the parser children that it has waited for.
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    unit = 1 if sys.platform == "darwin" else 1024
    return Built(
        index,
        process.returncode,
        json.loads((work / "out").read_text(encoding="utf-8")),
        (work / "err").read_text(encoding="utf-8"),
        usage.ru_maxrss * unit,
        min(1.0, (usage.ru_utime + usage.ru_stime) / wall),
    )


@pytest.fixture(scope="module")
def odd(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return _build(shared_data / "odd", tmp_path_factory.mktemp("odd"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Built:
    work = tmp_path_factory.mktemp("made")
    (work / "documents").mkdir()
    make_odd_folder(work / "documents")
    return _build(work / "documents", work)


def _check_whole_run(built: Built, readable: set[str], refused: dict[str, Refusal]) -> None:
    assert built.code == 3
    assert "Traceback" not in built.err
    entries = built.report["documents"]
    assert {entry["doc_id"] for entry in entries} == readable | set(refused)
    assert {entry["doc_id"] for entry in entries if entry["error"]} == set(refused)
    assert built.report["release"] == "000001"
    assert built.peak_bytes < LIMIT_BYTES
    # Other work on the machine stretches the clock, so seconds count by the share of them that this run was busy.
    slow = {entry["doc_id"]: entry["seconds"] for entry in entries if entry["seconds"] * built.busy_share > LIMIT_S}
    assert not slow
    command = [*COMMAND, "verify", "--index", str(built.index)]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def _check_refusal(built: Built, name: str, refusal: Refusal) -> None:
    kind, problem, step = refusal
    error = built.document(name)["error"]
    assert (error["kind"], error["subject"], error["exit_code"]) == (kind, name, 3)
    assert problem in error["problem"]
    assert step in error["next_step"]
    said = built.err.split(f"error: {name}: ", 1)[1].split("error: ", 1)[0]
    assert problem in " ".join(said.split())
    assert step in " ".join(said.split())


def _sections(tree: dict[str, Any]) -> Sections:
    place = "first_page" if tree["media_type"] == "application/pdf" else "first_line"
    return [(node["level"], node["title"], node[place]) for node in tree["nodes"] if node["kind"] == "section"]


def _check_covered(tree: dict[str, Any]) -> None:
    """Leaves follow each other, no page is left out, ids differ, titles are clean."""
    leaves = [node for node in tree["nodes"] if not node["children"]]
    for before, after in pairwise(leaves):
        assert after["first_line"] == before["last_line"] + 1
        assert before["first_page"] <= before["last_page"] <= after["first_page"] + 1
    pages = {page for leaf in leaves for page in range(leaf["first_page"], leaf["last_page"] + 1)}
    assert pages == set(range(1, tree["pages"] + 1))
    assert len({node["node_id"] for node in tree["nodes"]}) == len(tree["nodes"])
    assert not [node["title"] for node in tree["nodes"] if not node["title"] or CONTROLS.search(node["title"])]


@pytest.mark.data
def test_build_folder_of_all_odd_files_builds_the_good_and_lists_the_bad(odd: Built, shared_data: Path) -> None:
    files = {path.name for path in (shared_data / "odd").iterdir()} - {"odd.tsv"}
    readable = {*SECTIONS, *SOME_SECTIONS}
    assert (len(files), files) == (44, readable | set(REFUSED))
    _check_whole_run(odd, readable, REFUSED)


@pytest.mark.data
@pytest.mark.parametrize("name", [*SECTIONS, *SOME_SECTIONS])
def test_build_readable_odd_file_gives_its_sections(odd: Built, read_tree: Reader, name: str) -> None:
    tree = read_tree(odd, name)
    if name in SECTIONS:
        assert _sections(tree) == SECTIONS[name]
    found = [(title, page) for _, title, page in _sections(tree)]
    assert [item for item in SOME_SECTIONS.get(name, []) if item not in found] == []
    _check_covered(tree)
    assert WARNINGS.get(name, "") in " ".join(odd.document(name)["warnings"])


@pytest.mark.data
@pytest.mark.parametrize("name", TEXTS)
def test_build_odd_file_keeps_its_text(odd: Built, read_tree: Reader, name: str) -> None:
    assert TEXTS[name] in json.dumps(read_tree(odd, name), ensure_ascii=False)


@pytest.mark.data
@pytest.mark.parametrize("name", REFUSED)
def test_build_unreadable_odd_file_says_what_and_what_to_do(odd: Built, name: str) -> None:
    _check_refusal(odd, name, REFUSED[name])


def test_build_folder_of_made_odd_files_builds_the_good_and_lists_the_bad(made: Built) -> None:
    _check_whole_run(made, set(MADE_SECTIONS), MADE_REFUSED)


@pytest.mark.parametrize("name", MADE_SECTIONS)
def test_build_made_odd_file_gives_its_sections(made: Built, read_tree: Reader, name: str) -> None:
    tree = read_tree(made, name)
    assert _sections(tree) == MADE_SECTIONS[name]
    _check_covered(tree)


@pytest.mark.parametrize("name", MADE_REFUSED)
def test_build_made_unreadable_file_says_what_and_what_to_do(made: Built, name: str) -> None:
    _check_refusal(made, name, MADE_REFUSED[name])
