"""Trees and pages as Parquet bytes and back: one row per node in pre-order, one row per page. Touches no disk.

Written with fixed options, so that equal content gives equal bytes with one pyarrow version. No identity may rest on
these bytes all the same: another pyarrow writes others. This is the only module that imports pyarrow.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pageindex_local.errors import CorruptIndexError
from pageindex_local.records import SectionTree, SummarySource
from pageindex_local.store.lazy_rows import NodeRows, PageRows
from pageindex_local.store.records import StoredPage

_NODES = pa.schema(
    [
        ("node_id", pa.string()),
        ("parent_id", pa.string()),
        ("title", pa.string()),
        ("level", pa.int32()),
        ("kind", pa.string()),
        ("first_line", pa.int64()),
        ("end_line", pa.int64()),
        ("heading_first_line", pa.int64()),
        ("heading_end_line", pa.int64()),
        ("first_page", pa.int32()),
        ("last_page", pa.int32()),
        ("origin", pa.string()),
        ("confidence", pa.float64()),
        ("own_hash", pa.string()),
        ("subtree_hash", pa.string()),
        ("summary", pa.string()),
        ("summary_source", pa.string()),
    ]
)
_PAGES = pa.schema(
    [
        ("page_number", pa.int32()),
        ("label", pa.string()),
        ("first_line", pa.int64()),
        ("line_count", pa.int32()),
        ("text", pa.string()),
        ("running_lines", pa.list_(pa.int64())),
    ]
)


def write_nodes(tree: SectionTree) -> bytes:
    """One row per node, pre-order. Lines count from 0, `end_line` is not included; pages from 1, inclusive."""
    rows = [
        {
            "node_id": node.node_id,
            "parent_id": node.parent_id,
            "title": node.title,
            "level": node.level,
            "kind": node.kind.value,
            "first_line": node.span[0],
            "end_line": node.span[1],
            "heading_first_line": node.heading[0],
            "heading_end_line": node.heading[1],
            "first_page": node.first_page,
            "last_page": node.last_page,
            "origin": node.origin.value,
            "confidence": float(node.confidence),
            "own_hash": node.own_hash,
            "subtree_hash": node.subtree_hash,
            "summary": node.summary,
            "summary_source": node.summary_source.value,
        }
        for node in tree.walk()
    ]
    return _write(rows, _NODES)


def read_nodes(data: bytes, *, subject: str, description: str, description_source: SummarySource) -> SectionTree:
    """The tree again, exactly as written; `subject` names the file in errors. Its nodes become records when asked for.

    Raises:
        CorruptIndexError: not such a table, or rows that form no tree; later, where a node holds an unknown value.
    """
    nodes = NodeRows(_read(data, _NODES, subject), subject)
    return SectionTree(nodes.roots, nodes, description, description_source)


def write_pages(pages: Iterable[StoredPage]) -> bytes:
    """One row per page, in order."""
    rows = [
        {
            "page_number": page.page_number,
            "label": page.label,
            "first_line": page.first_line,
            "line_count": page.line_count,
            "text": page.text,
            "running_lines": list(page.running_lines),
        }
        for page in pages
    ]
    return _write(rows, _PAGES)


def read_pages(data: bytes, *, subject: str) -> PageRows:
    """The pages again, exactly as written; a record is made when it is asked for.

    Raises:
        CorruptIndexError: not such a table.
    """
    return PageRows(_read(data, _PAGES, subject))


def _write(rows: Sequence[dict[str, Any]], schema: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_pylist(list(rows), schema=schema),
        sink,
        version="2.6",
        data_page_version="1.0",
        compression="zstd",
        compression_level=3,
        use_dictionary=False,
        row_group_size=65_536,
        store_schema=False,
        write_page_checksum=True,
    )
    return bytes(sink.getvalue())


def _read(data: bytes, schema: Any, subject: str) -> dict[str, Any]:
    """The columns of a table by name, each one array."""
    try:
        table = pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CorruptIndexError(f"is no readable Parquet file ({error})", subject=subject) from None
    if table.schema.names != schema.names:
        raise CorruptIndexError(f"has the columns {', '.join(table.schema.names)}", subject=subject)
    try:
        cast = table.cast(schema)
    except pa.ArrowException as error:
        raise CorruptIndexError(f"has columns of other types ({error})", subject=subject) from None
    return {name: cast[name].combine_chunks() for name in schema.names}
