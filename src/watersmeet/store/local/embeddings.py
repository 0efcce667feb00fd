"""The embedding cache: vectors by text, shared by all indexes of a user. Entries may be evicted; it never raises.

Vectors are stored as float16 in SQLite, by model fingerprint and text hash. `put_many` returns what a later `get_many`
would, so that a fresh vector equals a cached one.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from watersmeet.core.errors import IndexProblem
from watersmeet.core.files import make_private, private, tighten
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import locked
from watersmeet.core.options import option
from watersmeet.store.local._wal import use_wal

if TYPE_CHECKING:
    from watersmeet.core.vectors import Matrix, Vector

T = TypeVar("T")

_FILE = "embeddings.sqlite"
_KEYS_PER_STATEMENT = 500
_FILL_AFTER_EVICTION = 0.9  # share of the limit
_SCHEMA = """
CREATE TABLE IF NOT EXISTS model (id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS vector (
  model INTEGER NOT NULL, key BLOB NOT NULL, used REAL NOT NULL, data BLOB NOT NULL, PRIMARY KEY (model, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vector_used ON vector (used);
"""


@dataclass(slots=True)
class _State:
    connection: sqlite3.Connection | None = None
    inode: int = 0
    process: int = 0
    warnings: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)


@dataclass(frozen=True, slots=True)
class Embeddings:
    """The cache of embeddings: one file for all indexes of a user."""

    folder: str
    limit_mb: float = option(
        2048.0, "size limit of the cache; the least recently used vectors are deleted first", least=0
    )
    touch: float = option(3600.0, "seconds after which the time of last use is updated", least=0)
    patience: float = option(10.0, "seconds to wait for another process that is writing", least=0)
    _state: _State = field(default_factory=_State, init=False, repr=False, compare=False)

    def get_many(self, fingerprint: str, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The cached vectors; keys without one are left out."""
        return self._safely(lambda db: self._get(db, fingerprint, keys), {})

    def put_many(self, fingerprint: str, keys: Sequence[bytes], vectors: Matrix) -> Matrix:
        """Caches vectors, and returns them rounded as they are stored."""
        import numpy as np

        if len(keys) != len(vectors):
            raise ValueError(f"{len(keys)} keys for {len(vectors)} vectors")
        rounded = np.asarray(vectors).astype("<f2")
        if len(keys):
            self._safely(lambda db: self._put(db, fingerprint, list(zip(keys, rounded, strict=True))), None)
        return rounded.astype(np.float32)

    def size_bytes(self) -> int:
        """Bytes of the file in use."""
        return self._safely(_used_bytes, 0)

    def warnings(self) -> list[str]:
        """Warnings for the user since the last call."""
        with self._state.lock:
            warnings, self._state.warnings = self._state.warnings, []
        return warnings

    def close(self) -> None:
        state = self._state
        with state.lock:
            if state.connection is not None and state.process == os.getpid():
                state.connection.close()
            state.connection = None

    # ------------------------------------------------------------ inside

    def _get(self, db: sqlite3.Connection, fingerprint: str, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        import numpy as np

        found: dict[bytes, Vector] = {}
        stale: list[bytes] = []
        row = db.execute("SELECT id FROM model WHERE fingerprint = ?", (fingerprint,)).fetchone()
        if row is None:
            return found
        now = time.time()
        for start in range(0, len(keys), _KEYS_PER_STATEMENT):
            batch = keys[start : start + _KEYS_PER_STATEMENT]
            marks = ",".join("?" * len(batch))
            sql = f"SELECT key, used, data FROM vector WHERE model = ? AND key IN ({marks})"
            for key, used, data in db.execute(sql, (row[0], *batch)):
                vector = np.frombuffer(data, dtype="<f2").astype(np.float32)
                if np.isfinite(vector).all():
                    found[key] = vector
                if used <= now - self.touch:
                    stale.append(key)
        if stale:
            db.execute("BEGIN IMMEDIATE")
            with db:
                updates = ((now, row[0], key) for key in stale)
                db.executemany("UPDATE vector SET used = ? WHERE model = ? AND key = ?", updates)
        return found

    def _put(self, db: sqlite3.Connection, fingerprint: str, entries: Sequence[tuple[bytes, Vector]]) -> None:
        now = time.time()
        db.execute("BEGIN IMMEDIATE")
        with db:
            db.execute("INSERT OR IGNORE INTO model (fingerprint) VALUES (?)", (fingerprint,))
            (model,) = db.execute("SELECT id FROM model WHERE fingerprint = ?", (fingerprint,)).fetchone()
            rows = ((model, key, now, vector.tobytes()) for key, vector in entries)
            db.executemany("INSERT OR REPLACE INTO vector (model, key, used, data) VALUES (?, ?, ?, ?)", rows)
            self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        """Deletes the least recently used vectors, a tenth of the limit at once so that this is rare."""
        limit = self.limit_mb * 1e6
        if _used_bytes(db) <= limit:
            return
        (count,) = db.execute("SELECT count(*) FROM vector").fetchone()
        oldest = "SELECT model, key FROM vector ORDER BY used LIMIT ?"
        while _used_bytes(db) > _FILL_AFTER_EVICTION * limit:  # pages empty only when their neighbours have gone too
            gone = db.execute(f"DELETE FROM vector WHERE (model, key) IN ({oldest})", (count // 20 + 1,))
            if not gone.rowcount:
                return

    def _safely(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Runs `work`; with a new file if the old one is damaged; returns `otherwise` if that fails too."""
        with self._state.lock:
            for attempt in range(2):
                try:
                    return work(self._connected())
                except (sqlite3.OperationalError, OSError) as error:
                    if not _damaged(error):
                        self._warn(f"the embedding cache cannot be used: {error}")
                        break
                    self._set_aside(error)
                except sqlite3.DatabaseError as error:
                    self._set_aside(error)
                if attempt:
                    self._warn("the embedding cache cannot be used: it is damaged again")
            return otherwise

    def _connected(self) -> sqlite3.Connection:
        state = self._state
        if state.connection is not None and state.process == os.getpid():
            return state.connection
        path = Path(self.folder) / _FILE
        make_private(self.folder)
        tighten(self.folder)
        os.close(private(str(path), os.O_RDWR | os.O_CREAT))
        db = sqlite3.connect(path, timeout=self.patience, isolation_level=None, check_same_thread=False)
        with ExitStack() as undo:
            undo.callback(db.close)
            use_wal(db, self.patience)
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA journal_size_limit = {1 << 24}")
            db.executescript(_SCHEMA)
            state.inode = path.stat().st_ino
            undo.pop_all()
        state.connection, state.process = db, os.getpid()
        return db

    def _set_aside(self, error: Exception) -> None:
        """Rename the damaged file, unless another process has done so already."""
        path = Path(self.folder) / _FILE
        try:
            opened = self._state.inode if self._state.connection is not None else path.stat().st_ino
            self.close()
            with locked(self.folder, self.patience, "lock"):
                if path.exists() and path.stat().st_ino == opened:
                    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
                    path.rename(aside)
                    for tail in ("-wal", "-shm"):
                        path.with_name(path.name + tail).unlink(missing_ok=True)
                    self._warn(
                        f"the embedding cache was damaged ({error}); it was renamed to {aside.name} and replaced"
                    )
        except (OSError, IndexProblem) as problem:
            self._warn(f"the damaged embedding cache cannot be replaced: {problem}")

    def _warn(self, text: str) -> None:
        if text not in self._state.warnings:
            self._state.warnings.append(text)


def _used_bytes(db: sqlite3.Connection) -> int:
    values = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")]
    return int((values[0] - values[1]) * values[2])


def _damaged(error: Exception) -> bool:
    """Whether the error means a damaged file, rather than a busy, full or unreachable one."""
    text = str(error)
    return any(sign in text for sign in ("malformed", "no such table", "no such column", "not a database"))
