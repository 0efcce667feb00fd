"""A generation that is built beside the one that is searched, and the one before, which can be taken back.

It has leases, states and records of its own until it is named. So it is filled like an index at a place of its own,
which is its address with `&generation=N`, while others write the index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexBusy, IndexProblem, NotFound, WatersmeetError
from watersmeet.core.index import CatchUp, ChangedRecords, NextGeneration
from watersmeet.store.local.generations import TRY_AGAIN
from watersmeet.store.postgres.generations import (
    drop_generation,
    has_own_tables,
    make_generation,
    name_generation,
    schema_of,
)
from watersmeet.store.postgres.health import size_of_generation
from watersmeet.store.postgres.leases import BESIDE, WRITER, check
from watersmeet.store.postgres.open_writer import take_over

if TYPE_CHECKING:
    from watersmeet.store.postgres.index import Opened, Postgres


def can_be_beside(index: Postgres) -> bool:
    """Whether there is anything that answers meanwhile."""
    if index.opened_parts()[0].generation is not None:
        return False
    try:
        with index.snapshot() as snapshot:
            built = json.loads(snapshot.facts().get("fingerprint", "{}"))
            return built.get("format") == index.format and bool(snapshot.statistics().documents)
    except WatersmeetError:
        return False


@contextmanager
def next_generation(index: Postgres, opened: Opened) -> Iterator[NextGeneration]:
    """A generation with the roots, states and records of the present one."""
    before = schema_of(opened.name, opened.generation().number)
    with building(opened) as number:
        with opened.generation(number).writing.transaction() as db:
            db.execute(f"INSERT INTO facts SELECT * FROM {before}.facts")
            take_over(db, before)
        roots = index.root_places()
        yield NextGeneration(index.address(number), partial(_adopt, index, opened, number, roots))


@contextmanager
def building(opened: Opened) -> Iterator[int]:
    """The number of an empty generation with states and records of its own; it is dropped at the end, unless it was
    named. One at a time is built."""
    if opened.pin is not None:
        raise _one_generation(opened)
    opened.make_lasting()
    lease = opened.leases.attempt(BESIDE)
    if lease is None:
        raise IndexBusy(f"{opened.leases.holder(BESIDE)} is building {opened.place} anew", "wait until it is done")
    try:
        _drop_given_up(opened)
        number = make_generation(opened.lasting, opened.name, own=True)
        try:
            yield number
        finally:
            if opened.current() != number:
                drop_generation(opened.lasting, opened.qdrant, opened.name, number)
    finally:
        opened.leases.release(lease)


def _one_generation(opened: Opened) -> IndexProblem:
    return IndexProblem(f"{opened.place} is one generation", "leave `generation` out of the address")


def _drop_given_up(opened: Opened) -> None:
    """Drop what those who were killed have built."""
    ((current, previous, made),) = opened.lasting.ask("SELECT generation, previous, made FROM index_head")
    for number in range(1, made + 1):
        if number not in (current, previous) and has_own_tables(opened.lasting, opened.name, number):
            drop_generation(opened.lasting, opened.qdrant, opened.name, number)


def _adopt(index: Postgres, opened: Opened, number: int, roots: list[str], catch_up: CatchUp, wait: float) -> None:
    """Name a generation that is complete; the present one becomes the previous."""

    def checked(place: str, changed: ChangedRecords) -> None:
        if sorted(index.root_places()) != sorted(roots):
            raise IndexBusy("folders were added or removed meanwhile", TRY_AGAIN)
        catch_up(place, changed)

    _replace(index, opened, number, checked, wait)


def roll_back(index: Postgres, opened: Opened, catch_up: CatchUp, wait: float) -> str:
    """Name the previous generation again; returns the place of the one that was current."""
    current, previous = opened.generation().number, _previous(opened)
    if previous is None or not has_own_tables(opened.lasting, opened.name, previous):
        raise NotFound("there is no previous generation", "`watersmeet sync --recreate` leaves one")
    _replace(index, opened, previous, catch_up, wait)
    return index.pinned(current).place


def _previous(opened: Opened) -> int | None:
    if opened.pin is not None:
        raise _one_generation(opened)
    ((previous,),) = opened.lasting.ask("SELECT previous FROM index_head")
    return None if previous is None else int(previous)


def _replace(index: Postgres, opened: Opened, number: int, catch_up: CatchUp, wait: float) -> None:
    """Name another generation in one transaction, after it was brought up to date while nobody else writes."""
    with opened.leases.held(WRITER, wait) as lease:
        catch_up(index.address(number), _differences(opened, number))
        with opened.lasting.transaction() as db:
            check(db, lease, index.place)
            name_generation(db, opened.name, number)


def _differences(opened: Opened, number: int) -> ChangedRecords:
    """Records that another generation lacks or has otherwise, and those that only it has."""
    theirs = f"{schema_of(opened.name, number)}.records"
    sql = (
        f"SELECT coalesce(o.path, t.path), o.record FROM records o FULL JOIN {theirs} t ON t.path = o.path"
        " WHERE o.record IS DISTINCT FROM t.record ORDER BY o.version, 1"
    )
    found = opened.lasting.ask(sql)
    gone = [path for path, record in found if record is None]
    return ChangedRecords([record for _, record in found if record is not None], gone)


def forget_previous(opened: Opened) -> int:
    """Drop the previous generation; returns the bytes that this freed in PostgreSQL."""
    previous = _previous(opened)
    sql = "UPDATE index_head SET previous = NULL WHERE previous = %s"
    with opened.lasting.connection() as db:
        if previous is None or not db.execute(sql, [previous]).rowcount:  # another rollback was first
            return 0
    size = size_of_generation(opened, previous)
    drop_generation(opened.lasting, opened.qdrant, opened.name, previous)
    return size
