"""The index in a folder: SQLite decides which rows are live; text, vector and posting stores lie beside it."""
