"""One document through all stages: same input same tree, only what changed asks the model, nothing opens it for fun."""

from pathlib import Path

import pytest

from pageindex_local.build import (
    BuildJob,
    MiniTocBatch,
    build_document,
    make_fingerprint,
    map_chunks,
    may_use_model,
    reduce_chunks,
    split_chunks,
)
from pageindex_local.errors import TreeError
from pageindex_local.headings import find_headings
from pageindex_local.llm.fakes import ExtractiveModel
from pageindex_local.llm.lazy import LazyModel, open_lazily
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.sources import read_source
from pageindex_local.records import Source
from pageindex_local.settings import Settings, read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import VersionDraft
from pageindex_local.tree.validate import validate_tree

SECTIONS = 100
PLACES = ("quay", "lock", "basin", "mole", "slip", "dock", "weir", "pier", "ford", "ferry")


def hundred_sections(changed: int | None = None) -> str:
    """Ten chapters of ten sections; the paragraph of one section may be another."""
    parts = ["# Rules of the port\n"]
    for number in range(SECTIONS):
        place = f"{PLACES[number % 10]} {PLACES[number // 10]}"
        if number % 10 == 0:
            parts.append(f"## Chapter {PLACES[number // 10]}\n")
        sentence = f"Ships that lie at the {place} pay {number + 3} crowns a day to the keeper of the {place}. "
        if number == changed:
            sentence = f"Nobody may moor at the {place} while the great bell of the town hall is being rung. "
        parts.append(f"### Of the {place}\n\n{sentence * 4}\n")
    return "\n".join(parts)


def read(tmp_path: Path, text: str, settings: Settings) -> Source:
    path = tmp_path / "port.md"
    path.write_text(text, encoding="utf-8")
    return read_source("port.md", path, settings.parse)


@pytest.fixture
def settings() -> Settings:
    return read_settings(None, {"model": {"name": "fake"}})


@pytest.fixture
def store(tmp_path: Path, settings: Settings) -> IndexStore:
    return IndexStore(tmp_path / "index", "default", settings.store)


def fake_model(tmp_path: Path, settings: Settings, name: str) -> LazyModel:
    """A stand-in with a cache of its own, so that nothing is answered from an earlier build."""
    return open_lazily(settings.model, tmp_path / f"{name}.sqlite")


def rebuild(tmp_path: Path, store: IndexStore, settings: Settings, texts: list[str]) -> list[VersionDraft]:
    """Each text as the next version of the same document."""
    drafts: list[VersionDraft] = []
    for number, text in enumerate(texts, 1):
        source = read(tmp_path, text, settings)
        parent = drafts[-1].version_id if drafts else None
        previous = store.open_version(source.doc_key, parent) if parent else None
        model = fake_model(tmp_path, settings, f"cache{number}")
        drafts.append(build_document(BuildJob(source, f"v{number:06d}", parent), previous, model, settings))
        store.write_version(drafts[-1])
        model.close()
    return drafts


def test_build_twice_gives_equal_trees(tmp_path: Path, settings: Settings) -> None:
    source = read(tmp_path, hundred_sections(), settings)
    drafts = [
        build_document(BuildJob(source, "v000001"), None, fake_model(tmp_path, settings, name), settings)
        for name in ("one", "two")
    ]
    assert drafts[0].tree == drafts[1].tree
    assert validate_tree(drafts[0].tree, drafts[0].document.pages) == []
    titles = [node.title for node in drafts[0].tree.walk() if node.title.startswith("Of the ")]
    assert len(titles) == SECTIONS


def test_edit_of_one_paragraph_asks_the_model_only_about_it_and_its_ancestors(
    tmp_path: Path, store: IndexStore, settings: Settings
) -> None:
    first, second = rebuild(tmp_path, store, settings, [hundred_sections(), hundred_sections(changed=57)])
    assert set(second.tree.nodes) == set(first.tree.nodes)
    (edited,) = [node for node in second.tree.walk() if node.own_hash != first.tree.nodes[node.node_id].own_hash]
    assert edited.title == "Of the pier dock"  # PLACES[7], PLACES[5]
    # The section, its chapter, the document's only top section and the description; a failed check asks once more.
    affected = len(second.tree.path(edited.node_id)) + 1
    assert 1 <= second.usage.model_calls <= affected * settings.summary.attempts
    assert second.usage.model_calls < first.usage.model_calls / 10


