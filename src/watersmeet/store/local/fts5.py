"""The text store in SQLite's FTS5: slower than tantivy, but part of every Python. Its BM25 has k1 = 1.2 and b = 0.75.

Two tables: `words`, with a column for each field, and `forms`, whose tokens are stored in hexadecimal because FTS5 has
no case-sensitive tokenizer.
"""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from errno import EDQUOT, EFBIG, ENOSPC
from threading import RLock
from types import TracebackType
from typing import Any, ClassVar, Self

from watersmeet.common.stems import stem, stems
from watersmeet.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMismatch, IndexProblem, NoIndex
from watersmeet.core.files import can_write, make_private, private
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import Term
from watersmeet.core.tokens import STOPWORDS
from watersmeet.store.local._connect import read_only_mode, sqlite_uri
from watersmeet.store.local._file_checks import check_unmarked
from watersmeet.store.local._text import (
    EXACT_FIELD,
    MAKE_ROOM,
    MAX_TOKEN_LENGTH,
    REBUILD,
    REMAKE_HINT,
    WORD_FIELDS,
    checked_field,
    disk_full,
    distinct,
    plain,
)
from watersmeet.store.local._wal import use_wal

FILE = "text.db"
FORMAT = 2
WORD_TOKENS = "tokenize = \"unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'\""
"""Tokenizer that splits at spaces only: our stems stay whole in FTS5."""
_NOT_WRITTEN = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
WRITER_WAIT_SECONDS = 1.0
"""Seconds to wait for another writer."""

_TABLES = (
    f"CREATE VIRTUAL TABLE words USING fts5({', '.join(WORD_FIELDS)}, {WORD_TOKENS})",
    "CREATE VIRTUAL TABLE forms USING fts5(form)",
    f"PRAGMA user_version = {FORMAT}",
)
_ADD_WORDS = "INSERT INTO words (rowid, body, title, headings, names, tags) VALUES (?, ?, ?, ?, ?, ?)"
_ADD_FORMS = "INSERT INTO forms (rowid, form) VALUES (?, ?)"
_COUNT_WORDS = "SELECT count(*) FROM words WHERE words MATCH ?"
_COUNT_TERMS = (
    "SELECT v.term, v.doc FROM json_each(?1) j CROSS JOIN temp.vocabulary v ON v.term = j.value WHERE v.col = ?2"
)
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, col)"
_COUNT_FORMS = "SELECT count(*) FROM forms WHERE forms MATCH ?"

# A subquery is [expression, boost, weight of each column].
_BOOST = "json_extract(q.value, '$[1]')"
_WEIGHTS = ", ".join(f"json_extract(q.value, '$[{i + 2}]')" for i in range(len(WORD_FIELDS)))
_PARTS = {
    ("words", False): f"SELECT words.rowid AS row, -{_BOOST} * bm25(words, {_WEIGHTS}) AS score",
    ("words", True): f"SELECT words.rowid AS row, {_BOOST} AS score",
    ("forms", False): f"SELECT forms.rowid AS row, -{_BOOST} * bm25(forms) AS score",
    ("forms", True): f"SELECT forms.rowid AS row, {_BOOST} AS score",
}

Subqueries = dict[tuple[str, bool], list[list[Any]]]
"""Subqueries by table, and by whether the score is constant."""


def _token(field: str, text: str) -> str:
    """The token of a word in the index; empty if it has none. Forms of one word have one token, so it counts once."""
    if len(text) > MAX_TOKEN_LENGTH or len(text.split()) != 1 or text.strip() != text:
        return ""
    if field == EXACT_FIELD:
        return text
    return "" if text in STOPWORDS else stem(plain(text))


