"""Vectors by the bundled GGUF. It was not made for them; what is tested holds for any model."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from pageindex_local.errors import ModelError, QueryError, SettingsError
from pageindex_local.llm.embedding import Matrix
from pageindex_local.llm.llamacpp import LlamaCppEmbedder
from pageindex_local.llm.llamacpp.embedder import SEQUENCES
from pageindex_local.llm.models import find_model, prepare_model
from pageindex_local.query.embedders import open_embedder
from pageindex_local.query.fulltext import open_search_index
from pageindex_local.query.vectors import open_vectors
from pageindex_local.settings import read_settings
from tests.sections import Section
from tests.unit.query.indexes import publish

pytestmark = pytest.mark.model
BUNDLED = read_settings().model.name
NARROW, PREFIX = 64, "passage: "
SENTENCES = [
    "The boiler must be inspected every twelve months by a certified engineer, who records the result in the log.",
    "Bread is baked at 220 degrees for forty minutes.",
    "Rivers carry sand to the sea, where it forms deltas and banks.",
    "Trains run hourly from the main station to the airport, and twice an hour on Sundays.",
    "A dog needs water, food and two walks a day.",
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[LlamaCppEmbedder]:
    opened = open_embedder(BUNDLED)
    assert isinstance(opened, LlamaCppEmbedder)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def narrow() -> Iterator[LlamaCppEmbedder]:
    """The same model with a short window and a prefix for passages."""
    entry = find_model(BUNDLED).model_copy(update={"context_tokens": NARROW, "passage_prefix": PREFIX})
    opened = LlamaCppEmbedder(prepare_model(entry))
    yield opened
    opened.close()


def test_embed_passages_gives_rows_of_length_one_nearest_to_themselves(embedder: LlamaCppEmbedder) -> None:
    rows = embedder.embed_passages(SENTENCES)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    for number, sentence in enumerate(SENTENCES):
        assert int((rows @ embedder.embed_question(sentence)[0]).argmax()) == number


def test_embed_passages_in_one_batch_are_those_of_one_at_a_time(embedder: LlamaCppEmbedder) -> None:
    texts = [f"{sentence} Number {number}." for number in range(4) for sentence in SENTENCES]
    assert len(texts) > SEQUENCES
    together = embedder.embed_passages(texts)
    alone = np.concatenate([embedder.embed_passages([text]) for text in texts])
    assert ((together * alone).sum(axis=1) > 0.999).all()


def test_embed_passages_without_a_token_gives_zeros_and_no_text_no_row(embedder: LlamaCppEmbedder) -> None:
    assert embedder.embed_passages(["", SENTENCES[0]])[0].any() == np.False_
    assert embedder.embed_passages([]).shape == (0, embedder.embed_passages(["a"]).shape[1])


def test_embed_passages_longer_than_the_window_are_read_in_parts_and_counted(narrow: LlamaCppEmbedder) -> None:
    part = " river" * (NARROW - 10)
    before = narrow.split_texts
    alone = narrow.embed_passages([part])[0]
    assert narrow.split_texts == before
    whole = narrow.embed_passages([part + part])[0]
    assert narrow.split_texts == before + 1
    assert float(whole @ alone) > 0.999  # two equal halves: the mean is either's


def test_fingerprint_names_model_and_pooling_and_follows_prefixes(
    embedder: LlamaCppEmbedder, narrow: LlamaCppEmbedder
) -> None:
    assert BUNDLED in embedder.fingerprint
    assert "mean" in embedder.fingerprint
    assert narrow.fingerprint != embedder.fingerprint
    plain, put = embedder.embed_passages(SENTENCES[:1])[0], narrow.embed_passages(SENTENCES[:1])[0]
    by_hand = embedder.embed_passages([PREFIX + SENTENCES[0]])[0]
    assert float(put @ by_hand) > 0.9999 > float(put @ plain)
    question = float(narrow.embed_question(SENTENCES[0])[0] @ embedder.embed_question(SENTENCES[0])[0])
    assert question == pytest.approx(1, abs=1e-4)


def test_embed_passages_after_close_is_an_error() -> None:
    closed = open_embedder(BUNDLED)
    closed.close()
    closed.close()
    with pytest.raises(ModelError, match="is closed"):
        closed.embed_passages(["a"])


class Wordllama:
    """Stands for the other embedder; only its fingerprint matters."""

    fingerprint = "wordllama 0.4.0"
    split_texts = 0

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        raise AssertionError("must not be asked")

    def embed_question(self, question: str) -> Matrix:
        raise AssertionError("must not be asked")

    def close(self) -> None:
        pass


def test_open_vectors_of_the_bundled_model_find_its_passages_and_are_refused_for_another(
    embedder: LlamaCppEmbedder, tmp_path: Path
) -> None:
    sections = [Section(f"part-{number}", f"Part {number}", [text]) for number, text in enumerate(SENTENCES)]
    store, release = publish(tmp_path, {"notes.pdf": sections}, lines_per_page=2)
    with open_search_index(store, release) as index:
        vectors = open_vectors(store, release, index, embedder)
        (document,) = index.documents.values()
        nodes = store.open_document(release, document.doc_key).tree().nodes
        for number, sentence in enumerate(SENTENCES):
            ranked = vectors.rank_pages(index, document, embedder.embed_question(sentence))
            assert nodes[ranked[0][1]].title == f"Part {number}"
        with pytest.raises(QueryError, match=r"holds vectors of `smollm2.*not of `wordllama 0\.4\.0`"):
            open_vectors(store, release, index, Wordllama())


def test_open_embedder_of_a_server_is_refused() -> None:
    with pytest.raises(SettingsError, match="server"):
        open_embedder("http://localhost:8080")


def test_open_embedder_with_a_prefix_that_fills_its_window_is_refused() -> None:
    entry = find_model(BUNDLED).model_copy(update={"context_tokens": NARROW, "question_prefix": "river " * NARROW})
    with pytest.raises(SettingsError, match=f"leaves no room in a window of {NARROW} tokens"):
        LlamaCppEmbedder(prepare_model(entry))


def test_embed_passages_of_blanks_and_of_one_endless_word_gives_numbers(narrow: LlamaCppEmbedder) -> None:
    rows = narrow.embed_passages(["  \n\t ", "x" * 20_000, "\0"])
    assert np.isfinite(rows).all()
    assert np.linalg.norm(rows[1]) == pytest.approx(1, abs=1e-5)
