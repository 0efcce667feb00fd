"""SQLite's write-ahead log, which lets many read while one writes."""

from __future__ import annotations

import sqlite3
import time

_RETRY_SECONDS = 0.005


def use_wal(db: sqlite3.Connection, timeout: float) -> None:
    """Switches to WAL mode, waiting for other connections up to `timeout` seconds.

    When two connections to a new file switch at once, SQLite refuses one of them without waiting, to avoid a deadlock.
    Without retries a search during the first sync would end that sync.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)
