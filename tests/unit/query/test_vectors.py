import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pageindex_local.errors import QueryError, SettingsError
from pageindex_local.llm.embedding import Matrix
from pageindex_local.query import retrieve
from pageindex_local.query.embedders import open_embedder
from pageindex_local.query.fulltext import open_search_index, search_path
from pageindex_local.query.rerank import Candidate, fuse_pages, fuse_rankings
from pageindex_local.query.trace import Trace
from pageindex_local.query.vector_files import Halves, vectors_path
from pageindex_local.query.vectors import PassageVectors, VectorSearch, open_vectors
from pageindex_local.settings import read_settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release
from pageindex_local.store.verify import verify_index
from tests.sections import Section
from tests.unit.query.indexes import HARBOUR, ORCHARD, publish

TOPICS = ("buoy", "rope", "diesel|fuel", "prun|bud", "hive|bee")


class TopicEmbedder:
    """Vectors that say which topics a text names; an embedder with a meaning that a test can know."""

    def __init__(self, fingerprint: str = "topics 1") -> None:
        self.fingerprint = fingerprint
        self.asked = 0
        self.split_texts = 0

    def embed_question(self, question: str) -> Matrix:
        return self.embed_passages([question])

    def close(self) -> None:
        pass

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        self.asked += len(texts)
        rows = [[float(bool(re.search(topic, text.lower()))) for topic in TOPICS] for text in texts]
        matrix = np.asarray(rows, dtype=np.float32).reshape(len(texts), len(TOPICS))
        lengths = np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
        unit: Matrix = np.divide(matrix, lengths, dtype=np.float32)
        return unit


