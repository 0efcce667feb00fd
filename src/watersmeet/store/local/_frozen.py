"""Frozen indexes: copies that are never written again, and that may come from a stranger.

The file `frozen` in an index folder says so. SQLite then opens the catalogue as immutable, without what a prepared file
could abuse, and only if its tables are ours: a view or a trigger would run in the middle of our queries.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping
from functools import cache

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.index import CURRENT_TIERS, FROZEN, NEXT_TIERS

HINT = "export it again, or get another copy"
MAX_VALUE_BYTES = 200_000_000
"""Longest text or blob that is read from a frozen catalogue."""
MAX_DIMENSION = 65_536
TEXT_FOLDER, TIER_FOLDER = r"text-\d{1,9}", r"vectors-[a-z]{1,20}-\d{1,9}-[\w.-]{1,8}"
"""Names of the folders of stores; the last part is the beginning of the model's fingerprint."""
_TEXT_FOLDER, _TIER_FOLDER = re.compile(TEXT_FOLDER), re.compile(TIER_FOLDER)
_SPACE = re.compile(r"\s+")


def is_frozen(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, FROZEN))


def harden(db: sqlite3.Connection, path: str) -> None:
    """Settings for a catalogue that may be a stranger's, and a check of its tables."""
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "query_only = ON"):
        db.execute(f"PRAGMA {pragma}")
    found = db.execute("SELECT type, name, sql FROM sqlite_master LIMIT 1000").fetchall()
    for kind, name, sql in found:
        if (kind, name, _plain(sql)) not in _schema():
            raise IndexMismatch(f"{path} has a {kind} {str(name)[:40]!r} that is not ours", HINT)


def check_objects(db: sqlite3.Connection, path: str, *, ours: bool = True) -> None:
    """Raise if a database of a stranger has a view or a trigger, or with `ours` a table or index that no catalogue has.
    Unlike `harden`, it accepts tables that an upgrade has altered."""
    names = {(kind, name) for kind, name, _ in _schema()}
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master LIMIT 1000").fetchall():
        is_virtual = _plain(sql).casefold().startswith("create virtual")
        if kind not in ("table", "index") or (ours and ((kind, name) not in names or is_virtual)):
            raise IndexMismatch(f"{path} has a {kind} {str(name)[:40]!r} that is not ours", HINT)


@cache
def _schema() -> frozenset[tuple[str, str, str]]:
    """Every table and index that a catalogue of this version may have."""
    from watersmeet.store.local import _private_words
    from watersmeet.store.local._schema import FORMER_NAMES, MENTIONS, TABLES

    db = sqlite3.connect(":memory:")
    for script in (TABLES, FORMER_NAMES, MENTIONS):
        db.executescript(script)
    _private_words.create(db)
    rows = db.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    db.close()
    return frozenset((kind, name, _plain(sql)) for kind, name, sql in rows)


def _plain(sql: object) -> str:
    """SQL without comments, with single spaces: as `executescript` and single statements both store it."""
    text = re.sub(r"--[^\n]*", " ", str(sql or ""))
    return _SPACE.sub(" ", text).strip()


def check_frozen(folder: str, db: sqlite3.Connection) -> None:
    """Raise if a frozen index cannot be served: names that lead out of its folder, a damaged catalogue."""
    try:
        problems = [str(text) for (text,) in db.execute("PRAGMA quick_check(3)")]
        meta = dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"{folder}: {error}", HINT) from error
    if problems != ["ok"]:
        raise IndexDamaged(f"{folder}: {problems[0][:200]}", HINT)
    check_folder_names(meta, folder)


def check_folder_names(meta: Mapping[str, str], folder: str) -> None:
    """Raise if an entry of `meta` names a store outside of the index."""

    def least(tier: Mapping[str, object]) -> int:
        return 0 if tier["name"] == "sparse" else 1  # weighted terms have no dimension

    try:
        tiers = [tier for key in (CURRENT_TIERS, NEXT_TIERS) for tier in json.loads(meta.get(key, "{}")).values()]
        sound = _TEXT_FOLDER.fullmatch(meta.get("text_folder", "")) and all(
            _TIER_FOLDER.fullmatch(tier["folder"]) and least(tier) <= int(tier["dimension"]) <= MAX_DIMENSION
            for tier in tiers
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IndexDamaged(f"{folder}: its facts cannot be read: {error}", HINT) from error
    if not sound:
        raise IndexDamaged(f"{folder}: it names a store that is not its own", HINT)
