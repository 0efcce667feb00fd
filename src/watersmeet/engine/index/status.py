"""Status of an index: counts, and coverage of each signal."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from watersmeet.core.index import Index, Snapshot
from watersmeet.engine.index.languages import language_shares
from watersmeet.engine.index.query_encoder import query_encoder_state
from watersmeet.engine.index.tiers import due, embedder_name
from watersmeet.engine.query.visibility import hidden_collections, is_limited, statistics, visible_to
from watersmeet.engine.query.visible_index import VisibleIndex
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.readings import reading_of, refresh_seconds
from watersmeet.engine.sync.sources import Sources

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer


def status(visible_index: VisibleIndex, settings: Settings, index: Index, viewer: Viewer | None) -> dict[str, Any]:
    snapshot = visible_index.snapshot
    facts = statistics(snapshot, viewer)
    built = json.loads(snapshot.facts().get("fingerprint", "{}"))
    signals: dict[str, Any] = {
        "lexical": {"coverage": 1.0, "model": f"BM25 ({built.get('text', '?')})"},
        "exact": {"coverage": 1.0, "model": "surface forms"},
    }
    coverage, levels = visible_index.coverage, visible_index.levels
    for name, tier in snapshot.tiers().items():
        missing = round((1 - coverage.get(name, 0.0)) * facts["chunks"])
        signals[name] = {
            "coverage": coverage.get(name, 0.0),
            "model": tier.model,
            "rate": tier.rate,
            "level": levels.get(name, 0.0),
            "seconds_left": round(missing / tier.rate, 1) if tier.rate else None,
        }
        if encoder := query_encoder_state(snapshot.facts(), tier):
            signals[name]["query_encoder"] = encoder
    for name in due(settings, snapshot.facts()):
        component = embedder_name(settings, name)
        if component and name not in signals:
            signals[name] = {"coverage": 0.0, "model": component, "rate": 0.0, "seconds_left": None}
    return {
        **facts,
        "languages": {} if is_limited(viewer) else language_shares(index),
        "signals": signals,
        "fingerprint": {**built, **_models(snapshot)},
        "size_bytes": facts["size_bytes"] if is_limited(viewer) else index.size_bytes(),
        "bytes_per_chunk": {} if is_limited(viewer) else _bytes_per_chunk(index, facts["chunks"]),
        "index": os.path.abspath(index.place) if not index.remote else index.place,
        "sources": sources(snapshot, settings, viewer),
        **_jobs(index, viewer),
    }


def sources(snapshot: Snapshot, settings: Settings, viewer: Viewer | None) -> list[dict[str, Any]]:
    """The roots of the index: what they are, when each was last read, and what has gone wrong since."""
    facts, kinds, refresh = snapshot.facts(), Sources(settings), refresh_seconds(settings)
    found = []
    hidden = hidden_collections(snapshot, viewer)
    for root, collection, documents in snapshot.indexed_roots(visible_to(viewer)):
        if collection in hidden:
            continue
        reading = reading_of(facts, root)
        found.append(
            {
                "root": root.path,
                "kind": root.kind,
                "name": root.name,
                "prefix": root.prefix,
                "collection": collection,
                "documents": documents,
                "synced": reading.synced,
                "overdue": kinds.is_remote(root.kind, root.path) and not reading.is_fresh(refresh),
                "problem": reading.problem or None,
            }
        )
    return found


def _jobs(index: Index, viewer: Viewer | None) -> dict[str, Any]:
    """The queue of an index that has one: jobs that wait, that are being done, and that failed before."""
    if is_limited(viewer) or not hasattr(index, "job_counts"):
        return {}
    return {"jobs": index.job_counts()}


def _bytes_per_chunk(index: Index, chunks: int) -> dict[str, float]:
    """Size on disk by part, of an index that knows it."""
    if not chunks or not hasattr(index, "size_by_part"):
        return {}
    return {part: round(size / chunks, 1) for part, size in index.size_by_part().items()}


def _models(snapshot: Snapshot) -> dict[str, Any]:
    """Models of the vectors, by setting name."""
    found: dict[str, Any] = {}
    for name, tier in snapshot.tiers().items():
        found |= {f"{name}.model": tier.model, f"{name}.dimension": tier.dimension}
    return found