class _ConnectionPool:
    """A pool of idle connections to one file."""

    def __init__(self) -> None:
        self.lock = RLock()  # reentrant: garbage collection may give back a connection inside these methods
        self.idle: list[sqlite3.Connection] = []
        self.file = (0, 0)

    def take(self, file: tuple[int, int]) -> sqlite3.Connection | None:
        with self.lock:
            if file != self.file:
                self.clear()
                self.file = file
            return self.idle.pop() if self.idle else None

    def give_back(self, connection: sqlite3.Connection, file: tuple[int, int]) -> None:
        """Ends a reader's transaction; connections to a replaced file are closed."""
        with self.lock:
            if file == self.file and len(self.idle) < 8:
                connection.rollback()
                self.idle.append(connection)
            else:
                connection.close()

    def clear(self) -> None:
        idle, self.idle, self.file = self.idle, [], (0, 0)
        for connection in idle:
            connection.close()


@dataclass(frozen=True, slots=True)
class Fts5:
    """The FTS5 text store: a folder with one SQLite file. Each reader holds a transaction, and so a snapshot."""

    folder: str
    _pool: _ConnectionPool = field(default_factory=_ConnectionPool, init=False, repr=False, compare=False)

    of_words: ClassVar[bool] = True

    def writer(self) -> _Writer:
        """The writer, one at a time over all processes; the index is created if there is none."""
        path = os.path.join(self.folder, FILE)
        with _translated_errors(path):
            make_private(self.folder)
            os.close(private(path, os.O_RDWR | os.O_CREAT))
            connection = _connect(path, "rw", WRITER_WAIT_SECONDS)
            with ExitStack() as undo:
                undo.callback(connection.close)
                use_wal(connection, WRITER_WAIT_SECONDS)
                connection.execute("BEGIN IMMEDIATE")
                if _format(connection, path) == 0:
                    for statement in _TABLES:
                        connection.execute(statement)
                    connection.execute("COMMIT")
                    connection.execute("BEGIN IMMEDIATE")
                undo.pop_all()
        return _Writer(path, connection)

    def reader(self) -> _Reader:
        """A reader of the newest commit."""
        path = os.path.join(self.folder, FILE)
        check_unmarked(self.folder, REMAKE_HINT)
        with _translated_errors(path):
            try:
                found = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                raise NoIndex(f"there is no text index in {self.folder}", REMAKE_HINT) from None
            read_only = not (can_write(self.folder) and can_write(path))
            file = (found.st_ino, found.st_mtime_ns if read_only else 0)
            connection = self._pool.take(file) or _connect(path, read_only_mode(path) if read_only else "rw")
            with ExitStack() as undo:
                undo.callback(connection.close)
                connection.execute("BEGIN")
                if _format(connection, path) == 0:  # this read starts the snapshot
                    raise NoIndex(f"there is no text index in {self.folder}", REMAKE_HINT)
                undo.pop_all()
            reader = _Reader(path, connection)
            weakref.finalize(reader, self._pool.give_back, connection, file)
            return reader

    def verify(self) -> None:
        """Raises if the file is damaged, or its index does not match its rows."""
        path = os.path.join(self.folder, FILE)
        if not os.path.exists(path):
            raise NoIndex(f"there is no text index in {self.folder}", REMAKE_HINT)
        read_only = not (can_write(self.folder) and can_write(path))
        with (
            _translated_errors(path),
            closing(_connect(path, read_only_mode(path) if read_only else "rw")) as connection,
        ):
            problems = [text for (text,) in connection.execute("PRAGMA integrity_check(5)") if text != "ok"]
            if problems:
                raise IndexDamaged(f"{path}: {'; '.join(problems)}", REMAKE_HINT)
            for table in () if read_only else ("words", "forms"):  # this check needs write access
                connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")

    def close(self) -> None:
        with self._pool.lock:
            self._pool.clear()