def test_rank_pages_names_the_page_and_leaf_of_the_nearest_passage(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    embedder = TopicEmbedder()
    with open_search_index(store, release) as index:
        vectors = open_vectors(store, release, index, embedder)
        document = next(document for document in index.documents.values() if document.doc_id == "harbour.pdf")
        page, node_id = vectors.rank_pages(index, document, embedder.embed_question("Where is fuel sold?"))[0]
    version = store.open_document(release, document.doc_key)
    assert version.tree().nodes[node_id].title == "Fuel"
    assert version.tree().nodes[node_id].first_page == page


def test_open_vectors_makes_them_once_and_seals_them(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    first, second = TopicEmbedder(), TopicEmbedder()
    with open_search_index(store, release) as index:
        open_vectors(store, release, index, first)
        open_vectors(store, release, index, second)
    assert first.asked > 0
    assert second.asked == 0
    assert verify_index(store).is_clean
    assert vectors_path(store, release).stat().st_mode == search_path(store, release).stat().st_mode


def test_open_vectors_of_another_model_is_refused(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    with open_search_index(store, release) as index:
        open_vectors(store, release, index, TopicEmbedder())
        with pytest.raises(QueryError, match="topics 1"):
            open_vectors(store, release, index, TopicEmbedder("topics 2"))
        vectors_path(store, release).unlink()
        open_vectors(store, release, index, TopicEmbedder("topics 2"))


def test_open_vectors_of_a_damaged_file_makes_them_again(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    with open_search_index(store, release) as index:
        open_vectors(store, release, index, TopicEmbedder())
        path = vectors_path(store, release)
        path.write_bytes(path.read_bytes()[:200])
        again = TopicEmbedder()
        open_vectors(store, release, index, again)
    assert again.asked > 0
    assert verify_index(store).is_clean


def test_open_embedder_of_an_unknown_name_is_an_error() -> None:
    with pytest.raises(SettingsError, match="wordllama"):
        open_embedder("magic")


def test_fuse_rankings_adds_reciprocal_ranks() -> None:
    fused = fuse_rankings([[7, 9], [9]], k=60)
    assert fused[9] == pytest.approx((1 / 62 + 1 / 61) / (2 / 61))
    assert fused[7] == pytest.approx((1 / 61) / (2 / 61))


def test_fuse_pages_lets_vectors_name_a_page_that_full_text_missed() -> None:
    candidates = [Candidate("doc", page, "leaf", 1.0 - page / 10, "") for page in (1, 2)]
    fused = fuse_pages(candidates, [(2, "leaf"), (8, "other")], "doc", 0.5)
    assert [found.page_number for found in fused] == [2, 1, 8]
    assert fused[2].node_id == "other"
    assert fused[0].score <= 0.5


def test_questions_never_open_vectors_unless_the_settings_say_so(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    retrieve("Where is fuel sold?", store, settings=read_settings().query)
    assert not vectors_path(store, release).exists()


def test_open_vectors_of_the_next_release_makes_only_those_of_changed_documents(tmp_path: Path) -> None:
    store, first = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    with open_search_index(store, first) as index:
        before = open_vectors(store, first, index, TopicEmbedder())
    changed = [Section("trees", "Plum trees", ["Plum trees are pruned in July."])]
    store, second = publish(tmp_path, {"orchard.pdf": changed})
    embedder = TopicEmbedder()
    with open_search_index(store, second) as index:
        after = open_vectors(store, second, index, embedder)
        again = open_vectors(store, second, index, TopicEmbedder())
    assert embedder.asked == after.made == 1
    assert after.taken == rows_of(before, store, first, "harbour.pdf").shape[0]
    assert (rows_of(after, store, second, "harbour.pdf") == rows_of(before, store, first, "harbour.pdf")).all()
    assert (again.made, again.taken) == (0, 0)


def rows_of(vectors: PassageVectors, store: IndexStore, release: Release, doc_id: str) -> Halves:
    found = release.find(doc_id)
    assert found is not None
    start, end = vectors.stored.spans[found[0]]
    return vectors.stored.matrix[start:end]


def test_open_vectors_takes_nothing_over_from_another_model(tmp_path: Path) -> None:
    store, first = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    with open_search_index(store, first) as index:
        open_vectors(store, first, index, TopicEmbedder())
    store, second = publish(tmp_path, {"orchard.pdf": [Section("trees", "Plum trees", ["Plums are pruned in July."])]})
    other = TopicEmbedder("topics 2")
    with open_search_index(store, second) as index:
        made = open_vectors(store, second, index, other)
    assert made.taken == 0
    assert other.asked == len(made.stored.matrix)


def test_open_vectors_anew_replaces_those_of_another_model(tmp_path: Path) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    with open_search_index(store, release) as index:
        open_vectors(store, release, index, TopicEmbedder())
        with pytest.raises(QueryError, match="calibrate --vectors"):
            open_vectors(store, release, index, TopicEmbedder("topics 2"))
        assert open_vectors(store, release, index, TopicEmbedder("topics 2"), anew=True).made > 0
        with pytest.raises(QueryError, match="topics 2"):
            open_vectors(store, release, index, TopicEmbedder())


def test_open_vectors_interrupted_leaves_no_file_and_is_made_whole_later(tmp_path: Path) -> None:
    class Interrupted(TopicEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Matrix:
            raise KeyboardInterrupt

    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    with open_search_index(store, release) as index:
        with pytest.raises(KeyboardInterrupt):
            open_vectors(store, release, index, Interrupted())
        assert not vectors_path(store, release).exists()
        assert not list(store.search_folder.glob(".tmp-*"))
        open_vectors(store, release, index, TopicEmbedder())
    assert verify_index(store).is_clean


def test_open_vectors_reads_passages_as_they_are_written(tmp_path: Path) -> None:
    class Listening(TopicEmbedder):
        heard: tuple[str, ...] = ()

        def embed_passages(self, texts: Sequence[str]) -> Matrix:
            self.heard += tuple(texts)
            return super().embed_passages(texts)

    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    embedder = Listening()
    with open_search_index(store, release) as index:
        open_vectors(store, release, index, embedder)
    assert any("Mooring\nBuoys\n" in text and "the lifeboat and stay free." in text for text in embedder.heard)


def test_retrieve_with_vectors_says_in_the_trace_what_they_are_and_asks_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR, "orchard.pdf": ORCHARD})
    embedder = TopicEmbedder()
    monkeypatch.setattr("pageindex_local.query.vectors.open_embedder", lambda name, threads: embedder)
    settings = read_settings(overrides={"query": {"vectors": "topics"}}).query
    details = []
    with VectorSearch("topics") as vectors:
        prepared = vectors.prepare(store, release)
        for _ in range(2):
            trace = Trace()
            found = retrieve("Where is diesel sold?", store, settings=settings, trace=trace, vectors=vectors)
            details.append(next(step.details for step in trace.steps if step.name == "open vectors"))
    assert found.pages[0].doc_id == "harbour.pdf"
    assert details[0]["model"] == "topics 1"
    assert details[0]["made now"] == prepared.made
    assert details[1]["made now"] == 0
    assert embedder.asked == prepared.made + 2
