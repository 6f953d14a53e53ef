"""The two records that only exist between the steps of the map and reduce graph."""

from dataclasses import dataclass

from pageindex_local.chunking import Chunk


@dataclass(frozen=True, slots=True)
class ChunkBatch:
    """Some chunks of one document, in order: what one mapped step works on."""

    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class ChunkIds:
    """The ids of all chunks of a document: what the reduce step must receive, no more and no less."""

    ids: tuple[str, ...]