class _Writer:
    """A writer, which holds SQLite's write lock until it is closed."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self._path = path
        self._open: sqlite3.Connection | None = connection

    def add(self, entries: Iterable[Entry]) -> None:
        connection = self._connection()
        for entry in entries:
            texts = {checked_field(name): plain(text) for name, text in entry.fields.items()}
            words = (_stemmed(texts.get(name, "")) for name in WORD_FIELDS)
            exact = " ".join(_hex(form) for form in texts.get(EXACT_FIELD, "").split())
            with _translated_errors(self._path):
                connection.execute(_ADD_WORDS, (entry.row, *words))
                connection.execute(_ADD_FORMS, (entry.row, exact))

    def drop(self, rows: Iterable[Row]) -> None:
        connection, keys = self._connection(), [(row,) for row in rows]
        with _translated_errors(self._path):
            connection.executemany("DELETE FROM words WHERE rowid = ?", keys)
            connection.executemany("DELETE FROM forms WHERE rowid = ?", keys)

    def commit(self) -> None:
        connection = self._connection()
        with _translated_errors(self._path):
            connection.execute("COMMIT")
            connection.execute("BEGIN IMMEDIATE")

    def pieces(self, new: int) -> int:
        return 1

    def analyse(self, field: str, text: str) -> str:
        return _token(checked_field(field), text)

    def row_count(self) -> int:
        with _translated_errors(self._path):
            return int(self._connection().execute("SELECT count(*) FROM words_docsize").fetchone()[0])

    def close(self) -> None:
        """Rolls back and releases the lock."""
        connection, self._open = self._open, None
        if connection is not None:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _connection(self) -> sqlite3.Connection:
        if self._open is None or not self._open.in_transaction:  # SQLite ends a transaction after a grave error
            raise ValueError("the writer is closed or has failed")
        return self._open


class _Reader:
    """A reader of one commit, held open by its own transaction."""

    def __init__(self, path: str, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    @property
    def size(self) -> int:
        return int(self._fetch("SELECT count(*) FROM words_docsize")[0][0])

    def match(
        self, terms: Sequence[Term], limit: int, within: Collection[Row] | None = None
    ) -> list[tuple[Row, float]]:
        subqueries = self._subqueries(terms)
        if not subqueries or limit < 1 or (within is not None and not within):
            return []
        return [(Row(row), score) for row, score in self._scores(subqueries, limit, within)]

    def score(self, terms: Sequence[Term], rows: Collection[Row]) -> dict[Row, float]:
        subqueries = self._subqueries(terms)
        if not subqueries or not rows:
            return {}
        return {Row(row): score for row, score in self._scores(subqueries, len(rows), rows)}

    def frequency(self, field: str, text: str) -> int:
        token = _token(checked_field(field), text)
        if not token:
            return 0
        count = _COUNT_FORMS if field == EXACT_FIELD else _COUNT_WORDS
        return int(self._fetch(count, [_expression(field, token)])[0][0])

    def frequencies(self, field: str, texts: Sequence[str]) -> list[int]:
        if checked_field(field) == EXACT_FIELD:
            return [self.frequency(field, text) for text in texts]
        stems(texts)  # cached, in one call
        tokens = [_token(field, text) for text in texts]
        self._fetch(_VOCABULARY)
        found = dict(self._fetch(_COUNT_TERMS, [json.dumps(list(dict.fromkeys(tokens))), field]))
        return [found.get(token, 0) for token in tokens]

    def analyse(self, field: str, text: str) -> str:
        return _token(checked_field(field), text)

    def average(self, field: str) -> float:
        return 0.0  # FTS5 does not expose it

    def _subqueries(self, terms: Sequence[Term]) -> Subqueries:
        """Groups terms with the same boosts into one expression: FTS5 weighs columns, not words."""
        found: Subqueries = {}
        weights: dict[str, tuple[str, dict[str, float]]] = {}
        for (name, token, constant), term in distinct(terms, _token).items():
            if constant or name == EXACT_FIELD:
                table = "forms" if name == EXACT_FIELD else "words"
                found.setdefault((table, constant), []).append([_expression(name, token), term.boost])
            else:
                weights.setdefault(token, (_quoted(token), {}))[1][name] = term.boost
        by_boosts: dict[tuple[float, ...], list[str]] = {}
        for quoted, by_name in weights.values():
            by_boosts.setdefault(tuple(by_name.get(name, 0.0) for name in WORD_FIELDS), []).append(quoted)
        for boosts, words in by_boosts.items():
            # FTS5 applies weights before BM25's saturation; the highest is factored out, so that a boost multiplies.
            highest = max(boosts)
            columns = " ".join(name for name, boost in zip(WORD_FIELDS, boosts, strict=True) if boost)
            subquery = [f"{{{columns}}} : ({' OR '.join(words)})", highest, *(b / highest for b in boosts)]
            found.setdefault(("words", False), []).append(subquery)
        return found

    def _scores(self, subqueries: Subqueries, limit: int, within: Collection[Row] | None) -> list[tuple[int, float]]:
        # `+` stops FTS5 from looking up each row separately: 20,000 rows took 13 s, with it 0.05 s.
        inside = "" if within is None else " AND +row IN (SELECT value FROM json_each(:within))"
        parts = [
            f"{_PARTS[key]} FROM json_each(:{key[0]}{key[1]:d}) q CROSS JOIN {key[0]}"
            f" WHERE {key[0]} MATCH json_extract(q.value, '$[0]'){inside}"
            for key in subqueries
        ]
        values: dict[str, Any] = {"limit": limit, "within": json.dumps(list(within or ()))}
        values |= {f"{key[0]}{key[1]:d}": json.dumps(queries) for key, queries in subqueries.items()}
        # Rounded, since sums in another order differ in the last digits.
        total = " SELECT row, round(sum(score), 10) AS total FROM found GROUP BY row"
        found = f"WITH found AS MATERIALIZED ({' UNION ALL '.join(parts)})"
        return self._fetch(f"{found}{total} ORDER BY total DESC, row LIMIT :limit", values)

    def _fetch(self, sql: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        with _translated_errors(self._path):
            return self._connection.execute(sql, values).fetchall()


def _stemmed(text: str) -> str:
    """Stems of the words of a text that are no stop words."""
    return " ".join(stems([word for word in text.split() if word not in STOPWORDS]))


def _hex(form: str) -> str:
    return form.encode().hex()


def _quoted(text: str) -> str:
    """A quoted string of FTS5's query language, without operators."""
    return '"' + plain(text).replace('"', '""') + '"'


