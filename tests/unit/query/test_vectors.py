import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pageindex_local.errors import QueryError, SettingsError
from pageindex_local.llm.embedding import Matrix
from pageindex_local.query.embedders import open_embedder
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.rerank import Candidate, fuse_pages, fuse_rankings
from pageindex_local.query.vector_files import vectors_path
from pageindex_local.query.vectors import open_vectors
from pageindex_local.store.verify import verify_index
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
    from pageindex_local.query import retrieve
    from pageindex_local.settings import read_settings

    store, release = publish(tmp_path, {"harbour.pdf": HARBOUR})
    retrieve("Where is fuel sold?", store, settings=read_settings().query)
    assert not vectors_path(store, release).exists()
