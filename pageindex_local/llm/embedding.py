"""The interface between the program and a model that makes vectors of texts. Texts in, rows of length 1 out."""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np

Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float32]]


class Embedder(Protocol):
    """Makes vectors of texts. Not for concurrent callers unless an embedder says so.

    `fingerprint` changes when the same text would get another vector; a person can read from it which model it is.
    `split_texts` counts the passages that were longer than the model's window and were read in parts.
    """

    fingerprint: str
    split_texts: int

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One row of length 1 for each text of the documents; zeros for a text of which nothing can be read."""
        ...

    def embed_question(self, question: str) -> Matrix:
        """One row of length 1, to be multiplied with those of passages."""
        ...

    def close(self) -> None:
        """Free the model. Safe to call twice."""
        ...
