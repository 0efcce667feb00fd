"""An index opened for reading: one moment of the catalogue, and the stores as that moment needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from watersmeet.core import tokens
from watersmeet.core.errors import ConfigError, IndexDamaged, NoIndex
from watersmeet.core.ports import Entities, Links, Pairs, TextStore, Words
from watersmeet.engine.calibration.taught import Lessons
from watersmeet.engine.components import Later, build, find
from watersmeet.engine.modes import VECTORS
from watersmeet.engine.opening import check_fingerprint, open_text
from watersmeet.engine.pipeline import Pipeline
from watersmeet.engine.settings import PipelineSettings, Settings
from watersmeet.engine.threads import Threads
from watersmeet.engine.tiers import QUICK, REMOTE, Tier, embedder_name, tiers_of
from watersmeet.store._connect import FILE, FORMAT
from watersmeet.store.live import LiveWords
from watersmeet.store.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.engine.meanings import Shelf


class Session:
    """One reader. A query has it to itself; the threads of that query share it."""

    def __init__(self, folder: str, threads: Threads) -> None:
        self.used = 0.0
        self._folder = folder
        self._file = self._on_disk()
        self.view = SqliteView(folder)
        self._threads = threads
        self._version = -1
        self._meta: dict[str, str] = {}
        self._store: TextStore | None = None
        self._ports: dict[str, Any] = {}
        self._shelf: Shelf | None = None
        self._shelf_version = -1
        self._pipelines: dict[tuple[str, tuple[str, ...]], Pipeline] = {}

    def close(self) -> None:
        self._forget_store()
        if self._shelf is not None:
            self._shelf.close()
        self.view.close()

    def current(self) -> bool:
        """False once the index was deleted or put in place anew: what is open here is the old one."""
        return self._file == self._on_disk()

    def _on_disk(self) -> tuple[int, int] | None:
        try:
            found = os.stat(os.path.join(self._folder, FILE))
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @contextmanager
    def moment(self) -> Iterator[SqliteView]:
        """The catalogue first: the other stores may be ahead of it, never behind."""
        with self.view.moment() as view:
            if view.version != self._version:
                self._renew(view)
            yield view

    @property
    def meta(self) -> dict[str, str]:
        return self._meta

    @property
    def words(self) -> Words | None:
        """The words of the index; None if nothing was ever synced into it."""
        return self._ports.get("words")

    @property
    def entities(self) -> Entities:
        """The entities of the index, if there is a registry in it."""
        if not self._ports:
            raise NoIndex(f"nothing was ever put into {self._folder}", "fill it with `watersmeet register FILE`")
        found: Entities = self._ports["entities"].make()
        return found

    def coverage(self) -> Mapping[str, float]:
        """The share of the chunks that each model has seen; empty if there are no vectors."""
        tiers = tiers_of(self._meta)
        if not tiers:
            return {}
        return self._vectors(tiers).coverage

    def levels(self) -> dict[str, float]:
        """How near the chunks are to one another, by each model."""
        return {name: tier.level for name, tier in tiers_of(self._meta).items()}

    def _vectors(self, tiers: Mapping[str, Tier]) -> Shelf:
        from watersmeet.engine.meanings import Shelf  # numpy is loaded here and not before

        if self._shelf is None:
            self._shelf = Shelf(self._folder)
        if self._shelf_version != self._version:
            self._shelf.renew(self.view, tiers)
            self._shelf_version = self._version
        return self._shelf

    def pipeline(self, settings: Settings, signals: tuple[str, ...]) -> Pipeline:
        """The query path for these settings, as long as the index stays as it is."""
        if not self._ports:
            raise NoIndex(f"nothing was ever synced into {self._folder}", "fill it with `watersmeet sync PATH`")
        key = (settings.recipe, signals)
        if key not in self._pipelines:
            lessons = Later(lambda: Lessons(self._folder, settings))
            ports = {**self._ports, "pairs": Later(lambda: _pairs(settings)), "taught": lessons}
            if any(signal in VECTORS for signal in signals):
                from watersmeet.engine.vocabulary import LiveConcepts

                ports = {**ports, **self._vectors(tiers_of(self._meta)).ports(settings, self.view)}
                ports["concepts"] = LiveConcepts(self._folder, settings, tiers_of(self._meta))
            self._pipelines[key] = assemble(settings, signals, ports, self._threads)
        return self._pipelines[key]

    def _renew(self, view: SqliteView) -> None:
        meta = view.meta()
        if meta.get("text_folder") != self._meta.get("text_folder"):
            self._forget_store()
        self._meta = meta
        self._pipelines.clear()
        built = json.loads(meta.get("fingerprint", "{}"))
        if not built:
            self._ports = {}
        else:
            check_fingerprint(built, {"format": FORMAT, "tokenizer": tokens.VERSION}, ["format", "tokenizer"])
            if self._store is None:
                self._store = open_text(built["text"], self._folder, meta["text_folder"])
            reader = self._store.reader()
            if not reader.size and view.count():
                raise IndexDamaged(f"the words of {self._folder} are lost", "`watersmeet sync PATH` makes them again")
            self._ports = {
                "words": LiveWords(reader, view),
                "view": view,
                "links": Later(lambda: _links(view)),
                "entities": Later(cache(lambda: _entities(view))),
            }
        self._version = view.version

    def _forget_store(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None


def _links(view: SqliteView) -> Links:
    from watersmeet.store.graph import LiveLinks

    return LiveLinks(view)


def _entities(view: SqliteView) -> Entities:
    from watersmeet.store.entities import LiveEntities

    return LiveEntities(view)


def _pairs(settings: Settings) -> Pairs:
    from watersmeet.engine.pairs import Readers

    return Readers(settings)


def _followers(wanted: Mapping[str, str], made: Mapping[str, Any]) -> dict[str, str]:
    """Those that can follow, each with whom it follows."""
    following = {name: other for name, other in wanted.items() if other and hasattr(made.get(name), "score")}
    for other in following.values():
        if other not in made:
            find("signal", other)  # it says what is wrong with a name that there is not
    return {name: other for name, other in following.items() if other in made}


def _check(settings: Settings, wanted: PipelineSettings) -> None:
    """What would otherwise do nothing, and say nothing."""
    for name in settings.of("fusion", wanted.fusion).get("weights", {}):
        if not find_spec(f"watersmeet.signal.{name}"):
            find("signal", name)  # it says what is wrong with a name that there is not
    if "anchor" in wanted.stages and "anchors" not in wanted.understand:
        raise ConfigError("the stage `anchor` has nothing to go by", 'add "anchors" to pipeline.understand')


def assemble(settings: Settings, signals: tuple[str, ...], ports: dict[str, Any], threads: Threads) -> Pipeline:
    """From settings to a pipeline."""

    def make(kind: str, name: str) -> Any:
        return build(kind, name, settings.of(kind, name), **ports)

    made = {name: make("signal", name) for name in signals}
    wanted: PipelineSettings = settings.section("pipeline")
    models = {name: embedder_name(settings, name) for name in signals if name in VECTORS}
    _check(settings, wanted)
    return Pipeline(
        understand=[make("query", name) for name in wanted.understand],
        signals=[(name, signal) for name, signal in made.items() if not hasattr(signal, "derive")],
        derived=[(name, signal) for name, signal in made.items() if hasattr(signal, "derive")],
        fusion=make("fusion", wanted.fusion),
        stages=[(name, make("stage", name)) for name in wanted.stages],
        deadline=wanted.deadline_ms / 1000,
        threads=threads,
        follow=_followers(wanted.follow, made),
        afar=frozenset(name for name, model in models.items() if model in REMOTE),
        models=frozenset(name for name, model in models.items() if model not in (*REMOTE, *QUICK)),
    )
