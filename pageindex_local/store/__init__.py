"""The index on disk: immutable versions, releases that pin them, one pointer. The only importer of pyarrow."""
