"""Statistics of words in epochs: published as numbered tables that never change, and cached by every process.

A word costs no hot row, and a score can be made again from the number of its epoch. A term that is newer than its epoch
counts as being in one row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from watersmeet.common.stems import stems
from watersmeet.core.ports import Term
from watersmeet.store.local._text import EXACT_FIELD, checked_field
from watersmeet.store.qdrant.bm25 import FIELDS, presence_dimension, rarity, token_of, weight_dimension

if TYPE_CHECKING:
    from watersmeet.store.postgres.pool import Db, Pool

Key = tuple[int, str]
"""The place of a field in `FIELDS`, and a token."""
MAX_LOADED = 200_000
"""An epoch of at most so many terms is read whole; of a larger one, the terms that queries name."""
MAX_CACHED = 500_000
KEPT = 3
"""Epochs that stay published: queries may still use the one before."""
COUNTED = "SELECT coalesce(sum(size), 0)::bigint FROM epochs e WHERE e.epoch = head.epoch"
"""Subquery of `head`: how many rows the published statistics are of."""
_TERMS = "SELECT t.field, t.text, t.number, f.audience, f.count FROM terms t"
_COUNTS = "LEFT JOIN frequencies f ON f.term = t.number AND f.epoch = %s"


@dataclass(slots=True)
class Epoch:
    """The number of each term, and how many rows of each audience have it."""

    number: int
    sizes: dict[int, int]
    _pool: Pool
    _terms: dict[Key, tuple[int, dict[int, int]] | None] = field(default_factory=dict)
    _whole: bool = False
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def read(cls, pool: Pool, number: int) -> Epoch:
        rows = pool.ask(
            "SELECT audience, size, (SELECT count(DISTINCT term) FROM frequencies WHERE epoch = %s) FROM epochs"
            " WHERE epoch = %s",
            [number, number],
        )
        epoch = cls(number, {audience: size for audience, size, _ in rows}, pool)
        if not rows or rows[0][2] <= MAX_LOADED:
            epoch._learn(pool.ask(f"{_TERMS} JOIN frequencies f ON f.term = t.number AND f.epoch = %s", [number]))
            epoch._whole = True
        return epoch

    def size(self, audiences: Iterable[int]) -> int:
        return sum(self.sizes.get(one, 0) for one in audiences)

    def frequencies(self, field_name: str, texts: Sequence[str], audiences: Collection[int]) -> list[int]:
        """How many rows have each of these words."""
        if field_name != EXACT_FIELD:
            stems(texts)  # cached, in one call
        place = FIELDS.index(field_name) if field_name in FIELDS else 0
        keys = [(place, token_of(field_name, text)) for text in texts]
        known = self._known(keys)
        return [_count(known.get(key), audiences) for key in keys]

    def query(self, terms: Collection[Term], audiences: Collection[int]) -> dict[int, float]:
        """The sparse vector of a query; a word in two forms counts once, with its highest boost."""
        keys = [(term, (_place(term), token_of(term.field, term.text))) for term in terms]
        known, size = self._known([key for _, key in keys]), self.size(audiences)
        found: dict[int, float] = {}
        for term, key in keys:
            stored = known.get(key)
            count = _count(stored, audiences)
            if stored is None or term.boost <= 0 or not (count or not stored[1]):
                continue
            number, weight = stored[0], 1.0 if term.constant else rarity(max(1, count), max(1, size))
            dimension = presence_dimension(number) if term.constant else weight_dimension(number)
            found[dimension] = max(found.get(dimension, 0.0), term.boost * weight)
        return found

    def _known(self, keys: Collection[Key]) -> dict[Key, tuple[int, dict[int, int]] | None]:
        terms = self._terms
        missing = [] if self._whole else [key for key in dict.fromkeys(keys) if key not in terms and key[1]]
        if missing:
            with self._lock:
                if len(self._terms) > MAX_CACHED:
                    self._terms = {}
            places, texts = map(list, zip(*missing, strict=True))
            named = "JOIN unnest(%s::smallint[], %s::text[]) n (field, text) ON n.field = t.field AND n.text = t.text"
            found = self._pool.ask(f"{_TERMS} {named} {_COUNTS}", [places, texts, self.number])
            self._learn(found)
            terms = self._terms
            for key in missing:
                terms.setdefault(key, None)
        return terms

    def _learn(self, rows: Iterable[tuple[int, str, int, int | None, int | None]]) -> None:
        learnt: dict[Key, tuple[int, dict[int, int]]] = {}
        for place, text, number, audience, count in rows:
            counts = learnt.setdefault((place, text), (number, {}))[1]
            if audience is not None and count is not None:
                counts[audience] = count
        with self._lock:
            self._terms.update(learnt)


def _place(term: Term) -> int:
    return FIELDS.index(checked_field(term.field))


def _count(stored: tuple[int, dict[int, int]] | None, audiences: Iterable[int]) -> int:
    return sum(stored[1].get(one, 0) for one in audiences) if stored else 0


def publish(db: Db) -> None:
    """Count all live rows, as the next epoch; those before the last few are removed."""
    ((epoch,),) = db.execute("UPDATE head SET epoch = epoch + 1, changed = 0 RETURNING epoch").fetchall()
    live = "FROM chunks c JOIN documents d ON d.key = c.document WHERE c.died IS NULL"
    db.execute(f"INSERT INTO epochs SELECT %s, d.audience, count(*) {live} GROUP BY d.audience", [epoch])
    db.execute(
        "INSERT INTO frequencies SELECT %s, t.term, l.audience, count(*) FROM"
        f" (SELECT d.audience, c.terms {live}) l, unnest(l.terms) t (term) GROUP BY l.audience, t.term",
        [epoch],
    )
    for table in ("epochs", "frequencies"):
        db.execute(f"DELETE FROM {table} WHERE epoch <= %s", [epoch - KEPT])


def averages(db: Db) -> list[float]:
    """Average lengths of the fields, in the rows that everyone may see; of all rows if there is none."""
    sql = (
        "SELECT n, avg(l)::float8 FROM chunks c JOIN documents d ON d.key = c.document,"
        " unnest(c.lengths) WITH ORDINALITY u (l, n) WHERE c.died IS NULL AND (d.audience = 0 OR %s) GROUP BY n"
    )
    for everything in (False, True):
        found = dict(db.execute(sql, [everything]).fetchall())
        if found:
            return [found.get(place, 0.0) for place in range(1, len(FIELDS) + 1)]
    return []
