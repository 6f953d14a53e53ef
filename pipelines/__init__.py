"""The stages as Dagster assets, one dynamic partition a document. Thin: every rule lives in `pageindex_local`."""
