"""One file a kind of figure; `catalogue` lists the functions."""
