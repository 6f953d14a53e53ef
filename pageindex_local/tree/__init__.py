"""Section trees: headings in, a tiling tree with stable ids out. Positions are lines; nothing here reads a file."""
