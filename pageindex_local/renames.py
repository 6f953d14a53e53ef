"""Documents that only changed their name: what a build finds gone and what it finds new in, pairs out.

A pair means that the new document goes on with the ids and summaries of the old one. A wrong pair does little harm: its
sections are matched one by one all the same, and what is unlike gets new ids.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace

from pageindex_local.errors import PageindexError, StoreError
from pageindex_local.parsing import parse_source
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.records import MediaType, Source
from pageindex_local.settings import ParseSettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion
from pageindex_local.store.records import Release, ReleaseEntry
from pageindex_local.tree.matching.features import Features, count_shared, text_features

LIKE = 0.5  # share of its runs of words that a text must keep to be the same under another name, as git has it
# Of a PDF: reports of two periods in a row share half of theirs, and a tenth of all words reworded leaves 0.72.
PDF_LIKE = 0.7
_MARGIN = 0.1  # and how much more than any other it must keep
_MAX_RUNS = 2_000_000  # more than that in all PDF files that come and go would be minutes and gigabytes to compare
_MAX_GROWTH = 4  # two PDF files that differ in size by more are not compared


def find_renames(
    added: Mapping[str, Source],
    gone: Mapping[str, ReleaseEntry],
    store: IndexStore,
    settings: ParseSettings,
    parser: ParserProcess | None = None,
    *,
    unread: Collection[str] = (),
) -> dict[str, str]:
    """New document key -> old document key, each at most once. Deterministic.

    First equal contents, with the same file name where several have them, else in order of their ids; then texts and
    Markdown files, and last PDF files, that share most of their words. For that a new PDF file is parsed, by `parser`,
    once more than to build it; those of `unread` are compared by their bytes alone. Where more is new and gone than can
    be compared, PDF files have to be equal.
    """
    pairs = _same_bytes(added, gone)
    free_new = {key: source for key, source in added.items() if key not in pairs and key not in unread}
    free_old = {key: entry for key, entry in gone.items() if key not in pairs.values()}
    with nullcontext(parser) if parser is not None else ParserProcess() as reader:
        rest = _Texts(free_new, free_old, store, settings, reader)
        pairs |= _same_words(rest.select(is_pdf=False), LIKE)
        return pairs | _same_words(rest.select(is_pdf=True).of_like_size(), PDF_LIKE, _MAX_RUNS)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Documents that came and went, and how their text is read."""

    added: Mapping[str, Source]
    gone: Mapping[str, ReleaseEntry]
    store: IndexStore
    settings: ParseSettings
    parser: ParserProcess

    def select(self, *, is_pdf: bool) -> "_Texts":
        """The PDF files, or the others."""
        new = {key: source for key, source in self.added.items() if (source.media_type is MediaType.PDF) == is_pdf}
        old = {key: entry for key, entry in self.gone.items() if (entry.media_type is MediaType.PDF) == is_pdf}
        return replace(self, added=new, gone=old)

    def of_like_size(self) -> "_Texts":
        """Those that have one of about their size on the other side. Reads the manifests of what is gone."""
        sizes: dict[str, int] = {}
        for key in self.gone if self.added else ():
            with suppress(StoreError):  # a damaged version is no reason to build nothing
                sizes[key] = self._old(key).manifest.source_size_bytes
        new = {key: s for key, s in self.added.items() if _is_near(s.size_bytes, sizes.values())}
        near = [source.size_bytes for source in new.values()]
        return replace(self, added=new, gone={key: self.gone[key] for key in sizes if _is_near(sizes[key], near)})

    def read_new(self, key: str) -> str:
        """The text of a new document."""
        document = parse_source(self.added[key], self.settings, parser=self.parser)
        return "\n".join(page.text for page in document.pages)

    def read_old(self, key: str) -> str:
        """The text of a document that is gone."""
        return "\n".join(page.text for page in self._old(key).pages())

    def _old(self, key: str) -> StoredVersion:
        entry = self.gone[key]
        return self.store.open_version(key, entry.version_id, entry.manifest_sha256)


