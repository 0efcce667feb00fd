"""The catalogue's SQL schema; `_upgrade.py` migrates earlier versions to it."""

from __future__ import annotations

FORMER_ROOTS = """
-- Roots that were let go of: if they come back, their documents have the ids that they had, and nobody else's have.
CREATE TABLE former_roots (path TEXT PRIMARY KEY, name TEXT NOT NULL, prefix TEXT NOT NULL) WITHOUT ROWID
"""

BY_DATE = "CREATE INDEX documents_by_date ON documents (modified)"
BY_KIND = "CREATE INDEX documents_by_kind ON documents (kind)"
BY_COLLECTION = "CREATE INDEX documents_by_collection ON documents (collection)"

LEASES = """
-- Who may write, until when. The fence grows with every lease: whoever has an older one writes no more.
CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, expires REAL NOT NULL, fence INTEGER NOT NULL)
    WITHOUT ROWID
"""

UNSEEN = """
-- Live rows that are not in a vector store yet.
CREATE TABLE unseen (
    store TEXT NOT NULL, row INTEGER NOT NULL, private INTEGER NOT NULL, PRIMARY KEY (store, row)
) WITHOUT ROWID
"""

COUNTS = """
-- How many documents, chunks and documents of each kind there are: changed with every commit.
CREATE TABLE counts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID
"""

RECORDS = """
-- What was registered: documents are derived from it, in the same transaction. Of what was deleted, `record` is NULL.
-- The version grows with every change, to whichever record.
CREATE TABLE records (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, record TEXT, version INTEGER NOT NULL UNIQUE,
    changed REAL NOT NULL, sum INTEGER NOT NULL
)
"""

TABLES = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE collections (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL DEFAULT '{{}}'
);
-- `prefix` stands in front of the ids of a root's documents. It is chosen once. `path` is relative where it can be.
-- Of what is no folder it is the address. `kind` is the source that reads it, `cursor` where that goes on.
CREATE TABLE roots (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE, collection INTEGER NOT NULL,
    prefix TEXT NOT NULL DEFAULT '', kind TEXT NOT NULL DEFAULT 'folder', cursor TEXT NOT NULL DEFAULT ''
);
{FORMER_ROOTS};
-- What a source offered: `stamp` is compared first, `hash` only where the stamp leaves a doubt.
CREATE TABLE files (
    id INTEGER PRIMARY KEY, root INTEGER NOT NULL, name TEXT NOT NULL, stamp TEXT NOT NULL, hash BLOB NOT NULL,
    seen INTEGER NOT NULL, UNIQUE (root, name)
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, file INTEGER, collection INTEGER NOT NULL,
    kind TEXT NOT NULL, title TEXT NOT NULL, path TEXT NOT NULL, modified REAL, hash BLOB NOT NULL,
    fields TEXT NOT NULL DEFAULT '{{}}'
);
CREATE INDEX documents_of_file ON documents (file);
CREATE INDEX documents_by_hash ON documents (hash);
{BY_DATE};
{BY_KIND};
{BY_COLLECTION};
-- The live rows, and no others: a row that is not here does not exist. `place` is a page, slide, sheet or anchor.
CREATE TABLE chunks (
    row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    headings TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, hash BLOB NOT NULL, text TEXT NOT NULL,
    place TEXT NOT NULL DEFAULT ''
);
CREATE INDEX chunks_of_document ON chunks (document, ordinal);
-- What can be filtered by: tags, front matter, metadata, with values in lower case.
CREATE TABLE facets (
    key TEXT NOT NULL, value TEXT NOT NULL, document INTEGER NOT NULL, PRIMARY KEY (key, value, document)
) WITHOUT ROWID;
CREATE INDEX facets_of_document ON facets (document);
-- What a link may call a document: its path, the ends of its path, its aliases. A low rank is a closer name.
CREATE TABLE names (
    key TEXT NOT NULL, document INTEGER NOT NULL, rank INTEGER NOT NULL, PRIMARY KEY (key, document)
) WITHOUT ROWID;
CREATE INDEX names_of_document ON names (document);
CREATE TABLE links (
    document INTEGER NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL, type TEXT NOT NULL,
    heading TEXT NOT NULL, alias TEXT NOT NULL
);
CREATE INDEX links_of_document ON links (document);
CREATE INDEX links_by_key ON links (key);
-- Rows promised to a writer. What is left here when it dies may stand in the other stores but never lived. Nobody else
-- takes them before they expire. `fence` is that of the writer's lease.
CREATE TABLE reserved (
    first INTEGER PRIMARY KEY, count INTEGER NOT NULL, holder TEXT NOT NULL DEFAULT '', expires REAL NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0
);
{LEASES};
{UNSEEN};
{COUNTS};
{RECORDS};
-- Rows to delete from the other stores once no query can still hold them.
CREATE TABLE dead (row INTEGER PRIMARY KEY, died REAL NOT NULL);
"""

FORMER_NAMES = """
-- How ids began that such roots had: no new root gets one of these for its prefix.
CREATE TABLE IF NOT EXISTS former_names (name TEXT PRIMARY KEY) WITHOUT ROWID
"""
"""Created when the first root is removed."""

MENTIONS = """
-- Which words an entity of a registry mentions, and in which of its places (core/boosts.py says what a bit stands for).
CREATE TABLE IF NOT EXISTS mentions (
    word TEXT NOT NULL, kind TEXT NOT NULL, document INTEGER NOT NULL, places NOT NULL,
    PRIMARY KEY (word, kind, document)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS mentions_of_document ON mentions (document);
"""
"""Created with the first registry entity."""
