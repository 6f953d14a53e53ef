"""A stored version in, its passages out: pieces of about two hundred words, each of one leaf. Writes nothing."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pageindex_local.records import Node
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import StoredPage

PASSAGE_WORDS = 200


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of one leaf as written: titles from the top down and its text, one a line; first and last line."""

    node_id: str
    titles: str
    text: str
    first_line: int
    last_line: int


def cut_passages(version: StoredVersion) -> Iterator[Passage]:
    """The passages of a document, about `PASSAGE_WORDS` words of one leaf each, in the order of their rows."""
    tree = version.tree()
    numbers, texts = _plain_lines(version.pages())
    for leaf in tree.leaves():
        titles = "\n".join(tree.nodes[node_id].title for node_id in tree.path(leaf.node_id))
        for first_line, last_line, text in _cut_leaf(leaf, numbers, texts):
            yield Passage(leaf.node_id, titles, text, first_line, last_line)


def _plain_lines(pages: Sequence[StoredPage]) -> tuple[list[int], list[str]]:
    numbers: list[int] = []
    texts: list[str] = []
    for page in pages:
        running = set(page.running_lines)
        for number, text in enumerate(page.line_texts(), page.first_line):
            if number not in running:
                numbers.append(number)
                texts.append(text)
    return numbers, texts


def _cut_leaf(leaf: Node, numbers: Sequence[int], texts: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Passages of a leaf: first and last line, text. An empty leaf gives one empty passage."""
    start, end = leaf.span
    gathered: list[str] = []
    words, first = 0, start
    for place in range(bisect_left(numbers, start), bisect_left(numbers, end)):
        size = len(texts[place].split())
        if words and words + size > PASSAGE_WORDS:
            yield first, numbers[place] - 1, "\n".join(gathered)
            gathered, words, first = [], 0, numbers[place]
        gathered.append(texts[place])
        words += size
    yield first, max(end - 1, start), "\n".join(gathered)
