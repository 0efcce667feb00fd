"""The tables. One schema lasts as long as the index has its name; each generation of its content has one of its own."""

from __future__ import annotations

VERSION = 1
"""Version of the tables: `MIGRATIONS` brings those of an earlier one up to date."""

LASTING = """
-- One line: which generation is searched and since when, the one before it, and the version of these tables.
CREATE TABLE index_head (
    version int NOT NULL, generation int NOT NULL, previous int, made int NOT NULL, named timestamptz NOT NULL
);
INSERT INTO index_head VALUES (1, 0, NULL, 0, clock_timestamp());
CREATE TABLE leases (
    name text PRIMARY KEY, holder text NOT NULL, expires timestamptz NOT NULL, fence bigint NOT NULL,
    progress bigint NOT NULL DEFAULT 0, wanted timestamptz
);
CREATE TABLE states (name text PRIMARY KEY, version bigint NOT NULL, content bytea);
-- Registered records; a deleted one stays as a path with a version.
CREATE TABLE records (path text PRIMARY KEY, record jsonb, version bigint NOT NULL, changed double precision NOT NULL);
CREATE INDEX ON records (version);
"""

GENERATION = """
-- One line: the number of the last commit, the published statistics, the beginning of the names of collections in
-- Qdrant, that of the words there, the average lengths of fields that they were weighed with, the next row, and how
-- many rows were changed since the statistics were published.
CREATE TABLE head (
    commit bigint NOT NULL, epoch int NOT NULL, points text NOT NULL, words text NOT NULL,
    averages double precision[] NOT NULL, next_row bigint NOT NULL, changed bigint NOT NULL
);
INSERT INTO head VALUES (0, 0, '', 'words', '{}', 1, 0);
CREATE TABLE commits (number bigint PRIMARY KEY, at timestamptz NOT NULL);
CREATE TABLE facts (key text PRIMARY KEY, value text NOT NULL);
CREATE TABLE collections (id serial PRIMARY KEY, name text NOT NULL UNIQUE, metadata jsonb NOT NULL);
CREATE TABLE roots (
    id serial PRIMARY KEY, path text NOT NULL UNIQUE, name text NOT NULL, collection int NOT NULL, prefix text NOT NULL,
    kind text NOT NULL, cursor text NOT NULL DEFAULT ''
);
CREATE TABLE former_roots (path text PRIMARY KEY, name text NOT NULL, prefix text NOT NULL);
CREATE TABLE former_names (name text PRIMARY KEY);
CREATE TABLE files (
    id serial PRIMARY KEY, root int NOT NULL REFERENCES roots ON DELETE CASCADE, name text NOT NULL,
    stamp text NOT NULL, hash bytea NOT NULL, seen bigint NOT NULL, UNIQUE (root, name)
);
-- Each version of a document lives from the commit `born` on until the commit `died`.
CREATE TABLE documents (
    key bigserial PRIMARY KEY, name text NOT NULL, file int, kind text NOT NULL, title text NOT NULL,
    path text NOT NULL, modified timestamptz, created text NOT NULL, collection text NOT NULL, fields json NOT NULL,
    facets jsonb NOT NULL,
    filters text[] NOT NULL, called text[] NOT NULL, known text[] NOT NULL, aliases text[] NOT NULL,
    title_key text NOT NULL, audience int NOT NULL, first_chunk text, record json NOT NULL,
    hash bytea NOT NULL, chunks int NOT NULL, bytes bigint NOT NULL, born bigint NOT NULL, died bigint
);
CREATE UNIQUE INDEX ON documents (name) WHERE died IS NULL;
CREATE INDEX ON documents (name);
CREATE INDEX ON documents (file);
CREATE INDEX ON documents (died) WHERE died IS NOT NULL;
CREATE INDEX ON documents USING gin (filters);
-- `terms`, `fields` and `counts`: how often each numbered term is in which field.
CREATE TABLE chunks (
    row bigint PRIMARY KEY, id text NOT NULL, document bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal int NOT NULL, headings json NOT NULL, place json NOT NULL, text text NOT NULL, hash bytea NOT NULL,
    terms int[] NOT NULL, fields smallint[] NOT NULL, counts int[] NOT NULL, lengths int[] NOT NULL,
    born bigint NOT NULL, died bigint
);
CREATE INDEX ON chunks (id);
CREATE INDEX ON chunks (document, ordinal);
CREATE INDEX ON chunks (died) WHERE died IS NOT NULL;
CREATE TABLE links (
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, ordinal int NOT NULL, key text NOT NULL,
    target text NOT NULL, type text NOT NULL, heading text NOT NULL, alias text NOT NULL
);
CREATE INDEX ON links (document);
CREATE INDEX ON links (key);
CREATE TABLE names (
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, key text NOT NULL, rank int NOT NULL
);
CREATE INDEX ON names (document);
CREATE INDEX ON names (key);
CREATE TABLE mentions (
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE, kind text NOT NULL, word text NOT NULL,
    places text NOT NULL
);
CREATE INDEX ON mentions (document);
CREATE INDEX ON mentions (word);
-- Who may see documents that not everyone may: 0 is everyone.
CREATE TABLE audiences (number serial PRIMARY KEY, labels text[] NOT NULL UNIQUE);
-- Counts of what is live, changed by every commit, so that no query counts.
CREATE TABLE counts (
    audience int NOT NULL, kind text NOT NULL, collection text NOT NULL, documents bigint NOT NULL,
    chunks bigint NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (audience, kind, collection)
);
CREATE TABLE gates (
    key text NOT NULL, value text NOT NULL, documents bigint NOT NULL, PRIMARY KEY (key, value)
);
-- How many live rows of an audience have a vector in each store.
CREATE TABLE embedded (
    store text NOT NULL, audience int NOT NULL, rows bigint NOT NULL, PRIMARY KEY (store, audience)
);
CREATE TABLE terms (number serial PRIMARY KEY, field smallint NOT NULL, text text NOT NULL, UNIQUE (field, text));
-- Statistics in epochs: how many rows of an audience there are, and how many have a term. Never changed.
CREATE TABLE epochs (epoch int NOT NULL, audience int NOT NULL, size bigint NOT NULL, PRIMARY KEY (epoch, audience));
CREATE TABLE frequencies (
    epoch int NOT NULL, term int NOT NULL, audience int NOT NULL, count int NOT NULL,
    PRIMARY KEY (epoch, term, audience)
);
-- What models made: kept to make points again, and for rows whose text stays the same.
CREATE TABLE stores (name text PRIMARY KEY, dimension int NOT NULL);
CREATE TABLE vectors (
    store text NOT NULL, row bigint NOT NULL REFERENCES chunks ON DELETE CASCADE, vector bytea NOT NULL,
    born bigint NOT NULL, PRIMARY KEY (store, row)
);
CREATE INDEX ON vectors (row);
-- How many live rows have each weighted term of a sparse store, by audience, as of its last change.
CREATE TABLE weighted (
    store text NOT NULL, term bigint NOT NULL, audience int NOT NULL, rows bigint NOT NULL,
    PRIMARY KEY (store, term, audience)
);
-- Rows that a writer may have written points of; they are removed if it never makes them live.
CREATE TABLE reserved (
    first bigint PRIMARY KEY, count int NOT NULL, holder text NOT NULL, expires timestamptz NOT NULL,
    fence bigint NOT NULL
);
"""

OF_ITS_OWN = ("leases", "states", "records")
"""Lasting tables that a generation has for itself as long as it is not the one that is searched: so whoever builds it,
or has it open from before, neither waits for the writers of the index nor changes what they have."""

MIGRATIONS: dict[int, str] = {}
"""What brings the lasting tables of a version to the next one."""
