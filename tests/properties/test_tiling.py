"""Whatever the headings are, every line is in exactly one leaf and every invariant holds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from pageindex_local.records import Heading, Line, LineRole, MediaType, Origin, Page, ParsedDocument, Source
from pageindex_local.settings import TreeSettings
from pageindex_local.tree.assemble import build_tree
from pageindex_local.tree.text import own_text, span_text
from pageindex_local.tree.validate import validate_tree
from tests.unit.tree.printed import tree_settings

SOURCE = Source("a.pdf", "a-0123456789", "a.pdf", "0" * 64, 1, MediaType.PDF)
DEFAULTS = tree_settings()

texts = st.sampled_from(["", "  ", "Alpha beta gamma.", "delta epsilon", "1.2 Zeta", "*", "。", "Ω mega", "-" * 30])
lines = st.builds(
    Line,
    text=texts,
    block=st.integers(0, 3),
    role=st.sampled_from([LineRole.BODY, LineRole.BODY, LineRole.BODY, LineRole.RUNNING]),
)


@st.composite
def documents(draw: st.DrawFn) -> ParsedDocument:
    pages: list[Page] = []
    first_line = 0
    for number, page_lines in enumerate(draw(st.lists(st.lists(lines, max_size=8), min_size=1, max_size=12)), 1):
        pages.append(Page(number, str(number), first_line, tuple(page_lines)))
        first_line += len(page_lines)
    return ParsedDocument(SOURCE, tuple(pages))


@st.composite
def headings_of(draw: st.DrawFn, document: ParsedDocument) -> list[Heading]:
    count = document.line_count
    found: list[Heading] = []
    for _ in range(draw(st.integers(0, 10))):
        start = draw(st.integers(-1, count + 1))
        found.append(
            Heading(
                title=draw(st.one_of(st.text(max_size=12), st.just("Same"))),
                level=draw(st.integers(1, 9)),
                span=(start, start + draw(st.integers(0, 3))),
                page_number=draw(st.integers(0, len(document.pages) + 1)),
                origin=draw(st.sampled_from(list(Origin))),
                confidence=draw(st.floats(0, 1)),
            )
        )
    return found


tree_limits = st.builds(
    lambda pages, tokens, depth: DEFAULTS.model_copy(
        update={"max_pages_per_node": pages, "max_tokens_per_node": tokens, "max_depth": depth}
    ),
    st.integers(1, 20),
    st.integers(1, 200),
    st.integers(1, 6),
)


@settings(max_examples=300, deadline=None)
@given(st.data(), documents(), tree_limits)
def test_build_any_headings_gives_a_sound_tree(
    data: st.DataObject, document: ParsedDocument, limits: TreeSettings
) -> None:
    headings = data.draw(headings_of(document))
    candidates = data.draw(headings_of(document))
    tree = build_tree(document, headings, limits, candidates=candidates)
    assert validate_tree(tree, document.pages) == []
    covered = [line for node in tree.leaves() for line in range(*node.span)]
    assert covered == list(range(document.line_count))


@settings(max_examples=200, deadline=None)
@given(st.data(), documents())
def test_build_any_headings_loses_no_text(data: st.DataObject, document: ParsedDocument) -> None:
    tree = build_tree(document, data.draw(headings_of(document)), DEFAULTS)
    in_headings = {line for node in tree.walk() for line in range(*node.heading)}
    own = "\n".join(own_text(document, tree, node) for node in tree.leaves()).split()
    body = [
        word
        for number, line in document.lines()
        if line.role is not LineRole.RUNNING and number not in in_headings
        for word in line.text.split()
    ]
    assert own == body
    whole = span_text(document, (0, document.line_count)).split()
    assert sorted(
        [
            *own,
            *(
                w
                for n, line in document.lines()
                if n in in_headings and line.role is not LineRole.RUNNING
                for w in line.text.split()
            ),
        ]
    ) == sorted(whole)


@settings(max_examples=200, deadline=None)
@given(st.data(), documents())
def test_build_clean_headings_keeps_each_as_a_section(data: st.DataObject, document: ParsedDocument) -> None:
    starts = data.draw(st.lists(st.integers(0, max(document.line_count - 1, 0)), unique=True, max_size=6).map(sorted))
    headings = [
        Heading(f"Title {start}", data.draw(st.integers(1, 4)), (start, start + 1), 1, Origin.LAYOUT, 0.9)
        for start in starts
        if document.line_count
    ]
    tree = build_tree(document, headings, DEFAULTS)
    kept = [node.title for node in tree.walk() if node.kind == "section"]
    assert kept == [heading.title for heading in headings]
    for node in tree.walk():
        if node.parent_id is not None:
            parent = tree.nodes[node.parent_id]
            assert parent.first_page <= node.first_page <= node.last_page <= parent.last_page
