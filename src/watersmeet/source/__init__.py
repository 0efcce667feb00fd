"""Sources: where documents are read from."""