def test_unchanged_text_asks_nothing_and_keeps_everything(
    tmp_path: Path, store: IndexStore, settings: Settings
) -> None:
    first, second = rebuild(tmp_path, store, settings, [hundred_sections(), hundred_sections()])
    assert second.usage.model_calls == 0
    assert second.tree == first.tree
    assert (second.nodes_reused, second.nodes_rebuilt, second.nodes_moved) == (len(first.tree.nodes), 0, 0)


def test_lines_inserted_at_the_front_move_nodes_without_a_model_call(
    tmp_path: Path, store: IndexStore, settings: Settings
) -> None:
    text = hundred_sections()
    longer = text.replace("# Rules of the port\n", "# Rules of the port\n\n\n\n", 1)
    first, second = rebuild(tmp_path, store, settings, [text, longer])
    assert second.usage.model_calls == 0
    assert second.nodes_rebuilt == 0
    assert second.nodes_moved >= SECTIONS
    assert set(second.tree.nodes) == set(first.tree.nodes)


@pytest.mark.parametrize("mode", ["extractive", "none"])
def test_build_without_model_summaries_never_opens_the_model(tmp_path: Path, mode: str) -> None:
    settings = read_settings(None, {"summary": {"mode": mode}})
    model = LazyModel(lambda: pytest.fail("the model was opened"), identity="x")
    source = read(tmp_path, hundred_sections(), settings)
    draft = build_document(BuildJob(source, "v000001"), None, model, settings)
    assert not model.is_open
    assert draft.settings_hash == make_fingerprint(settings, model).without_model


def test_version_built_without_the_model_is_accepted_under_another(tmp_path: Path) -> None:
    settings = read_settings(None, {"summary": {"mode": "extractive"}})
    old, new = (LazyModel(lambda: ExtractiveModel(context_tokens=512), identity=name) for name in ("old", "new"))
    source = read(tmp_path, hundred_sections(), settings)
    draft = build_document(BuildJob(source, "v000001"), None, old, settings)
    assert make_fingerprint(settings, new).accepts(draft.settings_hash)


def test_fingerprint_changes_with_what_changes_the_result(settings: Settings) -> None:
    model = LazyModel(lambda: ExtractiveModel(context_tokens=512), identity="one")
    other = LazyModel(lambda: ExtractiveModel(context_tokens=512), identity="two")
    base = make_fingerprint(settings, model)
    shorter = read_settings(None, {"tree": {"max_pages_per_node": 3}, "model": {"name": "fake"}})
    wordier = read_settings(None, {"summary": {"max_output_tokens": 99}, "model": {"name": "fake"}})
    for changed in (
        make_fingerprint(settings, other),
        make_fingerprint(shorter, model),
        make_fingerprint(wordier, model),
    ):
        assert not base.accepts(changed.with_model)
    patient = read_settings(None, {"parse": {"timeout_s": 9}, "query": {"beam": 2}, "model": {"name": "fake"}})
    assert base.accepts(make_fingerprint(patient, model).with_model)


def test_model_may_be_used_where_summaries_or_strategy_ask_for_it() -> None:
    def uses(strategy: str, mode: str) -> bool:
        return may_use_model(read_settings(None, {"tree": {"strategy": strategy}, "summary": {"mode": mode}}))

    assert uses("outline", "model")
    assert uses("model", "none")
    assert not uses("outline", "extractive")


def test_reduce_with_a_missing_batch_fails(tmp_path: Path, settings: Settings) -> None:
    document = parse_source(read(tmp_path, hundred_sections(), settings), settings.parse)
    evidence = find_headings(document, settings.tree)
    chunks = split_chunks(document, evidence, None, settings)
    ids = [chunk.chunk_id for chunk in chunks]
    whole = map_chunks(chunks, None, settings)
    with pytest.raises(TreeError):
        reduce_chunks(document, [MiniTocBatch(whole.parts[:-1])], ids, settings)
    with pytest.raises(TreeError):
        reduce_chunks(document, [], ids, settings)
