"""Corrections made by hand: sections whose text is not the source's, carried from version to version."""
