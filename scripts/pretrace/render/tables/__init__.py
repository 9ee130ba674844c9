"""One file a shape of table, each registered by its decorator."""
