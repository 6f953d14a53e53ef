"""One dynamic partition a document; its key is the `doc_key`, never a path."""

import re
from collections.abc import Iterable

import dagster as dg

from pageindex_local.ids import DOC_KEY_PATTERN

DOCUMENTS = "documents"
_CHUNK = 500  # Dagster puts all keys of one call into one SQL statement

documents = dg.DynamicPartitionsDefinition(name=DOCUMENTS)


def check_key(doc_key: str) -> str:
    """The key itself, if it is one of ours.

    Raises:
        dg.Failure: it is not; Dagster itself accepts almost any text.
    """
    if not re.fullmatch(DOC_KEY_PATTERN, doc_key):
        raise dg.Failure(f"{doc_key!r} is no document key", allow_retries=False)
    return doc_key


def add_documents(instance: dg.DagsterInstance, doc_keys: Iterable[str]) -> None:
    """Make partitions known to an instance; those that are known already stay."""
    keys = [check_key(doc_key) for doc_key in doc_keys]
    for start in range(0, len(keys), _CHUNK):
        instance.add_dynamic_partitions(DOCUMENTS, keys[start : start + _CHUNK])


def requests_to_add(doc_keys: Iterable[str]) -> list[dg.AddDynamicPartitionsRequest]:
    """The same as requests that a sensor may return."""
    keys = [check_key(doc_key) for doc_key in doc_keys]
    return [documents.build_add_request(keys[start : start + _CHUNK]) for start in range(0, len(keys), _CHUNK)]
