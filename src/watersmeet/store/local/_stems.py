"""What FTS5 makes of a word."""

from __future__ import annotations

import sqlite3
from threading import Lock

from watersmeet.core.tokens import STOPWORDS
from watersmeet.store.local._text import EXACT_FIELD, LONGEST, plain

WORD_TOKENS = "tokenize = \"porter unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\""
"""Only spaces separate: what is one token to us is one token there."""


class Stems:
    """What FTS5 makes of a word, asked of FTS5 itself: a word in two forms must not count twice."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, str] = {}
        self._connection: sqlite3.Connection | None = None

    def analyse(self, field: str, text: str) -> str:
        if len(text) > LONGEST or len(text.split()) != 1 or text.strip() != text:
            return ""
        if field == EXACT_FIELD:
            return text
        if text in STOPWORDS:
            return ""
        with self._lock:
            stem = self._known.get(text)
            if stem is None:
                if len(self._known) > 1 << 16:
                    self._known.clear()
                stem = self._known[text] = self._stem(plain(text))
            return stem

    def _stem(self, text: str) -> str:
        if self._connection is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._connection.execute(f"CREATE VIRTUAL TABLE word USING fts5(text, {WORD_TOKENS})")
            self._connection.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(word, instance)")
        self._connection.execute("INSERT OR REPLACE INTO word (rowid, text) VALUES (1, ?)", (text,))
        stems = self._connection.execute("SELECT term FROM stem").fetchall()
        return str(stems[0][0]) if len(stems) == 1 else ""

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
