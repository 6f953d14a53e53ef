"""What a question has found so far: the documents searched and the pages ranked, for whoever renders or answers it."""

from dataclasses import dataclass, field

from pageindex_local.query.analyse import Question
from pageindex_local.query.confidence import Confidence
from pageindex_local.query.documents import RankedDocument
from pageindex_local.query.evidence import Evidence
from pageindex_local.query.rerank import Candidate
from pageindex_local.query.search import SearchResult
from pageindex_local.records import SectionTree
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, StoredPage


@dataclass(slots=True)
class SearchedDocument:
    """One document while a question is answered."""

    ranked: RankedDocument
    version: StoredVersion
    evidence: Evidence
    share: float
    result: SearchResult | None = None

    @property
    def tree(self) -> SectionTree:
        """Its sections."""
        return self.version.tree()

    def page(self, page_number: int) -> StoredPage:
        """A page by its number from 1."""
        pages = self.version.pages()
        if 0 < page_number <= len(pages) and pages[page_number - 1].page_number == page_number:
            return pages[page_number - 1]
        return next(page for page in pages if page.page_number == page_number)

    def leaf_at(self, line: int) -> str:
        """The id of the leaf that holds a line."""
        return self.tree.leaf_at(line).node_id

    def page_lines(self, page_number: int) -> list[tuple[int, str]]:
        """The lines of a page with their numbers, running heads left out."""
        page = self.page(page_number)
        running = set(page.running_lines)
        return [
            (number, text) for number, text in enumerate(page.line_texts(), page.first_line) if number not in running
        ]


@dataclass(slots=True)
class Findings:
    """Everything found for a question, for whoever renders or answers it."""

    question: Question
    release: Release
    documents: dict[str, SearchedDocument] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    confidence: Confidence = field(default_factory=lambda: Confidence(0.0, 0.0, ()))
    notices: list[str] = field(default_factory=list)
