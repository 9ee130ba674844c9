"""One file a kind of figure, each registered by its decorator."""
