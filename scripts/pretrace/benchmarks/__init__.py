"""Read a source of texts, give the standard table of texts, labels and folds (one file per loader)."""
