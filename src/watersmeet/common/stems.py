"""Porter stems of words, computed by SQLite's FTS5."""

from __future__ import annotations

import sqlite3
from threading import Lock

WORD_TOKENS = "tokenize = \"porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\""
"""Tokenizer that splits at spaces only: our tokens stay whole in FTS5."""
MAX_CACHED_STEMS = 1 << 16


class Stems:
    """A stemmer that uses FTS5 itself, so that stems equal those of an FTS5 index. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cache: dict[str, str] = {}
        self._connection: sqlite3.Connection | None = None

    def stem(self, word: str) -> str:
        """Stem of a word; empty if it is not one token."""
        with self._lock:
            stem = self._cache.get(word)
            if stem is None:
                if len(self._cache) >= MAX_CACHED_STEMS:
                    self._cache.clear()
                stem = self._cache[word] = self._compute(word)
            return stem

    def _compute(self, word: str) -> str:
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
