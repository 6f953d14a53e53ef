"""Which node of a new tree is which node of the old one: two trees in, pairs and lineage out. Mints nothing."""
