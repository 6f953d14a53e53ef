"""Documents that only changed their name: what a build finds gone and what it finds new in, pairs out.

A pair means that the new document goes on with the ids and summaries of the old one. A wrong pair does little harm: its
sections are matched one by one all the same, and what is unlike gets new ids.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

from pageindex_local.errors import PageindexError, StoreError
from pageindex_local.parsing.text import parse_text
from pageindex_local.records import MediaType, Source
from pageindex_local.settings import ParseSettings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import Release, ReleaseEntry
from pageindex_local.tree.matching.features import Features, count_shared, text_features

LIKE = 0.5  # share of text that a document must keep to be the same under another name, as git has it
_MARGIN = 0.1  # and how much more than any other it must keep


def find_renames(
    added: Mapping[str, Source], gone: Mapping[str, ReleaseEntry], store: IndexStore, settings: ParseSettings
) -> dict[str, str]:
    """New document key -> old document key, each at most once. Deterministic.

    First equal contents, with the same file name where several have them, else in order of their ids; then texts and
    Markdown files that share most of their words. PDF files must be equal: comparing them would mean parsing all.
    """
    pairs = _same_bytes(added, gone)
    free_new = {key: source for key, source in added.items() if key not in pairs}
    free_old = {key: entry for key, entry in gone.items() if key not in pairs.values()}
    return pairs | _same_words(free_new, free_old, store, settings)


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


def _same_words(
    added: Mapping[str, Source], gone: Mapping[str, ReleaseEntry], store: IndexStore, settings: ParseSettings
) -> dict[str, str]:
    new_keys = [key for key, source in sorted(added.items()) if source.media_type is not MediaType.PDF]
    old_keys = [key for key, entry in sorted(gone.items()) if entry.media_type is not MediaType.PDF]
    if not new_keys or not old_keys:
        return {}

    def old_text(key: str) -> str:
        entry = gone[key]
        version = store.open_version(key, entry.version_id, entry.manifest_sha256)
        return "\n".join(page.text for page in version.pages())

    def new_text(key: str) -> str:
        return "\n".join(page.text for page in parse_text(added[key], settings).pages)

    new, old = _read_all(new_keys, new_text), _read_all(old_keys, old_text)
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
        if score >= LIKE and is_best and score >= rival + _MARGIN:
            pairs[new_keys[place]] = old_keys[other]
    return pairs


def _best_two(scores: Iterable[tuple[int, float]]) -> dict[int, tuple[float, float]]:
    """The highest and the second highest score of each place (0 where there is none)."""
    best: dict[int, tuple[float, float]] = {}
    for place, score in scores:
        first, second = best.get(place, (0.0, 0.0))
        best[place] = (score, first) if score > first else (first, max(second, score))
    return best


def _read_all(keys: list[str], read: Callable[[str], str]) -> dict[int, Features]:
    """The words of each document by its place; a document that cannot be read has none (building it will say why)."""
    found: dict[int, Features] = {}
    for place, key in enumerate(keys):
        try:
            found[place] = text_features(read(key))
        except PageindexError:
            found[place] = frozenset()
    return found
