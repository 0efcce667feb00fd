"""Leases and row reservations in the catalogue: who writes, and which rows are reserved for whom.

The file lock `writer.lock` decides who writes to a local index; while it is held, the lease does not expire. The fence
number stops a writer that lost the lock without noticing: its next transaction is refused.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from contextlib import suppress

from watersmeet.core.errors import LeaseLost
from watersmeet.core.system import is_running
from watersmeet.core.writing import Lease

WRITER = "writer"
RESERVED_SECONDS = 3600.0
"""How long rows stay reserved for a writer on another machine, which cannot be checked for being alive."""
AGAIN = "nothing of it was committed; run the same command again"


def take(db: sqlite3.Connection, name: str, expires: float) -> Lease:
    """Takes a lease with the next fence number; the previous holder loses it."""
    holder = this_process()
    (fence,) = db.execute(
        "INSERT INTO leases VALUES (?1, ?2, ?3, 1)"
        " ON CONFLICT (name) DO UPDATE SET holder = ?2, expires = ?3, fence = fence + 1 RETURNING fence",
        (name, holder, expires),
    ).fetchone()
    return Lease(name, holder, expires, fence)


def check(db: sqlite3.Connection, lease: Lease, folder: str) -> None:
    """Raises if another process has taken the lease since."""
    found = db.execute("SELECT holder, fence FROM leases WHERE name = ?", (lease.name,)).fetchone()
    if found != (lease.holder, lease.fence):
        raise LeaseLost(f"another process has taken over the writing to {folder}", AGAIN)


def reserve(db: sqlite3.Connection, first: int, count: int, lease: Lease | None) -> None:
    holder, expires, fence = (
        (lease.holder, min(lease.expires, time.time() + RESERVED_SECONDS), lease.fence) if lease else ("", 0.0, 0)
    )
    db.execute("INSERT INTO reserved VALUES (?, ?, ?, ?, ?)", (first, count, holder, expires, fence))


def use(db: sqlite3.Connection, first: int, folder: str) -> None:
    """Uses up a reservation, as its rows become live; raises if it was reclaimed."""
    if db.execute("DELETE FROM reserved WHERE first = ?", (first,)).rowcount != 1:
        raise LeaseLost(f"the rows that were reserved in {folder} have been reclaimed meanwhile", AGAIN)


def give_back(db: sqlite3.Connection, first: int) -> None:
    """Gives back a reservation whose rows will not be used."""
    for count in db.execute("SELECT count FROM reserved WHERE first = ?", (first,)).fetchall():
        _bury(db, first, *count)


def reclaim(db: sqlite3.Connection) -> None:
    """Reclaims reserved rows whose writer has ended or whose reservation has expired."""
    now = time.time()
    for first, count, holder, expires in db.execute("SELECT first, count, holder, expires FROM reserved").fetchall():
        if expires <= now or is_dead(holder):
            _bury(db, first, count)


def _bury(db: sqlite3.Connection, first: int, count: int) -> None:
    """Marks the unused rows of a reservation as dead, since other stores may hold them."""
    sql = "SELECT row FROM chunks WHERE row BETWEEN ? AND ?"
    used = {row for (row,) in db.execute(sql, (first, first + count - 1))}
    rows = [(row, time.time()) for row in range(first, first + count) if row not in used]
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", rows)
    db.execute("DELETE FROM reserved WHERE first = ?", (first,))


def this_process() -> str:
    """A unique holder name for a writer in this process."""
    return f"{_machine()} {os.getpid()} {_started(os.getpid())} {secrets.token_hex(4)}"


def is_dead(holder: str) -> bool:
    """Whether a holder's process has certainly ended; False for other machines, where it cannot be known."""
    machine, _, rest = holder.partition(" ")
    if machine != _machine():
        return False
    pid, started, _ = rest.split(" ")
    running = is_running(int(pid))
    if running is None:
        return False
    return not running or started != _started(int(pid))


def _machine() -> str:
    """This machine or container: process ids are comparable only within one."""
    from socket import gethostname  # only writers need it

    space = ""
    with suppress(OSError):
        space = os.readlink("/proc/self/ns/pid").removeprefix("pid:")
    return f"{gethostname()}{space}".replace(" ", "-")


def _started(pid: int) -> str:
    """The start time of a process in the system's ticks; `?` where unknown."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return "?"
