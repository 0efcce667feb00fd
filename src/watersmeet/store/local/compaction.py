"""Compaction of the text store in pieces: others write between two of them, and the next process goes on where a killed
one stopped.

Live rows are written to a new text store in ascending order. What a row has never changes, and new rows are higher than
all others: so the highest row written says what is left. Rows that die meanwhile are dead rows of the new store.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.indexing import Entry, TextWriter
from watersmeet.core.model import Row
from watersmeet.store.local._checksums import seal_meta
from watersmeet.store.local._counts import shared
from watersmeet.store.local._frozen import TEXT_FOLDER
from watersmeet.store.local._private_words import PUBLIC_TEXT, private_rows
from watersmeet.store.local.read_back import read_back
from watersmeet.store.local.rebuild_text import next_folder, prepared_again

if TYPE_CHECKING:
    from watersmeet.store.local.writer import LocalWriter

COMPACTION = "compaction"
"""The entry of `meta` for a compaction that is under way."""
READ_ROWS = 500
"""Rows read from the catalogue at a time."""
COMMIT_PIECES = 8
"""Without anyone waiting, the new store is committed after so many pieces: each commit makes a segment."""
_TEXT_FOLDER = re.compile(TEXT_FOLDER)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a compaction is."""

    folder: str
    """The new text store."""
    replaces: str
    """The text store at its start; if the index has another one by now, the compaction is void."""
    last: Row = Row(0)
    """The highest row written."""
    rows: int = 0
    """How many rows were written."""


class _ChangedWords(Exception):
    """A row's words are not those that its hash was made of: an earlier version did not preserve all."""


def progress_of(meta: Mapping[str, str]) -> Progress | None:
    """The compaction under way, if any. The entry may come from a stranger's backup."""
    try:
        progress = Progress(**json.loads(meta[COMPACTION]))
        ours = _TEXT_FOLDER.fullmatch(progress.folder) and progress.folder != meta["text_folder"]
    except (KeyError, ValueError, TypeError, RecursionError):
        return None
    return progress if ours and progress.replaces == meta["text_folder"] else None


def compact_piece(writer: LocalWriter, piece: int) -> bool:
    """Writes at least `piece` rows to the new text store, and more while nobody waits; returns whether it is complete
    and in use. What fits one piece, or has to be rewritten for another reason, is rewritten at once."""
    meta = writer.meta()
    if shared(writer.db) <= piece or meta.get(PUBLIC_TEXT) != meta["text_folder"]:
        writer.rewrite()
        return True
    writer.close_text()
    progress = progress_of(meta) or Progress(next_folder(writer.folder, meta["text_folder"]), meta["text_folder"])
    kind, folder = json.loads(meta["fingerprint"])["text"], os.path.join(writer.folder, progress.folder)
    written = False
    try:
        with closing(writer.options.open_text(kind, folder)) as store, closing(store.writer()) as text:
            if text.row_count() != progress.rows:
                raise IndexDamaged(f"{folder} is not as it was noted", "it is written anew")
            written = True
            complete = _write(writer, text, progress, piece)
    except IndexDamaged:  # perhaps a process was killed between its two commits
        _note(writer, None)
        if written or not progress.rows:  # then it would happen again, without end
            raise
        return False
    except _ChangedWords:
        writer.rewrite()
        return True
    if complete:
        with suppress(FileNotFoundError):  # running queries may still open it
            os.utime(os.path.join(writer.folder, progress.replaces))
        _note(writer, None, {"text_folder": progress.folder, PUBLIC_TEXT: progress.folder})
    return complete


def _write(writer: LocalWriter, text: TextWriter, progress: Progress, piece: int) -> bool:
    """Writes rows until all are written, or the piece is full and another writer waits."""
    first = committed = progress.rows
    step = min(READ_ROWS, piece)
    while rows := _rows_after(writer, progress.last, step):
        entries = list(_entries(writer, rows))
        if len(rows) < step:
            if progress.rows > committed:
                text.commit()  # so that these can be merged with it
            writer.add_evenly(text, entries, last=True)
            return True
        text.add(entries)
        progress = replace(progress, last=rows[-1], rows=progress.rows + len(entries))
        writer.renew()
        wanted = progress.rows - first >= piece and writer.is_wanted()
        if wanted or progress.rows - committed >= COMMIT_PIECES * piece:
            text.commit()
            _note(writer, progress)
            committed = progress.rows
        if wanted:
            return False
    text.commit()
    return True


def _rows_after(writer: LocalWriter, last: Row, count: int) -> list[Row]:
    sql = "SELECT row FROM chunks WHERE row > ? ORDER BY row LIMIT ?"
    return [Row(row) for (row,) in writer.db.execute(sql, (last, count))]


def _entries(writer: LocalWriter, rows: list[Row]) -> Iterator[Entry]:
    """The public ones of these rows; the words of private ones are in the catalogue."""
    private = private_rows(writer.db, rows)
    for document, chunks in read_back(writer, [row for row in rows if row not in private]):
        for stored, prepared in prepared_again(document, chunks):
            if prepared.hash != stored.hash:
                raise _ChangedWords
            yield Entry(stored.row, prepared.fields)


def _note(writer: LocalWriter, progress: Progress | None, facts: Mapping[str, str] | None = None) -> None:
    """Stores how far the compaction is, and `facts` with it."""
    with writer.transaction() as db:
        if progress is None:
            db.execute("DELETE FROM meta WHERE key = ?", (COMPACTION,))
        else:
            found = {name: getattr(progress, name) for name in Progress.__slots__}
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (COMPACTION, json.dumps(found)))
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", (facts or {}).items())
        seal_meta(db)
