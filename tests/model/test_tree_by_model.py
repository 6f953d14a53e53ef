"""Strategy `model` with the bundled weights: small documents, and what must hold whatever the model answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pageindex_local.build import BuildJob, build_document
from pageindex_local.llm.lazy import LazyModel, open_lazily
from pageindex_local.parsing.sources import read_source
from pageindex_local.phrases import is_grounded
from pageindex_local.settings import read_settings
from pageindex_local.tree.text import span_text
from pageindex_local.tree.validate import validate_tree
from tests.unit.test_build_by_model import numbered_text, story_text

pytestmark = pytest.mark.model
SETTINGS = read_settings(None, {"tree": {"strategy": "model"}, "summary": {"mode": "extractive"}})


@pytest.fixture
def model(tmp_path: Path) -> Iterator[LazyModel]:
    opened = open_lazily(SETTINGS.model, tmp_path / "completions.sqlite")
    yield opened
    opened.close()


def test_build_narrative_with_the_bundled_model_covers_all_under_grounded_titles(
    tmp_path: Path, model: LazyModel
) -> None:
    path = tmp_path / "story.txt"
    path.write_text("\n\n".join(story_text(120)), encoding="utf-8")
    source = read_source("story.txt", path, SETTINGS.parse)
    draft = build_document(BuildJob(source, "v000001"), None, model, SETTINGS)
    assert validate_tree(draft.tree, draft.document.pages) == []
    assert draft.usage.model_calls >= 1
    assert len(draft.tree.nodes) >= 3
    for node in draft.tree.walk():
        assert is_grounded(node.title, span_text(draft.document, node.span))


def test_build_numbered_text_with_the_bundled_model_is_whole_and_repeatable(tmp_path: Path, model: LazyModel) -> None:
    path = tmp_path / "rules.txt"
    path.write_text(numbered_text(12), encoding="utf-8")
    source = read_source("rules.txt", path, SETTINGS.parse)
    first = build_document(BuildJob(source, "v000001"), None, model, SETTINGS)
    calls = model.usage.model_calls
    again = build_document(BuildJob(source, "v000001"), None, model, SETTINGS)
    assert validate_tree(first.tree, first.document.pages) == []
    assert 1 <= calls <= SETTINGS.tree.attempts * 2
    assert model.usage.model_calls == calls  # answered by the cache
    titles = [node.title for node in first.tree.walk()]
    assert titles == [node.title for node in again.tree.walk()]
    assert first.warnings == again.warnings
    assert sum(title.startswith(tuple("123456789")) for title in titles) >= 3