def _expression(field: str, token: str) -> str:
    return _quoted(_hex(plain(token))) if field == EXACT_FIELD else f"{field} : {_quoted(token)}"


def _connect(path: str, mode: str, timeout: float = 10) -> sqlite3.Connection:
    connection = sqlite3.connect(
        sqlite_uri(path, mode), timeout=timeout, isolation_level=None, check_same_thread=False, uri=True
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _format(connection: sqlite3.Connection, path: str) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if 0 < version < FORMAT:  # stems of SQLite's own; the next sync writes it again
        raise IndexDamaged(f"{path} has format {version}, of an older version", REMAKE_HINT)
    if version not in (0, FORMAT):
        raise IndexMismatch(f"{path} has format {version}; this version reads {FORMAT}", REBUILD)
    return version


@contextmanager
def _translated_errors(path: str) -> Iterator[None]:
    """Turns SQLite errors into index errors with a hint."""
    try:
        yield
    except OSError as error:
        if error.errno in (ENOSPC, EDQUOT, EFBIG):
            raise DiskFull(f"{path}: no space left on the disk", MAKE_ROOM) from error
        raise IndexProblem(f"{path}: {error}", "check the folder's permissions") from error
    except sqlite3.DatabaseError as error:
        extended_code = getattr(error, "sqlite_errorcode", 0)
        code = extended_code & 0xFF
        no_room = extended_code in _NOT_WRITTEN or (code == sqlite3.SQLITE_IOERR and disk_full(os.path.dirname(path)))
        if code == sqlite3.SQLITE_FULL or no_room:
            raise DiskFull(f"{path}: no space left on the disk", MAKE_ROOM) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise IndexBusy(f"{path}: another process is writing", "wait until it is done") from error
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
            raise IndexProblem(f"{path}: {error}", "check the folder's permissions") from error
        raise IndexDamaged(f"{path}: {error}", REMAKE_HINT) from error
