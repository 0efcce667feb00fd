"""A new generation of an index, built from its folders with the present settings and models.

The old one answers until the new one is complete: with all words, and with the vectors that the old one had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from watersmeet.core.errors import CostRefused, IndexProblem
from watersmeet.core.index import ChangedRecords, Generations, ReadableIndex
from watersmeet.engine.index.state_names import (
    CALIBRATION,
    LAST_EVALUATION,
    OPENED_RESULTS,
    RECORD_VERSIONS,
)

if TYPE_CHECKING:
    from watersmeet.core.visibility import Audience
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.sync.report import SyncReport

LEARNED = (CALIBRATION, OPENED_RESULTS, LAST_EVALUATION, RECORD_VERSIONS)
"""States that a new generation takes over; the others are made from its documents."""
STATE_SECONDS = 10.0
WHOLE = 0.999
"""Share of the chunks from which vectors count as complete."""


def can_be_beside(engine: Engine) -> bool:
    return hasattr(engine.index, "can_be_beside") and bool(engine.index.can_be_beside())


def recreate(engine: Engine, paths: Sequence[str] = (), **options: Any) -> SyncReport:
    """Build the index anew beside the old one, and put it in its place once it is complete; `options` as for
    `Engine.sync`. If it fails, or lacks vectors that the old one has, the old one stays."""
    from watersmeet.engine.engine import Engine

    index = cast(Generations, engine.index)
    had, audiences = _coverage(engine.index), _audiences(engine.index)
    with index.next_generation() as building, Engine(building.place, engine.settings) as new:
        _take_over(engine, new)
        try:
            report = new.sync(paths, recreate=True, **options)
        except CostRefused as refused:
            raise IndexProblem(
                f"{refused}; the old index stays", "to go on: `watersmeet sync --recreate --yes`"
            ) from None
        if options.get("deepen", True):
            _check_complete(new, had, report)

        def catch_up(_: str, changed: ChangedRecords) -> None:
            _take_over(engine, new)
            _register(new, changed)
            now = _audiences(engine.index)
            _restrict(
                new, {name: now.get(name, ()) for name in {*now, *audiences} if now.get(name) != audiences.get(name)}
            )
            _move_roots(new, _collections(engine.index))
            new.close()

        building.adopt(catch_up, _wait(engine))
    return report


def roll_back(engine: Engine) -> str:
    """Take the previous generation back; returns where the other one is now. What is registered, and who may see what,
    stays as it is."""
    from watersmeet.engine.engine import Engine

    def catch_up(place: str, changed: ChangedRecords) -> None:
        with Engine(place, engine.settings) as previous:
            _register(previous, changed)
            now, before = _audiences(engine.index), _audiences(previous.index)
            _restrict(previous, {name: audience for name, audience in now.items() if before.get(name) != audience})
            _move_roots(previous, _collections(engine.index))

    return cast(Generations, engine.index).roll_back(catch_up, _wait(engine))


def _wait(engine: Engine) -> float:
    seconds: float = engine.settings.section("writer").lock_seconds
    return seconds


def _audiences(index: ReadableIndex) -> dict[str, Audience]:
    with index.snapshot() as snapshot:
        return dict(snapshot.collection_audiences())


def _restrict(new: Engine, audiences: Mapping[str, Audience]) -> None:
    """Let the collections of a generation be seen by those who may see them now. One that it does not have is made, for
    it may be filled again."""
    from watersmeet.engine.index.writer import open_for_writing

    if not audiences:
        return
    with open_for_writing(new.index, new.settings) as writer:
        for name, audience in audiences.items():
            known = {each: number for number, each in writer.catalogue.collections().items()}
            if audience or name in known:
                writer.catalogue.set_audience(writer.catalogue.collection(name), audience)


def _collections(index: ReadableIndex) -> dict[str, str]:
    """The collection of each root, by its path."""
    with index.snapshot() as snapshot:
        return {one.root.path: one.collection for one in snapshot.indexed_roots()}


def _move_roots(new: Engine, collections: Mapping[str, str]) -> None:
    """Let the documents of each root be in the collection where they are now, and be seen by those who may see it."""
    from watersmeet.engine.index.writer import open_for_writing

    before = _collections(new.index)
    moved = {path: name for path, name in collections.items() if name and before.get(path, name) != name}
    if not moved:
        return
    with open_for_writing(new.index, new.settings) as writer:
        for root in writer.catalogue.roots():
            if root.path in moved:
                writer.catalogue.set_root_collection(root.id, writer.catalogue.collection(moved[root.path]))


def _coverage(index: ReadableIndex) -> dict[str, float]:
    """The share of the chunks that each tier has vectors of; also of an index that this version cannot search."""
    with index.snapshot() as snapshot:
        return {name: snapshot.coverage(tier) for name, tier in snapshot.tiers().items()}


def _check_complete(new: Engine, had: dict[str, float], report: SyncReport) -> None:
    """Raise if the new generation lacks vectors that the old one has, though the settings ask for them."""
    from watersmeet.engine.index.tiers import TIERS, embedder_name

    found = _coverage(new.index)
    for tier in TIERS:
        lacks = found.get(tier, 0.0) < WHOLE <= had.get(tier, 0.0)
        if lacks and embedder_name(new.settings, tier):
            reasons = [warning.reason for warning in report.warnings if warning.path == tier]
            why = "; ".join(reasons) or "not all were made"
            raise IndexProblem(
                f"the new index has no {tier} vectors, so the old one stays: {why}",
                "run the same command again when the model is there; or add --no-deepen, and they are made later",
            )


def _take_over(engine: Engine, new: Engine) -> None:
    """Copy what was learned."""
    for name in LEARNED:
        content = engine.index.state(name).read()
        if content is not None and content != new.index.state(name).read():
            with new.index.state(name).changing(STATE_SECONDS) as state:
                state.write(content)


def _register(new: Engine, changed: ChangedRecords) -> None:
    """Bring the new generation in line with records that were changed while it was built."""
    from watersmeet.engine.index.writer import open_for_writing
    from watersmeet.engine.registry.register import restore, unregister

    if changed.records:
        with open_for_writing(new.index, new.settings) as writer:
            restore(writer, changed.records)
    if changed.gone:
        with open_for_writing(new.index, new.settings) as writer:
            registered = {one for one in changed.gone if writer.catalogue.spelled(one) in writer.catalogue.contents()}
        if registered:
            unregister(new.index, new.settings, sorted(registered))
