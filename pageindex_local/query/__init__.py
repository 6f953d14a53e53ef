"""Questions in, ranked pages, answers and checked citations out."""
