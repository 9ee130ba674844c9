"""One file a shape of table; `catalogue` lists the functions."""
