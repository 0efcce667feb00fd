"""Health of an index: whether both servers answer, have what they should, and how far statistics have drifted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.index import Check
from watersmeet.store.postgres.epochs import COUNTED
from watersmeet.store.postgres.generations import lasting_schema, schema_of

if TYPE_CHECKING:
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.index import Opened

DRIFT = 0.2
"""A share of changed rows from which statistics are reported as old."""
REPAIR = "`watersmeet sync --recreate` makes it anew beside the old one"


def check_index(opened: Opened, place: str) -> list[Check]:
    try:
        current = opened.current()
        if current is None:
            return [
                Check("index", False, f"there is no index in {place}", f"run `watersmeet sync PATH --index {place}`")
            ]
        generation = opened.generation()
        ((points, words, changed, counted, live, dead),) = generation.reading.ask(
            f"SELECT points, words, changed, ({COUNTED}), (SELECT coalesce(sum(chunks), 0)::bigint FROM counts),"
            " (SELECT count(*) FROM chunks WHERE died IS NOT NULL) FROM head"
        )
    except WatersmeetError as error:
        return [Check("index", False, str(error), error.hint)]
    checks = [Check("index", True, f"{place}, generation {current}"), Check("catalogue", True, "PostgreSQL answers")]
    expected = {words: int(live)}
    sql = "SELECT store, sum(rows) FROM embedded GROUP BY store"
    expected |= {store: int(rows) for store, rows in generation.reading.ask(sql)}
    checks += [_collection(generation, f"{points}-{store}", store, rows) for store, rows in expected.items()]
    share = changed / max(1, counted)
    old = bool(counted) and share > DRIFT
    detail = f"{share:.0%} of the rows have changed since they were published"
    checks.append(Check("statistics", not old, detail, "`watersmeet sync` publishes new ones" if old else ""))
    checks.append(Check("replaced rows", True, f"{dead} of {live + dead}; the next sync removes them after their time"))
    if down := opened.qdrant.nodes.down():
        checks.append(Check("nodes", False, f"does not answer: {', '.join(down)}", "start it; others answer meanwhile"))
    return checks


def check_servers(opened: Opened) -> list[Check]:
    """Whether PostgreSQL and any node of Qdrant answer now, and which node does not."""
    checks = []
    for name, ask in (
        ("PostgreSQL", lambda: opened.lasting.ask("SELECT 1")),
        ("Qdrant", lambda: opened.qdrant.nodes.call("GET", "/cluster")),
    ):
        try:
            ask()
            checks.append(Check(name, True, "answers"))
        except WatersmeetError as error:
            checks.append(Check(name, False, str(error), error.hint))
    if (down := opened.qdrant.nodes.down()) and checks[-1].ok:
        checks.append(Check("nodes", False, f"does not answer: {', '.join(down)}", "start it; others answer meanwhile"))
    return checks


def _collection(generation: Generation, collection: str, store: str, rows: int) -> Check:
    """Whether Qdrant has every row that is live; zero vectors are in none."""
    name = "text store" if store.startswith("words") else f"{store.split('-')[1]} vectors"
    try:
        found = generation.qdrant.count(collection)
        state = generation.qdrant.state(collection)
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    if found is None:
        return Check(name, not rows, f"{collection} is not there", REPAIR if rows else "")
    enough = found >= rows or not store.startswith("words")
    return Check(name, enough, f"{found} points for {rows} rows, {state}", "" if enough else REPAIR)


def size_of(opened: Opened) -> int:
    """What PostgreSQL keeps of all generations; Qdrant does not tell the size of a collection on disk."""
    lasting = lasting_schema(opened.name)
    return _bytes_in(opened, "(n.nspname = %s OR starts_with(n.nspname, %s))", lasting, f"{lasting}__")


def size_of_generation(opened: Opened, number: int) -> int:
    return _bytes_in(opened, "n.nspname = %s", schema_of(opened.name, number))


def _bytes_in(opened: Opened, where: str, *schemas: str) -> int:
    found = opened.lasting.ask(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c JOIN pg_namespace n"
        f" ON n.oid = c.relnamespace WHERE {where} AND c.relkind = 'r'",
        schemas,
    )
    return int(found[0][0])
