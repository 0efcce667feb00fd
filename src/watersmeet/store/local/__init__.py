"""An index in a folder: SQLite decides what is live; words, vectors and postings lie beside it."""
