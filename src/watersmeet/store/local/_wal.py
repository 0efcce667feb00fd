"""SQLite's write-ahead log, which lets many read while one writes."""

from __future__ import annotations

import sqlite3
import time

_AGAIN = 0.005  # seconds


def use_wal(db: sqlite3.Connection, patience: float) -> None:
    """Go over to it, waiting for others up to `patience` seconds.

    Where two connections to a new file go over at once, SQLite refuses one of them without waiting: each has begun
    to read, and neither could go on. A search beside the first sync would end that sync.
    """
    last = time.monotonic() + patience
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(_AGAIN)
