"""Vector search for signals: embeds the query, searches the tier, and estimates scores of chunks not embedded yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem, WatersmeetError
from watersmeet.core.index import QUERY_ENCODER, Snapshot, Tier, Vectors
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.vectors import ScoredChunk, VectorSearch, scored_chunks
from watersmeet.engine.index.query_encoder import with_query_encoder
from watersmeet.engine.index.tiers import BY_ITSELF, MISSING, SPARSE, TIERS, check, embedder_name, model_of
from watersmeet.engine.query.modes import percent
from watersmeet.engine.settings.settings import LOCAL_RECORDS, Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from watersmeet.engine.index.tiers import Model

SAMPLE = 400
"""Chunks sampled to map cosines of one model to those of the other."""


def vector_searches(snapshot: Snapshot, visible: Condition, settings: Settings) -> dict[str, VectorSearch]:
    """The vector search of each tier. A call raises the reason if the tier cannot be searched."""
    quick = TierSearch(snapshot, visible, settings, TIERS[0])
    others = {name: None if name == SPARSE else quick for name in TIERS[1:]}
    return {TIERS[0]: quick, **{name: TierSearch(snapshot, visible, settings, name, s) for name, s in others.items()}}


@dataclass(slots=True, eq=False)
class TierSearch:
    """The `VectorSearch` port of one tier.

    Chunks that are not embedded yet get an estimate from `stand_in`, the tier of a quicker model: they get the cosine
    at the same quantile in this model as they have in the other.
    """

    snapshot: Snapshot
    visible: Condition
    settings: Settings
    name: str
    stand_in: TierSearch | None = None
    _model: dict[tuple[str, str], Model] = field(default_factory=dict)
    """Cache of the model, by the fingerprint of the vectors that it was checked against and the encoder of queries."""

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]:
        vectors, model = self._ready()
        queries = [model.embed_query(text) for text in texts]
        found = [scored_chunks(one.items()) for one in vectors.nearest(queries, condition, limit)]
        other = self._other()
        if other is None:
            return found
        candidates = other[0].nearest([other[1].embed_query(text) for text in texts], condition, limit)
        ranked = {hit.chunk for one in found for hit in one}.union(*candidates)
        both = self.score(texts, ranked)
        return (
            [sorted(one, key=lambda hit: (-hit.cosine, hit.chunk))[:limit] for one in both] if len(both) == 1 else both
        )

    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]:
        vectors, model = self._ready()
        queries = [model.embed_query(text) for text in texts]
        scored: list[list[ScoredChunk]] = []
        for text, query, found in zip(texts, queries, vectors.score(queries, ids), strict=True):
            exact = scored_chunks([(chunk, found[chunk]) for chunk in ids if chunk in found])
            missing = [chunk for chunk in ids if chunk not in found]
            scored.append(exact + self._estimated(text, vectors, query, missing) if missing else exact)
        return scored

    def _ready(self) -> tuple[Vectors, Model]:
        """The vectors and their model; raises if either cannot be used."""
        tier = self.snapshot.tiers().get(self.name)
        component = embedder_name(self.settings, self.name)
        if tier is None or not component:
            raise _absent(self.name, not component, bool(self.snapshot.tiers()))
        vectors = self._vectors(tier)
        share, enough = self.snapshot.coverage(tier, self.visible), self.settings.section("index").min_coverage
        if share < enough:
            raise ModelProblem(
                f"it covers {percent(share)} of the chunks and is used from {percent(enough)} on",
                MISSING,
            )
        key = (tier.fingerprint, self.snapshot.facts().get(QUERY_ENCODER, ""))
        model = self._model.get(key)
        if model is None:
            settings = with_query_encoder(self.settings, self.snapshot.facts(), tier, component)
            model = model_of(settings, self.name, component)
            check(tier, model)
            self._model = {key: model}
        return vectors, model

    def _vectors(self, tier: Tier) -> Vectors:
        """Vectors of the tier: in the index or, for entities, in the database of the settings."""
        vectors = self.snapshot.vectors(tier, self.visible)
        if self.settings.section("registry").records == LOCAL_RECORDS:
            return vectors
        from watersmeet.engine.registry.database_vectors import DatabaseVectors, shared_vectors

        found = shared_vectors(self.snapshot, self.settings)
        if found is None or found[0].name != self.name:
            return vectors
        return DatabaseVectors(vectors, found[1], self.snapshot, self.visible)

    def _other(self) -> tuple[Vectors, Model] | None:
        """The stand-in's vectors and model; None if this tier is complete or the stand-in cannot be used."""
        tier = self.snapshot.tiers().get(self.name)
        if self.stand_in is None or tier is None or self.snapshot.coverage(tier, self.visible) >= 1:
            return None
        try:
            return self.stand_in._ready()
        except WatersmeetError:
            return None

    def _estimated(self, text: str, vectors: Vectors, query: Any, missing: Sequence[ChunkId]) -> list[ScoredChunk]:
        """Estimated cosines of chunks that are not embedded yet."""
        other = self._other() if missing else None
        if other is None:
            return []
        import numpy as np

        other_vectors, model = other
        other_query = model.embed_query(text)
        (nearest,) = other_vectors.nearest([other_query], self.visible, SAMPLE // 4)
        sample = list(dict.fromkeys([*self.snapshot.sample(SAMPLE, self.visible), *nearest]))
        (guessed,), (theirs,) = other_vectors.score([other_query], missing), other_vectors.score([other_query], sample)
        (ours,) = vectors.score([query], sample)
        both = sorted(theirs.keys() & ours.keys())
        if not both or not guessed:
            return []
        scale_from: NDArray[Any] = np.sort([theirs[chunk] for chunk in both])
        scale_to: NDArray[Any] = np.sort([ours[chunk] for chunk in both])
        if scale_to[0] == scale_to[-1]:  # equal cosines give no ranking
            return []
        mapped = np.interp(list(guessed.values()), scale_from, scale_to)
        return [ScoredChunk(chunk, cosine, True) for chunk, cosine in zip(guessed, mapped.tolist(), strict=True)]


def _absent(name: str, switched_off: bool, has_others: bool) -> ModelProblem:
    if switched_off:
        return ModelProblem(f"{name} vectors are switched off", f"set index.vectors = true and index.{name}")
    how = {"static": "sync", SPARSE: f"deepen --tier {SPARSE}"}.get(name, "deepen")
    hint = f"make them with `watersmeet {how}`" + (f"; {BY_ITSELF}" if has_others and how == "deepen" else "")
    return ModelProblem(f"the index holds no {name} vectors", hint)
