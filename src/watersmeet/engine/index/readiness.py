"""Whether a server can answer right now, part by part. Cheap: no file is read through, and nothing is sent but one
question to each server that the index is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.index import Check, Snapshot, Tier
from watersmeet.core.model import ANY
from watersmeet.engine.index.tiers import check, embedder_name, is_remote, model_of
from watersmeet.engine.query.modes import LEXICAL_SIGNALS
from watersmeet.engine.settings.settings import LOCAL_RECORDS

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

REQUIRED = ("index", "catalogue", "words", "PostgreSQL", "Qdrant")
"""Parts without which nothing can be answered. Without another part, answers name it and come from the rest."""


def readiness(engine: Engine) -> list[Check]:
    """The parts that an answer needs, each with the reason if it cannot be used."""
    checks: list[Check] = []
    try:
        with engine.snapshot() as snapshot:
            checks += [Check("index", True, "open"), _part("catalogue", lambda: _count(snapshot))]
            checks.append(_part("words", lambda: _words(engine, snapshot)))
            for tier in snapshot.tiers().values():
                checks += _tier(engine, snapshot, tier)
    except WatersmeetError as error:
        checks.append(Check("index", False, str(error), error.hint))
    servers = engine.index.servers() if hasattr(engine.index, "servers") else []
    return [*checks, *servers, *_database(engine)]


def can_answer(checks: list[Check]) -> bool:
    return all(one.ok for one in checks if one.name in REQUIRED)


def _part(name: str, use: Callable[[], str]) -> Check:
    try:
        return Check(name, True, use())
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)


def _count(snapshot: Snapshot) -> str:
    return f"{sum(snapshot.kinds().values())} documents"


def _words(engine: Engine, snapshot: Snapshot) -> str:
    engine.visible_index(snapshot, None).pipeline(engine.settings, LEXICAL_SIGNALS)
    snapshot.words(ANY)
    return "can be searched"


def _tier(engine: Engine, snapshot: Snapshot, tier: Tier) -> list[Check]:
    """The vectors of a tier, and the model that embeds queries for it, if the settings use them."""
    component = embedder_name(engine.settings, tier.name)
    if not component:
        return []

    def use_vectors() -> str:
        snapshot.vectors(tier, ANY)
        return "can be searched"

    def use_model() -> str:
        model = model_of(engine.settings, tier.name, component)
        if is_remote(engine.settings, tier.name):
            model.check_last_call()
        else:
            check(tier, model)
        return model.name

    return [_part(f"{tier.name} vectors", use_vectors), _part(f"{tier.name} model", use_model)]


def _database(engine: Engine) -> list[Check]:
    """The registry's database as the last pull found it."""
    if engine.settings.section("registry").records == LOCAL_RECORDS:
        return []
    from watersmeet.engine.registry.database_state import BY, last_pull

    problem = last_pull(engine.index).get("problem")
    return [Check(BY, not problem, problem or "answered the last pull", "the last state answers" if problem else "")]
