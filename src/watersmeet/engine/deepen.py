"""Embed what a model has not seen yet, a window at a time; what is committed is kept, whatever happens next.

The writer lock is held only while a window is written, so that a sync or another reader never waits for a
model. What queries retrieved comes first.
"""

from __future__ import annotations

import math
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import IndexBusy, IndexDamaged
from watersmeet.core.facts import CURRENT, NEXT
from watersmeet.core.files import private
from watersmeet.core.locks import holder_of, locked
from watersmeet.core.model import Row
from watersmeet.core.text_fields import breadcrumb
from watersmeet.core.viewers import EVERYONE
from watersmeet.engine.components import build
from watersmeet.engine.healing import diagnosed
from watersmeet.engine.local import bookkeeping, tighten_index
from watersmeet.engine.models import GuardedEncoder
from watersmeet.engine.report import Progress, Tell
from watersmeet.engine.settings import Settings, cache_folder
from watersmeet.engine.tiers import (
    SPARSE,
    Store,
    Tier,
    check_models,
    embedder_name,
    model_of,
    new_tier,
    replaced,
    tiers_of,
    with_tier,
)
from watersmeet.engine.viewing import seen
from watersmeet.store.local.embeddings import Embeddings, key_of
from watersmeet.store.local.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.core.sparse import Weighted
    from watersmeet.core.vectors import Matrix, RowArray, VectorReader
    from watersmeet.engine.models import GuardedEmbedder
    from watersmeet.engine.tiers import Model

WINDOWS = {"static": 8192, "dense": 64}
"""How many chunks are committed at a time; of a tier that is not named, what its model does in a few seconds."""
NARROWEST, WIDEST, SECONDS = 256, 8192, 5
HASTY = 16
"""... of a deep model that has less than those few seconds."""
STREAM = {"static": 1024, "dense": 64}
"""How many are kept in the cache at a time."""
PATIENCE = 600.0
"""Seconds to wait for a sync that is writing: what was embedded is in the cache, but why throw it away?"""
SAMPLE, NEIGHBOUR, NEAREST, SHARE = 64, 10, 3, 5
"""How many rows show how near the chunks are to one another, and at which neighbour that is looked for: the tenth, or
where there are few, the one that a fifth of them are as near as, or at least the third."""
CHANGED = 0.1
"""... again once so large a share of the rows is new."""
ASKED = "asked"
"""A file of row numbers that queries retrieved while the deep model had not seen everything ..."""
MOST_ASKED = 1 << 20
"""... which grows to so many bytes."""


@dataclass(slots=True)
class Deepened:
    embedded: set[Row] = field(default_factory=set)
    cached: int = 0


def meta_of(folder: str) -> dict[str, str]:
    """The index's own facts."""
    view = SqliteView(folder)
    try:
        with view.moment():
            return view.meta()
    finally:
        view.close()


