"""The index on disk: immutable versions, releases that pin them, one pointer. The only importer of pyarrow."""

from pageindex_local.store.index import IndexStore
from pageindex_local.store.reader import StoredVersion

__all__ = ["IndexStore", "StoredVersion"]
