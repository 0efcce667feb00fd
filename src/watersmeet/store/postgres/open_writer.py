"""Opening an index for writing: made if there is none, refused if settings do not fit, or filled anew beside itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexProblem, WatersmeetError
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, TIERS_BEFORE_REBUILD, WAITING_RECORDS
from watersmeet.core.text_fields import FORM
from watersmeet.store.postgres.generations import (
    drop_generation,
    has_own_tables,
    make_generation,
    name_generation,
    schema_of,
)
from watersmeet.store.postgres.leases import BESIDE, WRITER
from watersmeet.store.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from watersmeet.core.writing import Lease, WriterOptions
    from watersmeet.store.postgres.index import Opened
    from watersmeet.store.postgres.pool import Db

KEPT_TABLES = ("roots", "former_roots", "former_names", "collections")
"""What a new generation takes over: files are read again, and get the ids that they had."""
TEXT_FORM = "text_form"
MOVING = "moving"
"""Key of a fact of a generation that a move fills: the identity of what is moved."""
KEEP_MOVING_HOURS = 72


@contextmanager
def open_writer(
    opened: Opened, place: str, options: WriterOptions, recreate: bool, epoch_share: float, keep_hours: float
) -> Iterator[PostgresWriter]:
    """A writer that holds the lease. `recreate`: it fills a new generation, which queries search once it is done."""
    opened.make_lasting()
    with ExitStack() as stack:
        lease = opened.leases.take(WRITER, options.lock_seconds)
        current, beside = opened.current(), opened.pin is not None
        writer: PostgresWriter | None = None
        try:
            if not beside:
                _drop_old(opened, keep_hours)
            new = recreate or current is None
            number = current
            if number is None or (new and not beside):
                number = make_generation(opened.lasting, opened.name)
            generation = opened.generation(number)
            db = stack.enter_context(generation.writing.connection())
            writer = PostgresWriter(generation, db, place, opened.leases, lease, epoch_share, options.lock_seconds)
            writer.beside = beside
            if new:
                _begin(writer, options, current)
                if current is None:
                    name_new(writer)
                else:
                    writer.building = True
            else:
                options.check(writer.meta())
                writer.reclaim()
            yield writer
            if writer.building:
                writer.rewrite()
                if not beside:
                    name_new(writer)
        except BaseException:
            if writer is not None and writer.building and not beside:
                with suppress(WatersmeetError):
                    drop_generation(opened.lasting, opened.qdrant, opened.name, writer.generation.number)
            raise
        finally:
            held: Lease = writer.lease if writer is not None and writer.lease is not None else lease
            opened.leases.release(held)


def _begin(writer: PostgresWriter, options: WriterOptions, current: int | None) -> None:
    """The facts of a new generation, and the roots of the one before."""
    generation = writer.generation
    facts = {
        "fingerprint": json.dumps(options.fingerprint, sort_keys=True),
        CURRENT_TIERS: "{}",
        NEXT_TIERS: "{}",
        TEXT_FORM: FORM,
    }
    if current == generation.number and writer.counts()[0]:
        raise IndexProblem(
            f"{writer.place} is one generation, which cannot be built anew", "leave `generation` out of the address"
        )
    if current is not None:
        before = schema_of(generation.name, current)
        old = dict(writer.db.execute(f"SELECT key, value FROM {before}.facts").fetchall())
        kept = {*json.loads(old.get(CURRENT_TIERS, "{}")), *json.loads(old.get(TIERS_BEFORE_REBUILD, "[]"))}
        facts = {**old, **facts, TIERS_BEFORE_REBUILD: json.dumps(sorted(kept))}
        if current != generation.number:
            with writer.transaction() as db:
                take_over(db, before)
    facts[WAITING_RECORDS] = json.dumps([one.record for one in writer.records()])
    writer.set_meta(facts)
    writer.covered = [root.path for root in writer.roots()]


def take_over(db: Db, before: str) -> None:
    """Take over the roots of another generation, in the schema in which `db` looks first."""
    for table in KEPT_TABLES:
        db.execute(f"INSERT INTO {table} SELECT * FROM {before}.{table}")
    db.execute("UPDATE roots SET cursor = ''")
    for table in ("roots", "collections"):
        go_on_counting(db, table, "id")


def go_on_counting(db: Db, table: str, column: str) -> None:
    """Let the next number of a column be higher than all that are there."""
    db.execute(
        f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}"
        f" HAVING max({column}) IS NOT NULL"
    )


def name_new(writer: PostgresWriter) -> None:
    with writer.transaction() as db:
        name_generation(db, writer.generation.name, writer.generation.number)
    writer.building = False


def is_received(opened: Opened, number: int, identity: str = "") -> bool:
    """Whether a generation is being filled by a move, of these contents; one that stands still for days is not."""
    schema = schema_of(opened.name, number)
    if opened.lasting.ask("SELECT to_regclass(%s)::text", [f"{schema}.facts"]) == [(None,)]:
        return False
    sql = (
        f"SELECT 1 FROM {schema}.facts WHERE key = %s AND (%s = '' OR value = %s) AND EXISTS (SELECT 1 FROM"
        f" {schema}.commits WHERE at > clock_timestamp() - %s * interval '1 h')"
    )
    return bool(opened.lasting.ask(sql, [MOVING, identity, identity, KEEP_MOVING_HOURS]))


def _drop_old(opened: Opened, keep_hours: float) -> None:
    """Drop generations that nothing names, and the one before after its time."""
    ((current, previous, made, old),) = opened.lasting.ask(
        "SELECT generation, coalesce(previous, 0), made, named < clock_timestamp() - %s * interval '1 h'"
        " FROM index_head",
        [keep_hours],
    )
    for number in range(1, made + 1):
        if number in (current, previous):
            keep = number == current or not old
        else:
            keep = is_received(opened, number) or is_built(opened, number)
        if not keep:
            drop_generation(opened.lasting, opened.qdrant, opened.name, number)


def is_built(opened: Opened, number: int) -> bool:
    """Whether somebody is building a generation beside the others."""
    return has_own_tables(opened.lasting, opened.name, number) and opened.leases.is_held(BESIDE)