def deepen(
    folder: str,
    settings: Settings,
    name: str,
    tell: Tell,
    done: Deepened,
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
    view = SqliteView(folder)
    try:
        with _alone(folder, name), diagnosed(folder, settings):
            model = model_of(settings, name, component)
            _Pass(folder, settings, view, name, model, tell, done, seconds, after, measure).run()
    finally:
        view.close()


@dataclass(slots=True)
class _Pass:
    folder: str
    settings: Settings
    view: SqliteView
    name: str
    model: Model
    tell: Tell
    done: Deepened
    seconds: float
    after: int = 0
    measure: bool = False
    key: str = CURRENT
    written: int = 0
    took: float = 0.0

    def run(self) -> None:
        with self.view.moment():
            meta = self.view.meta()
        check_models(self.settings, meta)
        tier, store = self._opened(meta)
        cache: Embeddings = build(
            "store",
            "embeddings",
            self.settings.of("store", "embeddings"),
            folder=os.path.join(cache_folder(), "embeddings"),
        )
        start, whole = time.perf_counter(), False
        try:
            while time.perf_counter() - start < self.seconds:
                rows, texts, missing = self._window(store)
                if not rows:  # the model is not even loaded if there is nothing for it to do
                    self._forget_asked()
                    whole = not self.after
                    break
                tier.check(self.model)
                tier.fits(self.model, self.model.dimension)
                self.tell(Progress(f"embedding ({self.name})", self.written, self.written + missing, "chunks"))
                made = self._made(tier, texts, rows, cache)
                self.took = time.perf_counter() - start
                tier = self._write(store, tier, rows, made)
                self.written += len(rows)
            tier = self._level(store, tier)
            if whole and self.key == NEXT:  # it has seen everything, and the next writer removes the one before
                self._note(lambda meta: replaced(meta, tier))
        finally:
            cache.close()
            store.close()
        if self.written:
            self.tell(Progress(f"embedding ({self.name})", self.written, self.written, "chunks"))

    def _opened(self, meta: Mapping[str, str]) -> tuple[Tier, Store]:
        """What is to be filled, and its store: the tier that answers, or beside one of an earlier file of the model its
        next; a new one in place of one that is damaged."""
        tier = tiers_of(meta).get(self.name)
        if tier is not None and tier.outdated(self.model):
            self.key, tier = NEXT, tiers_of(meta, NEXT).get(self.name)
            if tier is not None and tier.fingerprint != self.model.fingerprint:
                tier = None
        tier = tier or new_tier(self.name, self.model, meta, self.folder)
        store = tier.open(self.folder, self.settings)
        try:
            store.reader()
        except IndexDamaged:
            store.close()
            tier = new_tier(self.name, self.model, meta, self.folder, tier.folder)
            store = tier.open(self.folder, self.settings)
        return tier, store

    def _note(self, entries: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
        """Under the lock: what the catalogue says of the tier."""
        with bookkeeping(self.folder, PATIENCE) as catalogue:
            catalogue.set_meta(entries(catalogue.meta()))

    def _forget_asked(self) -> None:
        if self.name == "dense" and not self.after:
            with suppress(OSError):
                os.unlink(os.path.join(self.folder, ASKED))

    def _window(self, store: Store) -> tuple[list[Row], list[str], int]:
        """The next rows to embed with their texts, and how many are missing in all."""
        import numpy as np

        with self.view.moment():
            live = np.array(self.view.live_rows(), dtype=np.int64)
            live = live[live > self.after]
            missing = live[~store.reader().has(live)] if len(live) else live
            wanted = set(missing.tolist())
            first = [row for row in _asked(self.folder) if row in wanted] if self.name == "dense" else []
            chosen = list(dict.fromkeys([*first, *missing.tolist()]))[: self._width()]
            found = self.view.texts([Row(row) for row in chosen])
        texts = [f"{breadcrumb(title, headings)}\n{text}" for _, title, headings, text in found]
        return [row for row, *_ in found], texts, len(missing)

    def _width(self) -> int:
        """How many chunks to take next."""
        if self.seconds < SECONDS and self.name != "static":
            return HASTY
        rate = self.written / max(1e-3, self.took)
        return WINDOWS.get(self.name) or max(NARROWEST, min(WIDEST, int(SECONDS * rate)))

    def _made(
        self, tier: Tier, texts: Sequence[str], rows: Sequence[Row], cache: Embeddings
    ) -> Matrix | list[Weighted]:
        if isinstance(self.model, GuardedEncoder):
            encoded = self.model.encode(texts)
            self.done.embedded.update(rows)
            return encoded
        return self._vectors(self.model, tier, texts, rows, cache)

    def _vectors(
        self, model: GuardedEmbedder, tier: Tier, texts: Sequence[str], rows: Sequence[Row], cache: Embeddings
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
            tier.fits(model, part.shape[1])
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
        with bookkeeping(self.folder, PATIENCE) as catalogue:
            meta = catalogue.meta()
            live = catalogue.live(rows)
            keep = [place for place, row in enumerate(rows) if row in live]
            writer = store.writer()
            chosen = [made[place] for place in keep] if isinstance(made, list) else made[keep]
            writer.add([rows[place] for place in keep], chosen)
            writer.commit()
            rate = (self.written + len(rows)) / max(1e-3, self.took)
            tier = replace(tier, rows=store.reader().size, rate=round(rate, 1))
            catalogue.set_meta(with_tier(meta, tier, self.key))
        return tier

    def _level(self, store: Store, tier: Tier) -> Tier:
        """Measure how near the chunks are to one another, where that may have changed: all, and those for everyone."""
        if self.name == SPARSE:
            return tier
        with self.view.moment():
            live, public = self.view.live_rows(), self.view.live_rows(seen(EVERYONE))
            samples = self.view.sample(SAMPLE), self.view.sample(SAMPLE, seen(EVERYONE))
            text = self.view.meta()["text_folder"]
        reader = store.reader()
        current = tier.level_text == text and not self.measure
        known = tier if current else replace(tier, level=0.0, public_level=0.0)
        whole = _level(reader, live, samples[0], known.level, known.level_rows)
        part = whole
        if len(public) < len(live):
            part = _level(reader, public, samples[1], known.public_level, known.public_level_rows)
        measured = replace(
            tier,
            level=whole[0],
            level_rows=whole[1],
            public_level=part[0],
            public_level_rows=part[1],
            level_text=text,
        )
        if measured != tier:
            self._note(lambda meta: with_tier(meta, measured, self.key))
        return measured


def _level(
    reader: VectorReader, rows: Sequence[Row], sample: Sequence[Row], known: float, known_rows: int
) -> tuple[float, int]:
    """How near these rows are to one another, and how many they are: as it is known, unless much has changed."""
    import numpy as np

    held = np.array(rows, dtype=np.int64)
    held = held[reader.has(held)]
    if (known or len(held) <= NEAREST) and abs(len(held) - known_rows) <= CHANGED * known_rows:
        return known, known_rows
    return round(level(reader, held, sample), 4), len(held)


def level(reader: VectorReader, rows: RowArray, sample: Sequence[Row]) -> float:
    """The median, over a sample of the rows, of the cosine of a row and a neighbour that is not among its nearest."""
    if len(rows) <= NEAREST:  # too few to know
        return 0.0
    neighbour = max(NEAREST, min(NEIGHBOUR, len(rows) // SHARE))
    found = [reader.search(vector, neighbour + 1, rows) for vector in reader.vectors(sample)]
    near = sorted(nearest[-1][1] for nearest in found if nearest)
    return near[len(near) // 2] if near else 0.0


@contextmanager
def _alone(folder: str, name: str) -> Iterator[None]:
    """Only one process embeds for a tier at a time; a second one is told who does."""
    file = f"deepen-{name}.lock"
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder, 0, file))
        except IndexBusy:
            raise IndexBusy(
                f"{holder_of(os.path.join(folder, file))} is embedding for {folder} ({name})",
                "wait until it is done, or run `watersmeet deepen` again then. Searching works meanwhile",
            ) from None
        tighten_index(folder)
        yield


def note_asked(folder: str, rows: Sequence[Row]) -> None:
    """Remember what a query retrieved: row numbers only, appended in one write, if it can be written at all."""
    with suppress(OSError), open(os.path.join(folder, ASKED), "ab", opener=private) as file:
        if file.tell() < MOST_ASKED:
            file.write(struct.pack(f"<{len(rows)}q", *rows))


def _asked(folder: str) -> Iterator[int]:
    try:
        with open(os.path.join(folder, ASKED), "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return iter(())
    whole = len(content) // 8
    return iter(struct.unpack(f"<{whole}q", content[: whole * 8]))
