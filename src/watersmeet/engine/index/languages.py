"""Languages of an index: measured on a sample after a sync, and compared with what the models read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import IndexProblem, ModelProblem
from watersmeet.core.index import Index
from watersmeet.core.languages import language_of_query, named, shares
from watersmeet.core.model import Condition
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.index.state_names import LANGUAGES
from watersmeet.engine.index.tiers import embedder_name, model_of
from watersmeet.engine.query.visibility import visible_to
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from watersmeet.core.index import State

VERSION = 1
SAMPLE = 400
"""Passages that are read; with them a share is measured within five points."""
MAX_CHANGED_SHARE = 0.05
"""Share of added and removed chunks above which the languages are measured again."""
LOCK_SECONDS = 5.0
MOST = 0.5
"""Share of passages in languages that a model does not read, above which it does not vote."""
HINT = "`embed.onnx.model` can name a multilingual model"


def refresh(index: Index, measure: bool = False) -> None:
    """Measure the languages of the public passages again if enough chunks have changed, or if `measure` is set."""
    with suppress(IndexProblem), index.snapshot() as snapshot:
        everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
        chunks, last = snapshot.statistics(everyone).chunks, snapshot.last_row()
        state = index.state(LANGUAGES)
        stored = _stored(state)
        if stored and stored["last_row"] <= last and not measure:
            added = snapshot.added_since(stored["last_row"], everyone)
            changed = added + max(0, stored["chunks"] - (chunks - added))
            if changed <= MAX_CHANGED_SHARE * stored["chunks"]:
                return
        passages = snapshot.passages(snapshot.sample(SAMPLE, everyone)).values()
        measured = shares([f"{' '.join(passage.headings)}\n{passage.text}" for passage in passages])
        content = {"version": VERSION, "chunks": chunks, "last_row": last, "shares": measured}
        with state.changing(LOCK_SECONDS) as change:
            change.write(json.dumps(content).encode())


_cache: dict[str, tuple[object, dict[str, float]]] = {}


def language_shares(index: Index) -> dict[str, float]:
    """Share of the passages in each language, the most common first; empty if it was never measured."""
    with suppress(IndexProblem):
        state = index.state(LANGUAGES)
        version, key = state.version(), str(state)
        if version is None:
            return {}
        if key not in _cache or _cache[key][0] != version:
            stored = _stored(state)
            _cache[key] = version, stored["shares"] if stored else {}
        return _cache[key][1]
    return {}


def _stored(state: State) -> dict[str, Any] | None:
    """Measured languages; None if there are none, or if they cannot be read."""
    with suppress(IndexProblem, ValueError, TypeError, KeyError, AttributeError):
        found = json.loads(state.read() or b"null")
        if found["version"] == VERSION:
            return {
                "chunks": int(found["chunks"]),
                "last_row": int(found["last_row"]),
                "shares": {str(language): float(share) for language, share in found["shares"].items()},
            }
    return None


def unread(languages: Mapping[str, float], reads: tuple[str, ...]) -> float:
    """Share of the passages in languages that a model does not read; 0 if the model does not say what it reads."""
    return sum(share for language, share in languages.items() if language not in reads) if reads else 0.0


def abstentions(index: Index, settings: Settings, query: str, tiers: Mapping[str, float]) -> dict[str, str]:
    """Tiers whose model reads neither the query nor most of the index, each with the reason.

    Models are looked at only if the query or the index is not in English.
    """
    language, languages = language_of_query(query), language_shares(index)
    foreign = language not in ("", "en")
    if not foreign and (not languages or languages.get("en", 0.0) >= MOST):
        return {}
    found: dict[str, str] = {}
    for tier in tiers:
        component = embedder_name(settings, tier)
        reads: tuple[str, ...] = ()
        with suppress(ModelProblem):  # the signal reports it
            reads = model_of(settings, tier, component).reads if component else ()
        if reads and foreign and language not in reads:
            found[tier] = f"it reads {named(reads)}, and the query is in {named([language])}; {HINT}"
        elif unread(languages, reads) > MOST:
            others = [other for other in languages if other not in reads][:2]
            found[tier] = f"it reads {named(reads)}, and most of the index is in {named(others)}; {HINT}"
    return found
