"""Embedding of chunks without vectors, in windows; each window is committed.

The writer lock is held only while a window is written, so that a sync never waits for a model. Chunks that queries
retrieved come first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import field, replace
from typing import TYPE_CHECKING, cast

from watersmeet.core.errors import IndexBusy, IndexDamaged, ModelProblem
from watersmeet.core.index import CURRENT_TIERS, LEVEL_VERSION, NEXT_TIERS, Index, Snapshot, Tier, Vectors
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import ANY, Condition, Row
from watersmeet.core.text_fields import embedded_text
from watersmeet.core.vectors import VectorCache, key_of
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.index.damage import damage_failures, diagnose
from watersmeet.engine.index.general_queries import GENERAL_QUERIES
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
from watersmeet.engine.index.vector_cache import open_cache
from watersmeet.engine.models import GuardedEncoder
from watersmeet.engine.query.visibility import visible_to
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync import embed_first
from watersmeet.engine.sync.jobs import ROWS, offer_embedding, withdraw_embedding
from watersmeet.engine.sync.report import Progress, ProgressCallback

if TYPE_CHECKING:
    from watersmeet.core.queue import Claims, HasJobs
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix, Vector
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
POLL_SECONDS = 0.2
"""How often it looks whether others have embedded what they have claimed."""
REMEASURE_SHARE = 0.1
"""How near general queries come is measured again once this share of the rows is new."""


@dataclass(slots=True)
class DeepenResult:
    embedded: set[Row] = field(default_factory=set)
    cached: int = 0
    elsewhere: int = 0
    """... and those that others embedded meanwhile."""


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
    wait: bool = True,
) -> None:
    """Embed the live chunks of one tier that have no vectors, within `seconds`, and add the counts to `done`.

    Raises `ModelProblem` if the model cannot be used, `IndexBusy` if another process embeds for this tier and the index
    cannot share the work. `after`: only rows above this one. `measure`: always measure again how near general queries
    come. `wait`: until others have embedded what they have begun."""
    component = embedder_name(settings, name)
    if not component:
        return
    with _tier_lock(index, name), diagnose(index, settings):
        model = model_of(settings, name, component)
        _Pass(settings, index, name, model, progress, done, seconds, after, measure, wait).run()


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
    wait: bool = True
    key: str = CURRENT_TIERS
    claims: Claims | None = None
    total: int = 0
    left: int = 0
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
        cache = open_cache(self.settings)
        start, whole = time.perf_counter(), False
        try:
            with self._claiming(store) as self.claims:
                self._ask_others(tier)
                while time.perf_counter() - start < self.seconds:
                    rows, texts, missing = self._window(tier)
                    if not rows and self._others_embed():
                        continue
                    if not rows:  # the model is loaded only if there is work
                        if self.name == "dense" and not self.after:
                            embed_first.forget(self.index.state(EMBED_FIRST))
                        whole = not self.after and not missing  # not with damaged rows, which are read again first
                        break
                    check(tier, self.model)
                    check_dimension(tier, self.model, self.model.dimension)
                    self.progress(Progress(f"embedding ({self.name})", self.total - missing, self.total, "chunks"))
                    made = self._embed(tier, texts, rows, cache)
                    self.took = time.perf_counter() - start
                    tier = self._write(store, tier, rows, made)
                    self.written += len(rows)
            tier = self._measured(tier, cache)
            if whole and self.claims is not None:
                withdraw_embedding(cast("HasJobs", self.index).queue(), self.name)
            if whole and self.key == NEXT_TIERS:  # complete: it replaces the outdated tier
                self._note(tier, lambda meta: replaced(meta, tier))
        finally:
            cache.close()
            store.close()
        self.done.elsewhere += max(0, self.total - self.left - self.written) if self.claims is not None else 0
        if self.written:
            self.progress(Progress(f"embedding ({self.name})", self.total, self.total, "chunks"))

    def _claiming(self, store: Store) -> AbstractContextManager[Claims | None]:
        """Claims on rows, where several processes embed at a time."""
        return cast("HasJobs", self.index).claims(store) if is_shared(self.index) else nullcontext()

    def _ask_others(self, tier: Tier) -> None:
        """Offer workers a part of what a sync has to embed."""
        if self.claims is not None and self.wait and self.seconds == math.inf:
            with self.index.snapshot() as snapshot:
                left = snapshot.left(tier, self.after)
            if left > ROWS:
                offer_embedding(cast("HasJobs", self.index).queue(), self.name, left)

    def _others_embed(self) -> bool:
        """Whether to look again for rows: others may leave some of theirs."""
        if not self.wait or self.claims is None or not self.claims.others():
            return False
        time.sleep(POLL_SECONDS)
        return True

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
        if is_shared(self.index):  # both change in one transaction, and others write meanwhile
            return tier
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
                self._check_key(meta, tier)
                catalogue.note_vectors(entries(meta), tier.folder, ())

    def _window(self, tier: Tier) -> tuple[list[Row], list[str], int]:
        """The next rows to embed with their texts, and the number of missing rows in all."""
        with self.index.snapshot() as snapshot:
            first = embed_first.read(self.index.state(EMBED_FIRST)) if self.name == "dense" else []
            if self.claims is None:
                found = snapshot.unseen(tier, self._width(), first, self.after)
            missing = snapshot.left(tier, self.after)
            damage_failures(snapshot, self.index)
        if self.claims is not None:
            found = self.claims.window(self._width(), first, self.after)
        self.left, self.total = missing, max(self.total, self.written + missing)
        texts = [embedded_text(title, headings, text) for _, title, headings, text in found]
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
        """Vectors from the cache, else from the model; new ones are cached as they come. Identical texts are embedded
        once."""
        import numpy as np

        places: dict[bytes, list[int]] = {}
        for place, text in enumerate(texts):
            places.setdefault(key_of(text), []).append(place)
        cached = cache.get_many(tier.fingerprint, list(places))
        valid = {key: vector for key, vector in cached.items() if len(vector) == tier.dimension and vector.any()}
        result = np.zeros((len(texts), tier.dimension), dtype=np.float32)
        for key, vector in valid.items():
            result[places[key]] = vector
            self.done.cached += len(places[key])
        new = [key for key in places if key not in valid]

        def keep(start: int, part: Matrix) -> None:
            check_dimension(tier, model, part.shape[1])
            keys = new[start : start + len(part)]
            for key, vector in zip(keys, cache.put_many(tier.fingerprint, keys, part), strict=True):
                result[places[key]] = vector
                self.done.embedded.update(rows[place] for place in places[key])

        last = (0, result[:0])
        try:
            for last in model.embed_stream([texts[places[key][0]] for key in new], CACHE_BATCH[self.name]):
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
            self._check_key(meta, tier)
            catalogue.note_vectors(with_tier(meta, tier, self.key), tier.folder, rows)
        return tier

    def _check_key(self, meta: Mapping[str, str], tier: Tier) -> None:
        """Another process may have completed the successor of a tier, which then is the current one."""
        current = tiers_of(meta).get(self.name)
        if current is not None and current.folder == tier.folder:
            self.key = CURRENT_TIERS

    def _measured(self, tier: Tier, cache: VectorCache) -> Tier:
        """Measure how near general queries come if it may have changed: to all chunks, and to public ones."""
        if self.name == SPARSE or not tier.rows:
            return tier
        with self.index.snapshot() as snapshot:
            text = f"{LEVEL_VERSION}{snapshot.generation}"
            old = tier if tier.level_text == text and not self.measure else replace(tier, level=0.0, public_level=0.0)
            everyone = Condition(gates=snapshot.needed(visible_to(EVERYONE).gates))
            level, public = old.level, old.public_level
            rows, public_rows = (_count(snapshot, tier, visible) for visible in (ANY, everyone))
            if _changed(level, rows, old.level_rows) or _changed(public, public_rows, old.public_level_rows):
                try:
                    queries = self._general_queries(tier, cache)
                except ModelProblem:  # all vectors were cached, and the model cannot be used: measured another time
                    return tier
                level = _level(snapshot.vectors(tier, ANY), ANY, queries)
                public = _level(snapshot.vectors(tier, everyone), everyone, queries) if everyone else level
            else:
                rows, public_rows = old.level_rows, old.public_level_rows
        measured = replace(
            tier,
            level=level,
            level_rows=rows,
            public_level=public,
            public_level_rows=public_rows,
            level_text=text,
        )
        if measured != tier:
            self._note(tier, lambda meta: with_tier(meta, measured, self.key))
        return measured

    def _general_queries(self, tier: Tier, cache: VectorCache) -> Sequence[Vector]:
        """Vectors of the general queries, from the cache if they were needed before."""
        import numpy as np

        keys = [key_of(f"query\n{text}") for text in GENERAL_QUERIES]
        cached = cache.get_many(tier.fingerprint, keys)
        if not all(key in cached and len(cached[key]) == tier.dimension for key in keys):
            assert not isinstance(self.model, GuardedEncoder)  # noqa: S101 - for the type checker: it makes vectors
            made = np.stack([self.model.embed_query(text) for text in GENERAL_QUERIES])
            check_dimension(tier, self.model, made.shape[1])
            return list(cache.put_many(tier.fingerprint, keys, made))
        return [cached[key] for key in keys]


def _count(snapshot: Snapshot, tier: Tier, visible: Condition) -> int:
    """Number of visible chunks with a vector."""
    return round(snapshot.coverage(tier, visible) * snapshot.statistics(visible).chunks)


def _changed(level: float, rows: int, old_rows: int) -> bool:
    return bool(rows) and (not level or abs(rows - old_rows) > REMEASURE_SHARE * old_rows)


def _level(vectors: Vectors, visible: Condition, queries: Sequence[Vector]) -> float:
    """Mean cosine of the queries and their first results."""
    first = [max(found.values()) for query in queries for found in vectors.nearest([query], visible, 1) if found]
    return round(sum(first) / len(first), 4) if first else 0.0


def is_shared(index: Index) -> bool:
    """Whether several processes embed for a tier at a time."""
    return hasattr(index, "claims")


@contextmanager
def _tier_lock(index: Index, name: str) -> Iterator[None]:
    """A lock per tier, unless the work is shared: only one process embeds for it. A second one gets `IndexBusy` with
    the name of the first."""
    if is_shared(index):
        yield
        return
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
