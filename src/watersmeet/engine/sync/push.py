"""Move an index into another store: `watersmeet push --to URL`.

The other store fills a new generation, which nobody sees. It is named only if it gives the same answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from watersmeet.core.errors import IndexProblem, NoIndex
from watersmeet.core.model import ANY, Request
from watersmeet.engine.index.location import is_address, open_index
from watersmeet.engine.index.state_names import CALIBRATION

if TYPE_CHECKING:
    from watersmeet.core.index import Index
    from watersmeet.core.moving import Contents, Moved, Receiver, Receiving
    from watersmeet.engine.engine import Engine

BATCH_CHUNKS = 1000
QUERIES, WORDS, SEED = 100, 8, 7
TOP = 10
ORDER, SETS, FIRST = 0.95, 0.98, 0.99
"""Shares of queries with the same results in the same order, the same results, and the same first one."""
FEW = 20
"""With fewer queries than this, one may differ."""


@dataclass(frozen=True, slots=True)
class SameAnswers:
    """Shares of sampled queries with equal results."""

    order: float
    sets: float
    first: float
    queries: int

    @property
    def enough(self) -> bool:
        if self.queries < FEW:
            return self.first >= 1 - 1 / max(1, self.queries)
        return self.order >= ORDER and self.sets >= SETS and self.first >= FIRST

    def to_json(self) -> dict[str, float]:
        return {"order": self.order, "sets": self.sets, "first": self.first}


@dataclass(frozen=True, slots=True)
class Pushed:
    """What a push has moved. `resumed`: documents that an earlier, interrupted one had moved already."""

    rows: int
    documents: int
    generation: str
    same_answers: SameAnswers
    place: str
    resumed: bool

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "generation": self.generation,
            "same_answers": self.same_answers.to_json(),
            "documents": self.documents,
            "resumed": self.resumed,
        }


def push(engine: Engine, target: str, progress: Callable[[str, int, int], None]) -> Pushed:
    """Move all that the index has to another one. An interrupted push goes on where it was."""
    if not is_address(target):
        raise IndexProblem(f"{target} is not the address of a store", "write postgresql://HOST/DATABASE?index=NAME")
    other = open_index(target, engine.settings)
    try:
        return push_into(engine, other, progress)
    finally:
        other.close()


def push_into(engine: Engine, other: Index, progress: Callable[[str, int, int], None]) -> Pushed:
    """Move all that the index has to an opened one."""
    source: Any = engine.index
    if not hasattr(source, "contents"):
        raise IndexProblem(f"{source.place} cannot be pushed", "push an index in a folder")
    if not hasattr(other, "receive"):
        raise IndexProblem(f"{other.place} cannot take an index over", "push to postgresql://…")
    with source.contents() as contents:
        if not contents.facts().get("fingerprint"):
            raise NoIndex(f"nothing was ever put into {source.place}", "fill it with `watersmeet sync PATH`")
        return _pushed(engine, contents, other, progress)


def _pushed(engine: Engine, contents: Contents, other: Index, progress: Callable[[str, int, int], None]) -> Pushed:
    wait = engine.settings.section("writer").lock_seconds
    with cast("Receiving", other).receive(contents.identity, wait) as receiver:
        resumed = receiver.last > 0
        receiver.begin(contents)
        with engine.snapshot() as snapshot:
            whole = snapshot.statistics().chunks
        documents = _fill(contents, receiver, whole, progress)
        progress("making graphs and statistics", receiver.rows, whole)
        made = receiver.finish()
        progress("comparing answers", receiver.rows, whole)
        try:
            answers = same_answers(engine, made)
        finally:
            made.close()
        if not answers.enough:
            raise IndexProblem(
                f"the new generation of {other.place} answers differently, so it was not named: "
                f"{answers.first:.0%} have the same first result, {answers.sets:.0%} the same {TOP}, "
                f"{answers.order:.0%} in the same order",
                "nothing has changed there; look at `watersmeet doctor` here, then push again",
            )
        receiver.name(contents)
        rows, generation = receiver.rows, receiver.generation
    learnt = engine.index.state(CALIBRATION).read()
    if learnt is not None:
        with other.state(CALIBRATION).changing(wait) as change:
            change.write(learnt)
    return Pushed(rows, documents, generation, answers, other.place, resumed)


def _fill(contents: Contents, receiver: Receiver, whole: int, progress: Callable[[str, int, int], None]) -> int:
    """Put all documents that are not there yet; returns how many these are."""
    tiers, count = contents.tiers(), 0
    for batch in _batches(contents.documents(receiver.last)):
        ids = [chunk.chunk.id for one in batch for chunk in one.put.chunks]
        receiver.put(batch, {name: contents.vectors(tier, ids) for name, tier in tiers.items()})
        count += len(batch)
        progress("pushing", receiver.rows, whole)
    return count


def _batches(documents: Iterator[Moved]) -> Iterator[Sequence[Moved]]:
    batch: list[Moved] = []
    chunks = 0
    for one in documents:
        batch.append(one)
        chunks += len(one.put.chunks)
        if chunks >= BATCH_CHUNKS:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def same_answers(engine: Engine, other: Index, queries: int = QUERIES) -> SameAnswers:
    """Ask both for some words of sampled passages."""
    from watersmeet.engine.engine import Engine

    with engine.snapshot() as snapshot:
        ids = snapshot.sample(queries)
        texts = [one.text for one in snapshot.passages(ids).values()]
    chance = random.Random(SEED)  # noqa: S311 - a repeatable choice
    asked = []
    for text in sorted(texts):
        words = text.split()
        start = chance.randrange(max(1, len(words) - WORDS + 1))
        asked.append(" ".join(words[start : start + WORDS]))
    asked = [query for query in asked if query.strip()]
    order = sets = first = 0
    with Engine(other, engine.settings) as theirs:
        for query in asked:
            ours, found = (_results(one, query) for one in (engine, theirs))
            order += ours == found
            sets += set(ours) == set(found)
            first += ours[:1] == found[:1]
    whole = max(1, len(asked))
    in_order, same, begun = (round(1.0 if not asked else count / whole, 4) for count in (order, sets, first))
    return SameAnswers(in_order, same, begun, len(asked))


def _results(engine: Engine, query: str) -> list[str]:
    answer = engine.search(Request(query, top_n=TOP, condition=ANY))
    if answer.failures:
        failure = answer.failures[0]
        raise IndexProblem(f"{engine.index.place}: {failure.by} failed: {failure.reason}", failure.hint)
    return [result.id for result in answer.results]
