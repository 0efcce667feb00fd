"""An index over PostgreSQL and Qdrant, for any number of processes.

PostgreSQL is the truth: documents, texts, links, roots, who writes, term numbers, and which rows are live. Qdrant is
derived from it: words and vectors by row number. A row is born and dies with a commit's number and is never used again.
A reader takes the number first, asks Qdrant, and looks up in PostgreSQL what of that lives at that number; a writer
writes the points first and makes them live in one transaction. So neither holds a transaction across calls to the
other.
"""
