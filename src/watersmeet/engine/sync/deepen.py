"""Embedding of chunks without vectors, in windows; each window is committed.

The writer lock is held only while a window is written, so that a sync never waits for a model. Chunks that queries
retrieved come first.
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
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, Index, Snapshot, Tier, Vectors
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
"""Chunks per commit, by tier; for other tiers, as many as the model embeds in a few seconds."""
MIN_WINDOW, MAX_WINDOW, WINDOW_SECONDS = 256, 8192, 5
SHORT_WINDOW = 16
"""... with a time limit below those seconds."""
SHORT_WINDOW_STATIC = 1024
"""... and for static vectors."""
CACHE_BATCH = {"static": 1024, "dense": 64}
"""Vectors written to the cache at a time."""
LOCK_SECONDS = 600.0
"""Wait for a sync that is writing: failing would waste the window just embedded."""
SAMPLE, NEIGHBOUR, MIN_NEIGHBOUR, NEIGHBOUR_SHARE = 64, 10, 3, 5
"""Rows sampled for the usual cosine between chunks, and the neighbour whose cosine is taken: the tenth; in a small
index the one at a fifth of the chunks, but at least the third."""
REMEASURE_SHARE = 0.1
"""... measured again once this share of the rows is new."""


@dataclass(slots=True)
class DeepenResult:
    embedded: set[Row] = field(default_factory=set)
    cached: int = 0


def facts_of(index: Index) -> Mapping[str, str]:
    """Facts stored in the index."""
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
    """Embed the live chunks of one tier that have no vectors, within `seconds`, and add the counts to `done`.

    Raises `ModelProblem` if the model cannot be used, `IndexBusy` if another process embeds for this tier. `after`:
    only rows above this one. `measure`: always measure the usual cosine between chunks again."""
    component = embedder_name(settings, name)
    if not component:
        return
    with _tier_lock(index, name), diagnose(index, settings):
        model = model_of(settings, name, component)
        _Pass(settings, index, name, model, progress, done, seconds, after, measure).run()


@dataclass(slots=True)
class _Pass:
    """One run of embedding for a tier."""

    settings: Settings
    index: Index
    name: str
    model: Model
    progress: ProgressCallback
    done: DeepenResult
    seconds: float
    after: int = 0
    measure: bool = False
    key: str = CURRENT_TIERS
    written: int = 0
    took: float = 0.0

    def run(self) -> None:
        with self.index.snapshot() as snapshot:
            outdated, meta = snapshot.outdated, dict(snapshot.facts())
        check_models(self.settings, meta)
        if outdated:
            with self.index.bookkeeping(LOCK_SECONDS):  # opening for writing upgrades the index
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
                if not rows:  # the model is loaded only if there is work
                    if self.name == "dense" and not self.after:
                        embed_first.forget(self.index.state(EMBED_FIRST))
                    whole = not self.after and not missing  # not with damaged rows, which are read again first
                    break
                check(tier, self.model)
                check_dimension(tier, self.model, self.model.dimension)
                self.progress(Progress(f"embedding ({self.name})", self.written, self.written + missing, "chunks"))
                made = self._embed(tier, texts, rows, cache)
                self.took = time.perf_counter() - start
                tier = self._write(store, tier, rows, made)
                self.written += len(rows)
            tier = self._measured(tier)
            if whole and self.key == NEXT_TIERS:  # complete: it replaces the outdated tier
                self._note(tier, lambda meta: replaced(meta, tier))
        finally:
            cache.close()
            store.close()
        if self.written:
            self.progress(Progress(f"embedding ({self.name})", self.written, self.written, "chunks"))

    def _opened(self, meta: Mapping[str, str]) -> tuple[Tier, Store]:
        """The tier to fill and its store: the current tier; its successor if an earlier file of the model made it; or a
        new one if it is damaged."""
        tier = tiers_of(meta).get(self.name)
        if tier is not None and outdated(tier, self.model):
            self.key, tier = NEXT_TIERS, tiers_of(meta, NEXT_TIERS).get(self.name)
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
        return self._reconciled(tier, store), store

    def _reconciled(self, tier: Tier, store: Store) -> Tier:
        """Reconcile the catalogue with a store of another number of rows, such as one from a backup."""
        with self.index.snapshot() as snapshot:
            expected = snapshot.statistics().chunks - snapshot.left(tier)
        reader = store.reader()
        if reader.size >= expected and reader.size == tier.rows:
            return tier
        tier = replace(tier, rows=reader.size)
        with self.index.bookkeeping(LOCK_SECONDS) as catalogue:
            meta = catalogue.meta()
            if tier.folder in [other.folder for other in all_tiers(meta)]:
                catalogue.expect_vectors(tier.folder, [Row(int(row)) for row in reader.rows()])
                catalogue.set_meta(with_tier(meta, tier, self.key))
        return tier

    def _note(self, tier: Tier, entries: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
        """Store facts of the tier under the lock, unless the index was recreated meanwhile."""
        with self.index.bookkeeping(LOCK_SECONDS) as catalogue:
            meta = catalogue.meta()
            if tier.folder in [other.folder for other in all_tiers(meta)]:
                catalogue.note_vectors(entries(meta), tier.folder, ())

    def _window(self, tier: Tier) -> tuple[list[Row], list[str], int]:
        """The next rows to embed with their texts, and the number of missing rows in all."""
        with self.index.snapshot() as snapshot:
            first = embed_first.read(self.index.state(EMBED_FIRST)) if self.name == "dense" else []
            found = snapshot.unseen(tier, self._width(), first, self.after)
            missing = snapshot.left(tier, self.after)
            damage_failures(snapshot, self.index)
        texts = [f"{breadcrumb(title, headings)}\n{text}" for _, title, headings, text in found]
        return [row for row, *_ in found], texts, missing

    def _width(self) -> int:
        """Number of chunks in the next window."""
        if self.seconds < WINDOW_SECONDS:
            return SHORT_WINDOW_STATIC if self.name == "static" else SHORT_WINDOW
        rate = self.written / max(1e-3, self.took)
        return WINDOWS.get(self.name) or max(MIN_WINDOW, min(MAX_WINDOW, int(WINDOW_SECONDS * rate)))

    def _embed(
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
        """Vectors from the cache, else from the model; new ones are cached as they come."""
        import numpy as np

        keys = [key_of(text) for text in texts]
        cached = cache.get_many(tier.fingerprint, keys)
        valid = {key: vector for key, vector in cached.items() if len(vector) == tier.dimension and vector.any()}
        result = np.zeros((len(texts), tier.dimension), dtype=np.float32)
        new = [place for place, key in enumerate(keys) if key not in valid]
        for place, key in enumerate(keys):
            if key in valid:
                result[place] = valid[key]
        self.done.cached += len(keys) - len(new)

        def keep(start: int, part: Matrix) -> None:
            check_dimension(tier, model, part.shape[1])
            places = new[start : start + len(part)]
            result[places] = cache.put_many(tier.fingerprint, [keys[place] for place in places], part)
            self.done.embedded.update(rows[place] for place in places)

        last = (0, result[:0])
        try:
            for last in model.embed_stream([texts[place] for place in new], CACHE_BATCH[self.name]):
                keep(*last)
        except KeyboardInterrupt:  # perhaps while the last part was being cached
            cache.close()
            keep(*last)
            raise
        return result

    def _write(self, store: Store, tier: Tier, rows: Sequence[Row], made: Matrix | list[Weighted]) -> Tier:
        """Add vectors of rows that are still live, under the lock, and note them in the catalogue."""
        with self.index.bookkeeping(LOCK_SECONDS) as catalogue:
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

    def _measured(self, tier: Tier) -> Tier:
        """Measure the usual cosine between chunks if it may have changed: of all, and of public ones."""
        if self.name == SPARSE or not tier.rows:
            return tier
        with self.index.snapshot() as snapshot:
            text = snapshot.generation
            old = tier if tier.level_text == text and not self.measure else replace(tier, level=0.0, public_level=0.0)
            whole = _level(snapshot, tier, ANY, old.level, old.level_rows)
            everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
            part = _level(snapshot, tier, everyone, old.public_level, old.public_level_rows) if everyone else whole
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


def _level(snapshot: Snapshot, tier: Tier, visible: Condition, old: float, old_rows: int) -> tuple[float, int]:
    """The usual cosine between chunks and their number; the old values, unless much has changed."""
    count = round(snapshot.coverage(tier, visible) * snapshot.statistics(visible).chunks)
    if (old or count <= MIN_NEIGHBOUR) and abs(count - old_rows) <= REMEASURE_SHARE * old_rows:
        return old, old_rows
    return round(level(snapshot.vectors(tier, visible), visible, count, snapshot.sample(SAMPLE, visible)), 4), count


def level(vectors: Vectors, visible: Condition, count: int, sample: Sequence[ChunkId]) -> float:
    """The usual cosine between chunks: the median over a sample of the cosine to the tenth neighbour or so."""
    if count <= MIN_NEIGHBOUR:  # too few to measure
        return 0.0
    neighbour = max(MIN_NEIGHBOUR, min(NEIGHBOUR, count // NEIGHBOUR_SHARE))
    found = [list(vectors.nearest([vector], visible, neighbour + 1)[0].values()) for vector in vectors.read(sample)]
    farthest = sorted(cosines[-1] for cosines in found if cosines)
    return farthest[len(farthest) // 2] if farthest else 0.0


@contextmanager
def _tier_lock(index: Index, name: str) -> Iterator[None]:
    """A lock per tier: only one process embeds for it. A second one gets `IndexBusy` with the name of the first."""
    with ExitStack() as stack:
        try:
            stack.enter_context(index.alone(f"deepen-{name}"))
        except IndexBusy as busy:
            who = str(busy).removesuffix(" is at it")
            raise IndexBusy(
                f"{who} is embedding for {index.place} ({name})",
                "wait until it is done: it makes all missing vectors. Searching works meanwhile",
            ) from None
        yield
