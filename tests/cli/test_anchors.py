"""Explicit anchors of Markdown headings from the file to the index: names that outlast title, text and place."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import GUIDE, Runner

REWRITTEN = """\
## Reductions for the winter

Sailing boats of the town pay half of the price from October to March, provided that they land their catch here.

## What ships owe{anchor}

Invoices arrive by post after departure and have to be settled within thirty days by bank transfer only.
"""


def _nodes(run: Runner, index: Path) -> dict[str, str]:
    """Node id -> title, of all sections."""
    found = run("tree", "guide.md", "--index", index, "--format", "pageindex").json
    nodes: dict[str, str] = {}
    rows: list[dict[str, Any]] = list(found["structure"])
    while rows:
        row = rows.pop()
        nodes[row["node_id"]] = row["title"]
        rows += row.get("nodes", [])
    return nodes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("## Fees {#fees}", "## What ships owe {#fees}"),
        ("## Fees {: #fees .wide }", "## What ships owe {#fees}"),
        ('<a name="fees"></a>\n\n## Fees', '## <a id="fees"></a>What ships owe'),
    ],
)
def test_build_section_named_by_an_anchor_keeps_its_id_when_all_else_changes(
    run: Runner, build: Runner, folder: Path, index: Path, before: str, after: str
) -> None:
    guide = folder / "guide.md"
    guide.write_text(GUIDE.replace("## Fees", before), encoding="utf-8")
    assert build().code == 0
    old = {title: node_id for node_id, title in _nodes(run, index).items()}
    assert "Fees" in old
    # Fees and its reductions change places and words; the section of fees is no more what it was but by name.
    start, end = guide.read_text(encoding="utf-8").index(before), guide.read_text(encoding="utf-8").index("## Waste")
    text = guide.read_text(encoding="utf-8")
    rewritten = REWRITTEN.replace("## What ships owe{anchor}", after)
    guide.write_text(text[:start] + rewritten + "\n" + text[end:], encoding="utf-8")

    assert build().code == 0

    new = {title: node_id for node_id, title in _nodes(run, index).items()}
    assert new["What ships owe"] == old["Fees"]
    assert not any(mark in title for title in [*old, *new] for mark in ("{", "#", "<"))
    changes = run("diff", "guide.md", "v000001", "v000002", "--index", index, "--json")
    assert changes.code == 0
    assert old["Fees"] in changes.out


def test_build_without_the_anchor_does_not_take_the_one_for_the_other(
    run: Runner, build: Runner, folder: Path, index: Path
) -> None:
    guide = folder / "guide.md"
    build()
    old = {title: node_id for node_id, title in _nodes(run, index).items()}
    start, end = GUIDE.index("## Fees"), GUIDE.index("## Waste")
    rewritten = REWRITTEN.replace("{anchor}", "")
    guide.write_text(GUIDE[:start] + rewritten + "\n" + GUIDE[end:], encoding="utf-8")

    build()

    new = {title: node_id for node_id, title in _nodes(run, index).items()}
    assert new["What ships owe"] not in old.values()
