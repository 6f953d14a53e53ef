"""The html tree, read back by a parser: complete, nested like the tree, self-contained, text stays text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.parsing.sources import read_source
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.view import render_html

TEXT = """\
# First <b>& only</b>

Opening words of the first part, which are long enough to be called a text of their own.

## Inner "quoted"

Inner words about the inner part, which come after the opening words.

### Deepest

The deepest words of all, below the inner part.

# Second

Last words, after everything else has been said.
"""
VOID = {"meta", "input", "br"}


class Reader(HTMLParser):
    """Collects node ids with their nesting, and everything a page could load."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, str | None]] = []
        self.parents: dict[str, str | None] = {}
        self.loads: list[str] = []
        self.blocks: dict[str, str] = {}
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loads += [f"{tag} {name}" for name in values if name in {"src", "href", "srcset", "action", "style"}]
        self.loads += [f"{tag} {name}" for name in values if name.startswith("on")]
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(values["content"])
        node = values.get("id") if tag == "li" else None
        if node is not None:
            self.parents[node] = next((above for _, above in reversed(self.open) if above is not None), None)
        if tag not in VOID:
            self.open.append((tag, node))

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][0] in {"style", "script"}:
            self.blocks[self.open[-1][0]] = data


@pytest.fixture
def stored(tmp_path: Path) -> StoredVersion:
    settings = read_settings(None, {"summary": {"mode": "extractive"}})
    path = tmp_path / "text.md"
    path.write_text(TEXT, encoding="utf-8")
    source = read_source("text.md", path, settings.parse)
    store = IndexStore(tmp_path / "index", "default", settings.store)
    ref = store.write_version(build_document(BuildJob(source, "v000001"), None, None, settings))
    return store.open_version(ref.doc_key, ref.version_id)


@pytest.fixture
def page(stored: StoredVersion) -> Reader:
    reader = Reader()
    reader.feed(render_html(stored.manifest, stored.tree()))
    reader.close()
    assert reader.open == []
    return reader


def test_html_nests_every_node_below_its_parent(page: Reader, stored: StoredVersion) -> None:
    assert page.parents == {node.node_id: node.parent_id for node in stored.tree().walk()}


def test_html_loads_nothing(page: Reader, stored: StoredVersion) -> None:
    assert page.loads == []
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttp", render_html(stored.manifest, stored.tree()))


def test_html_allows_only_its_own_style_and_script(page: Reader) -> None:
    assert page.policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.blocks[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page.policy


def test_html_keeps_markup_of_titles_as_text(stored: StoredVersion) -> None:
    text = render_html(stored.manifest, stored.tree())
    assert "First &lt;b&gt;&amp; only&lt;/b&gt;" in text or "First &amp; only" in text
    assert "<b>" not in text


def test_html_shows_lines_where_there_are_no_pages(stored: StoredVersion) -> None:
    text = render_html(stored.manifest, stored.tree())
    # "## Inner" stands on line 5 and its section, with the deepest one, ends before line 13.
    assert re.search(
        r"Inner &#34;quoted&#34;</bdi></span><span class=\"place\"><span class=\"unit\">lines </span>5–12<", text
    )
