"""Stems of words, as SQLite's FTS5 makes them (Porter)."""

from __future__ import annotations

import sqlite3
from threading import Lock

WORD_TOKENS = "tokenize = \"porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\""
"""Only spaces separate: what is one token to us is one token there."""
MOST_KNOWN = 1 << 16


class Stems:
    """Asked of FTS5 itself, so that words have the stems of an index in FTS5. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, str] = {}
        self._connection: sqlite3.Connection | None = None

    def stem(self, word: str) -> str:
        """What the forms of a word have in common; nothing if it is not one token."""
        with self._lock:
            stem = self._known.get(word)
            if stem is None:
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                stem = self._known[word] = self._ask(word)
            return stem

    def _ask(self, word: str) -> str:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._connection.execute(f"CREATE VIRTUAL TABLE word USING fts5(text, {WORD_TOKENS})")
            self._connection.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(word, instance)")
        self._connection.execute("INSERT OR REPLACE INTO word (rowid, text) VALUES (1, ?)", (word,))
        stems = self._connection.execute("SELECT term FROM stem").fetchall()
        return str(stems[0][0]) if len(stems) == 1 else ""

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
