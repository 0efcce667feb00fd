"""What signals ask of vectors: the query embedded, the tier's store asked, and what it has not seen yet estimated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ModelProblem, WatersmeetError
from watersmeet.core.index import Snapshot, Vectors
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.vectors import ScoredChunk, VectorSearch, scored_chunks
from watersmeet.engine.index.tiers import BY_ITSELF, MISSING, SPARSE, TIERS, check, embedder_name, model_of
from watersmeet.engine.query.modes import percent
from watersmeet.engine.settings.settings import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from watersmeet.engine.index.tiers import Model

SAMPLE = 400
"""How many chunks show how one model's cosines compare with the other's."""


def vector_searches(snapshot: Snapshot, visible: Condition, settings: Settings) -> dict[str, VectorSearch]:
    """For each tier what its signal asks. Asked, it says why it cannot answer, if it cannot."""
    quick = TierSearch(snapshot, visible, settings, TIERS[0])
    others = {name: None if name == SPARSE else quick for name in TIERS[1:]}
    return {TIERS[0]: quick, **{name: TierSearch(snapshot, visible, settings, name, s) for name, s in others.items()}}


@dataclass(slots=True, eq=False)
class TierSearch:
    """The `Meanings` port of one tier, over whatever moment its snapshot stands for.

    Chunks that its model has not read yet get an estimate from `stand_in`, a quicker model that has: they are put at
    the same quantile of this model's cosines as they have of the other's.
    """

    snapshot: Snapshot
    visible: Condition
    settings: Settings
    name: str
    stand_in: TierSearch | None = None
    _model: dict[str, Model] = field(default_factory=dict)
    """The model, by the fingerprint of the vectors that it was compared with."""

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]:
        vectors, model = self._ready()
        queries = [model.embed_query(text) for text in texts]
        found = [scored_chunks(one.items()) for one in vectors.nearest(queries, condition, limit)]
        other = self._other()
        if other is None:
            return found
        likely = other[0].nearest([other[1].embed_query(text) for text in texts], condition, limit)
        ranked = {near.chunk for one in found for near in one}.union(*likely)
        both = self.score(texts, ranked)
        return (
            [sorted(one, key=lambda near: (-near.cosine, near.chunk))[:limit] for one in both]
            if len(both) == 1
            else both
        )

    def score(self, texts: Sequence[str], ids: Collection[ChunkId]) -> list[list[ScoredChunk]]:
        vectors, model = self._ready()
        queries = [model.embed_query(text) for text in texts]
        scored: list[list[ScoredChunk]] = []
        for text, query, found in zip(texts, queries, vectors.score(queries, ids), strict=True):
            near = scored_chunks([(chunk, found[chunk]) for chunk in ids if chunk in found])
            missing = [chunk for chunk in ids if chunk not in found]
            scored.append(near + self._estimated(text, vectors, query, missing) if missing else near)
        return scored

    def _ready(self) -> tuple[Vectors, Model]:
        """The vectors and the model that made them; raises what is wrong with either."""
        tier = self.snapshot.tiers().get(self.name)
        component = embedder_name(self.settings, self.name)
        if tier is None or not component:
            raise _absent(self.name, not component, bool(self.snapshot.tiers()))
        vectors = self.snapshot.vectors(tier, self.visible)
        share, enough = self.snapshot.coverage(tier, self.visible), self.settings.section("index").min_coverage
        if share < enough:
            raise ModelProblem(
                f"it has seen {percent(share)} of the chunks, and votes from {percent(enough)} on",
                MISSING,
            )
        model = self._model.get(tier.fingerprint)
        if model is None:
            model = model_of(self.settings, self.name, component)
            check(tier, model)
            self._model = {tier.fingerprint: model}
        return vectors, model

    def _other(self) -> tuple[Vectors, Model] | None:
        """What estimates: nobody if this model has read everything, or if there is no other that can."""
        tier = self.snapshot.tiers().get(self.name)
        if self.stand_in is None or tier is None or self.snapshot.coverage(tier, self.visible) >= 1:
            return None
        try:
            return self.stand_in._ready()
        except WatersmeetError:
            return None

    def _estimated(self, text: str, vectors: Vectors, query: Any, missing: Sequence[ChunkId]) -> list[ScoredChunk]:
        """What this model would say of chunks that it has not read, as far as the stand-in can tell."""
        other = self._other() if missing else None
        if other is None:
            return []
        import numpy as np

        theirs_of, model = other
        asked = model.embed_query(text)
        (near,) = theirs_of.nearest([asked], self.visible, SAMPLE // 4)
        sample = list(dict.fromkeys([*self.snapshot.sample(SAMPLE, self.visible), *near]))
        (guessed,), (theirs,) = theirs_of.score([asked], missing), theirs_of.score([asked], sample)
        (ours,) = vectors.score([query], sample)
        both = sorted(theirs.keys() & ours.keys())
        if not both or not guessed:
            return []
        scale_from: NDArray[Any] = np.sort([theirs[chunk] for chunk in both])
        scale_to: NDArray[Any] = np.sort([ours[chunk] for chunk in both])
        if scale_to[0] == scale_to[-1]:  # all of them would get the same, which is no ranking
            return []
        mapped = np.interp(list(guessed.values()), scale_from, scale_to)
        return [ScoredChunk(chunk, cosine, True) for chunk, cosine in zip(guessed, mapped.tolist(), strict=True)]


def _absent(name: str, switched_off: bool, has_others: bool) -> ModelProblem:
    if switched_off:
        return ModelProblem(f"{name} vectors are switched off", f"set index.vectors and index.{name}")
    how = {"static": "sync", SPARSE: f"deepen --tier {SPARSE}"}.get(name, "deepen")
    hint = f"make them with `watersmeet {how}`" + (f"; {BY_ITSELF}" if has_others and how == "deepen" else "")
    return ModelProblem(f"the index holds no {name} vectors", hint)
