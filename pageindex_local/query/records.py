"""What a question comes back with: pydantic records whose JSON is the stable output of `retrieve` and `ask`."""

from pydantic import BaseModel, ConfigDict, Field


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PageHit(_Result):
    """One page, cited by its physical number from 1; `node_id` is the leaf on it that answers best."""

    doc_id: str
    page_number: int = Field(ge=1)
    node_id: str
    score: float


class NodeHit(_Result):
    """One section that the search chose. `path` are the titles from the top down to it."""

    doc_id: str
    version: str
    node_id: str
    title: str
    path: tuple[str, ...]
    first_page: int = Field(ge=1)
    last_page: int = Field(ge=1)
    score: float


class DocumentHit(_Result):
    """One document that was searched."""

    doc_id: str
    version: str
    score: float


class Citation(_Result):
    """A quotation that stands on the pages named, found there by code; text as printed, white space folded.

    `columns` is the line above a quoted row of a table that heads its columns; empty elsewhere.
    """

    doc_id: str
    version: str
    node_id: str
    title: str
    first_page: int = Field(ge=1)
    last_page: int = Field(ge=1)
    quote: str
    columns: str = ""


class Cost(_Result):
    """Model work for this question."""

    model_calls: int = 0
    cached_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0


class Retrieval(_Result):
    """Pages for a question, best first. `abstained` means that the evidence is too weak to answer from.

    `evidence` (0 to 1) is what that was decided by, `notices` are sentences for the asker. `asked_as` is the question
    that was searched where a follow-up was completed from the conversation, `notes` the names of the asker's notes that
    steered the search.
    """

    release: str
    question: str
    asked_as: str = ""
    notes: tuple[str, ...] = ()
    documents: tuple[DocumentHit, ...] = ()
    pages: tuple[PageHit, ...] = ()
    nodes: tuple[NodeHit, ...] = ()
    answer: str = ""
    abstained: bool = False
    citations: tuple[Citation, ...] = ()
    evidence: float = 0.0
    notices: tuple[str, ...] = ()
    cost: Cost = Cost()


class Answer(Retrieval):
    """A retrieval with an answer. `uncited` are sentences of the answer that no context supports."""

    answered_by: str = ""
    uncited: tuple[str, ...] = ()
