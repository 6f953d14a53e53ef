"""Measures of quality: trees against outlines, retrieval against evidence pages. Records in, numbers out."""
