"""Embed what a model has not seen yet, a window at a time; what is committed is kept, whatever happens next.

The writer lock is held only while a window is written, so that a sync or another reader never waits for a
model. What queries retrieved comes first.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexBusy, IndexDamaged
from watersmeet.core.fact_names import CURRENT, NEXT
from watersmeet.core.index import Index, Snapshot, Tier, Vectors
from watersmeet.core.model import ANY, ChunkId, Condition, Row
from watersmeet.core.text_fields import breadcrumb
from watersmeet.core.vectors import VectorCache, key_of
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.components import build
from watersmeet.engine.index.damage import damage_failures, diagnose
from watersmeet.engine.index.state_names import EMBED_FIRST
from watersmeet.engine.index.tiers import (
    SPARSE,
    Store,
    all_tiers,
    check,
    check_dimension,
    check_models,
    embedder_name,
    model_of,
    new_tier,
    outdated,
    replaced,
    tiers_of,
    with_tier,
)
from watersmeet.engine.models import GuardedEncoder
from watersmeet.engine.query.visibility import visible_to
from watersmeet.engine.settings.settings import Settings, cache_folder
from watersmeet.engine.sync import embed_first
from watersmeet.engine.sync.report import Progress, ProgressCallback

if TYPE_CHECKING:
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix
    from watersmeet.engine.index.tiers import Model
    from watersmeet.engine.models import GuardedEmbedder

WINDOWS = {"static": 8192, "dense": 64}
"""How many chunks are committed at a time; of a tier that is not named, what its model does in a few seconds."""
NARROWEST, WIDEST, SECONDS = 256, 8192, 5
HASTY = 16
"""... of a deep model that has less than those few seconds."""
HASTY_STATIC = 1024
"""... and of the quick one."""
STREAM = {"static": 1024, "dense": 64}
"""How many are kept in the cache at a time."""
PATIENCE = 600.0
"""Seconds to wait for a sync that is writing: what was embedded is in the cache, but why throw it away?"""
SAMPLE, NEIGHBOUR, NEAREST, SHARE = 64, 10, 3, 5
"""How many rows show how near the chunks are to one another, and at which neighbour that is looked for: the tenth, or
where there are few, the one that a fifth of them are as near as, or at least the third."""
CHANGED = 0.1
"""... again once so large a share of the rows is new."""


@dataclass(slots=True)
class DeepenResult:
    embedded: set[Row] = field(default_factory=set)
    cached: int = 0


def facts_of(index: Index) -> Mapping[str, str]:
    """What the index says of itself."""
    with index.snapshot() as snapshot:
        return dict(snapshot.facts())


def deepen(
    index: Index,
    settings: Settings,
    name: str,
    progress: ProgressCallback,
    done: DeepenResult,
    seconds: float = math.inf,
    after: int = 0,
    measure: bool = False,
) -> None:
    """Bring one tier up to what is live, as far as the time allows, and note in `done` what was made.

    `ModelProblem` if its model cannot be had, `IndexBusy` if another process is at it. Only rows behind `after` are
    looked at. `measure`: how near the chunks are to one another is measured in any case."""
    component = embedder_name(settings, name)
    if not component:
        return
    with _alone(index, name), diagnose(index, settings):
        model = model_of(settings, name, component)
        _Pass(settings, index, name, model, progress, done, seconds, after, measure).run()


@dataclass(slots=True)
class _Pass:
    settings: Settings
    index: Index
    name: str
    model: Model
    progress: ProgressCallback
    done: DeepenResult
    seconds: float
    after: int = 0
    measure: bool = False
    key: str = CURRENT
    written: int = 0
    took: float = 0.0

    def run(self) -> None:
        with self.index.snapshot() as snapshot:
            outdated, meta = snapshot.outdated, dict(snapshot.facts())
        check_models(self.settings, meta)
        if outdated:
            with self.index.bookkeeping(PATIENCE):  # whoever writes makes an index of today of it
                pass
        tier, store = self._opened(meta)
        cache: VectorCache = build(
            "store",
            "embeddings",
            self.settings.of("store", "embeddings"),
            folder=os.path.join(cache_folder(), "embeddings"),
        )
        start, whole = time.perf_counter(), False
        try:
            while time.perf_counter() - start < self.seconds:
                rows, texts, missing = self._window(tier)
                if not rows:  # the model is not even loaded if there is nothing for it to do
                    if self.name == "dense" and not self.after:
                        embed_first.forget(self.index.state(EMBED_FIRST))
                    whole = not self.after and not missing  # what is damaged is read again first
                    break
                check(tier, self.model)
                check_dimension(tier, self.model, self.model.dimension)
                self.progress(Progress(f"embedding ({self.name})", self.written, self.written + missing, "chunks"))
                made = self._made(tier, texts, rows, cache)
                self.took = time.perf_counter() - start
                tier = self._write(store, tier, rows, made)
                self.written += len(rows)
            tier = self._level(tier)
            if whole and self.key == NEXT:  # it has seen everything, and the next writer removes the one before
                self._note(tier, lambda meta: replaced(meta, tier))
        finally:
            cache.close()
            store.close()
        if self.written:
            self.progress(Progress(f"embedding ({self.name})", self.written, self.written, "chunks"))

    def _opened(self, meta: Mapping[str, str]) -> tuple[Tier, Store]:
        """What is to be filled, and its store: the tier that answers, or beside one of an earlier file of the model its
        next; a new one in place of one that is damaged."""
        tier = tiers_of(meta).get(self.name)
        if tier is not None and outdated(tier, self.model):
            self.key, tier = NEXT, tiers_of(meta, NEXT).get(self.name)
            if tier is not None and tier.fingerprint != self.model.fingerprint:
                tier = None
        tier = tier or new_tier(self.name, self.model, self.index, meta)
        store = self.index.vector_store(tier)
        try:
            if tier.rows and not store.reader().size:
                raise IndexDamaged(f"the {self.name} vectors of {self.index.place} are lost")
        except IndexDamaged:
            store.close()
            tier = new_tier(self.name, self.model, self.index, meta, tier.folder)
            store = self.index.vector_store(tier)
        return self._compared(tier, store), store

    def _compared(self, tier: Tier, store: Store) -> Tier:
        """A store that holds another number of rows than was noted, such as one from a backup, is looked through."""
        with self.index.snapshot() as snapshot:
            thought = snapshot.statistics().chunks - snapshot.left(tier)
        reader = store.reader()
        if reader.size >= thought and reader.size == tier.rows:
            return tier
        tier = replace(tier, rows=reader.size)
        with self.index.bookkeeping(PATIENCE) as catalogue:
            meta = catalogue.meta()
            if tier.folder in [known.folder for known in all_tiers(meta)]:
                catalogue.expect_vectors(tier.folder, [Row(int(row)) for row in reader.rows()])
                catalogue.set_meta(with_tier(meta, tier, self.key))
        return tier

    def _note(self, tier: Tier, entries: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
        """Under the lock: what the catalogue says of the tier, unless the index was begun anew meanwhile."""
        with self.index.bookkeeping(PATIENCE) as catalogue:
            meta = catalogue.meta()
            if tier.folder in [known.folder for known in all_tiers(meta)]:
                catalogue.note_vectors(entries(meta), tier.folder, ())

    def _window(self, tier: Tier) -> tuple[list[Row], list[str], int]:
        """The next rows to embed with their texts, and how many are missing in all."""
        with self.index.snapshot() as snapshot:
            first = embed_first.read(self.index.state(EMBED_FIRST)) if self.name == "dense" else []
            found = snapshot.unseen(tier, self._width(), first, self.after)
            missing = snapshot.left(tier, self.after)
            damage_failures(snapshot, self.index)
        texts = [f"{breadcrumb(title, headings)}\n{text}" for _, title, headings, text in found]
        return [row for row, *_ in found], texts, missing

    def _width(self) -> int:
        """How many chunks to take next."""
        if self.seconds < SECONDS:
            return HASTY_STATIC if self.name == "static" else HASTY
        rate = self.written / max(1e-3, self.took)
        return WINDOWS.get(self.name) or max(NARROWEST, min(WIDEST, int(SECONDS * rate)))

    def _made(
        self, tier: Tier, texts: Sequence[str], rows: Sequence[Row], cache: VectorCache
    ) -> Matrix | list[Weighted]:
        if isinstance(self.model, GuardedEncoder):
            encoded = self.model.encode(texts)
            self.done.embedded.update(rows)
            return encoded
        return self._vectors(self.model, tier, texts, rows, cache)

    def _vectors(
        self, model: GuardedEmbedder, tier: Tier, texts: Sequence[str], rows: Sequence[Row], cache: VectorCache
    ) -> Matrix:
        """From the cache where it remembers, else from the model, remembered as it comes."""
        import numpy as np

        keys = [key_of(text) for text in texts]
        held = cache.get_many(tier.fingerprint, keys)
        known = {key: vector for key, vector in held.items() if len(vector) == tier.dimension and vector.any()}
        result = np.zeros((len(texts), tier.dimension), dtype=np.float32)
        new = [place for place, key in enumerate(keys) if key not in known]
        for place, key in enumerate(keys):
            if key in known:
                result[place] = known[key]
        self.done.cached += len(keys) - len(new)

        def keep(start: int, part: Matrix) -> None:
            check_dimension(tier, model, part.shape[1])
            places = new[start : start + len(part)]
            result[places] = cache.put_many(tier.fingerprint, [keys[place] for place in places], part)
            self.done.embedded.update(rows[place] for place in places)

        last = (0, result[:0])
        try:
            for last in model.embed_stream([texts[place] for place in new], STREAM[self.name]):
                keep(*last)
        except KeyboardInterrupt:  # perhaps just while this was being kept
            cache.close()
            keep(*last)
            raise
        return result

    def _write(self, store: Store, tier: Tier, rows: Sequence[Row], made: Matrix | list[Weighted]) -> Tier:
        """Under the lock: add what is still live, commit, and let readers know through the catalogue."""
        with self.index.bookkeeping(PATIENCE) as catalogue:
            meta = catalogue.meta()
            live = catalogue.live(rows)
            keep = [place for place, row in enumerate(rows) if row in live]
            writer = store.writer()
            chosen = [made[place] for place in keep] if isinstance(made, list) else made[keep]
            writer.add([rows[place] for place in keep], chosen)
            writer.commit()
            rate = (self.written + len(rows)) / max(1e-3, self.took)
            tier = replace(tier, rows=store.reader().size, rate=round(rate, 1))
            catalogue.note_vectors(with_tier(meta, tier, self.key), tier.folder, rows)
        return tier

    def _level(self, tier: Tier) -> Tier:
        """Measure how near the chunks are to one another, where that may have changed: all, and those for everyone."""
        if self.name == SPARSE or not tier.rows:
            return tier
        with self.index.snapshot() as snapshot:
            text = snapshot.generation
            known = tier if tier.level_text == text and not self.measure else replace(tier, level=0.0, public_level=0.0)
            whole = _level(snapshot, tier, ANY, known.level, known.level_rows)
            everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
            part = _level(snapshot, tier, everyone, known.public_level, known.public_level_rows) if everyone else whole
        measured = replace(
            tier,
            level=whole[0],
            level_rows=whole[1],
            public_level=part[0],
            public_level_rows=part[1],
            level_text=text,
        )
        if measured != tier:
            self._note(tier, lambda meta: with_tier(meta, measured, self.key))
        return measured


def _level(snapshot: Snapshot, tier: Tier, seen: Condition, known: float, known_rows: int) -> tuple[float, int]:
    """How near chunks are to one another, and how many they are: as it is known, unless much has changed."""
    held = round(snapshot.coverage(tier, seen) * snapshot.statistics(seen).chunks)
    if (known or held <= NEAREST) and abs(held - known_rows) <= CHANGED * known_rows:
        return known, known_rows
    return round(level(snapshot.vectors(tier, seen), seen, held, snapshot.sample(SAMPLE, seen)), 4), held


def level(vectors: Vectors, seen: Condition, held: int, sample: Sequence[ChunkId]) -> float:
    """The median, over a sample of the chunks, of the cosine of one and a neighbour that is not among its nearest."""
    if held <= NEAREST:  # too few to know
        return 0.0
    neighbour = max(NEAREST, min(NEIGHBOUR, held // SHARE))
    found = [list(vectors.nearest([vector], seen, neighbour + 1)[0].values()) for vector in vectors.read(sample)]
    near = sorted(cosines[-1] for cosines in found if cosines)
    return near[len(near) // 2] if near else 0.0


@contextmanager
def _alone(index: Index, name: str) -> Iterator[None]:
    """Only one process embeds for a tier at a time; a second one is told who does."""
    with ExitStack() as stack:
        try:
            stack.enter_context(index.alone(f"deepen-{name}"))
        except IndexBusy as busy:
            who = str(busy).removesuffix(" is at it")
            raise IndexBusy(
                f"{who} is embedding for {index.place} ({name})",
                "wait until it is done: it makes all that are missing. Searching works meanwhile",
            ) from None
        yield