def gone_documents(current: Release | None, there: Iterable[str]) -> dict[str, ReleaseEntry]:
    """The documents of a release that are not among those keys."""
    keys = set(there)
    return {} if current is None else {key: entry for key, entry in current.documents.items() if key not in keys}


def find_renamed_away(store: IndexStore) -> frozenset[str]:
    """Keys of all documents that went on under another name in a release that is still kept. Reads every release."""
    found: set[str] = set()
    before: Mapping[str, ReleaseEntry] = {}
    for name in store.releases():
        after = store.release(name).documents
        fresh = after.keys() - before.keys() if before.keys() - after.keys() else set()
        for doc_key in fresh:
            with suppress(StoreError):
                former = store.open_version(doc_key, after[doc_key].version_id).manifest.renamed_from
                if former is not None:
                    found.add(former.doc_key)
        before = after
    return frozenset(found)


def _same_bytes(added: Mapping[str, Source], gone: Mapping[str, ReleaseEntry]) -> dict[str, str]:
    old_by_hash: defaultdict[str, list[str]] = defaultdict(list)
    for key, entry in sorted(gone.items(), key=lambda item: item[1].doc_id):
        old_by_hash[entry.source_sha256].append(key)
    pairs: dict[str, str] = {}
    ordered = sorted(added.items(), key=lambda item: item[1].doc_id)
    for same_name in (True, False):
        for key, source in ordered:
            candidates = old_by_hash.get(source.sha256, [])
            if same_name:
                candidates = [old for old in candidates if _name(gone[old].doc_id) == _name(source.doc_id)]
            if key not in pairs and candidates:
                pairs[key] = candidates[0]
                old_by_hash[source.sha256].remove(candidates[0])
    return pairs


def _name(doc_id: str) -> str:
    return doc_id.rsplit("/", 1)[-1]


def _is_near(size: int, others: Iterable[int]) -> bool:
    return any(size <= _MAX_GROWTH * other and other <= _MAX_GROWTH * size for other in others)


def _same_words(texts: _Texts, like: float, max_runs: int | None = None) -> dict[str, str]:
    added, gone = texts.added, texts.gone
    new_keys, old_keys = sorted(added), sorted(gone)
    if not new_keys or not old_keys:
        return {}
    old = _read_all(old_keys, texts.read_old, max_runs)
    new = _read_all(new_keys, texts.read_new, max_runs) if old else {}
    if not new:
        return {}
    scores = [
        (2 * count / (len(new[place]) + len(old[other])), place, other)
        for place, counts in count_shared(new, old).items()
        for other, count in counts.items()
        if added[new_keys[place]].media_type is gone[old_keys[other]].media_type
    ]
    of_new, of_old = _best_two((place, score) for score, place, _ in scores), _best_two((o, s) for s, _, o in scores)
    pairs: dict[str, str] = {}
    for score, place, other in scores:
        # Two pairs of equal score are each other's rival, so the second best of each side is enough.
        rival = max(of_new[place][1], of_old[other][1])
        is_best = score == of_new[place][0] == of_old[other][0]
        if score >= like and is_best and score >= rival + _MARGIN:
            pairs[new_keys[place]] = old_keys[other]
    return pairs


def _best_two(scores: Iterable[tuple[int, float]]) -> dict[int, tuple[float, float]]:
    """The highest and the second highest score of each place (0 where there is none)."""
    best: dict[int, tuple[float, float]] = {}
    for place, score in scores:
        first, second = best.get(place, (0.0, 0.0))
        best[place] = (score, first) if score > first else (first, max(second, score))
    return best


def _read_all(keys: list[str], read: Callable[[str], str], max_runs: int | None) -> dict[int, Features]:
    """The words of each document by its place; none at all where they are more than `max_runs`.

    A document that cannot be read has none (building it will say why).
    """
    found: dict[int, Features] = {}
    runs = 0
    for place, key in enumerate(keys):
        try:
            found[place] = text_features(read(key))
        except PageindexError:
            found[place] = frozenset()
        runs += len(found[place])
        if max_runs is not None and runs > max_runs:
            return {}
    return found
