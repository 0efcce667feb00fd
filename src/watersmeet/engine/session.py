"""An index opened for reading: one moment of the catalogue, and the stores as that moment needs them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from watersmeet.core import tokens
from watersmeet.core.errors import ConfigError, IndexDamaged
from watersmeet.core.model import Condition
from watersmeet.core.ports import TextReader, TextStore
from watersmeet.core.viewers import AUDIENCE_GATE, EVERYONE, Viewer, seen_by
from watersmeet.engine.components import build, exists, find
from watersmeet.engine.modes import VECTORS
from watersmeet.engine.opening import check_fingerprint, open_text
from watersmeet.engine.pipeline import Pipeline
from watersmeet.engine.settings import PipelineSettings, Settings
from watersmeet.engine.sight import Sight
from watersmeet.engine.threads import Threads
from watersmeet.engine.tiers import is_quick, is_remote, tiers_of
from watersmeet.store.local._connect import FILE, is_read_only, still
from watersmeet.store.local._withheld import PUBLIC_TEXT
from watersmeet.store.local.view import SqliteView

if TYPE_CHECKING:
    from watersmeet.engine.meanings import Shelf

MOST_SIGHTS = 32
"""So many viewers' sights are kept at a time."""


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
        self._reader: TextReader | None = None
        self._shelf: Shelf | None = None
        self._shelf_version = -1
        self._sights: dict[tuple[bool | str, ...], Sight] = {}

    def close(self) -> None:
        self._forget_store()
        if self._shelf is not None:
            self._shelf.close()
        self.view.close()

    def current(self) -> bool:
        """False once the index was deleted or put in place anew: what is open here is the old one."""
        return self._file == self._on_disk()

    def _on_disk(self) -> tuple[object, ...] | None:
        path = os.path.join(self._folder, FILE)
        try:
            found = os.stat(path)
        except OSError:
            return None
        if is_read_only(self._folder):  # it was opened as if nobody wrote to it: look whether somebody did
            return found.st_dev, found.st_ino, found.st_mtime_ns, still(path)
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

    def seen_by(self, viewer: Viewer | None) -> Sight:
        return self.sight(Condition(gates=seen_by(viewer)))

    def sight(self, condition: Condition) -> Sight:
        """The index as it is seen through a condition, of which only who sees what matters here."""
        gates = {key: allowed for key, allowed in condition.gates.items() if key == AUDIENCE_GATE}
        seen = Condition(gates=self.view.needed(gates))
        public_only = bool(gates and self.view.needed(seen_by(EVERYONE)))
        key: tuple[bool | str, ...] = (public_only, *seen.gates.get(AUDIENCE_GATE, ()))
        if key not in self._sights:
            if len(self._sights) >= MOST_SIGHTS:
                self._sights.clear()
            public_text = self._meta.get(PUBLIC_TEXT) == self._meta.get("text_folder")
            self._sights[key] = Sight(
                self._folder,
                self.view,
                seen,
                public_only,
                self._reader,
                public_text,
                tiers_of(self._meta),
                self._vectors,
                partial(assembled, threads=self._threads),
            )
        return self._sights[key]

    def _vectors(self) -> Shelf:
        from watersmeet.engine.meanings import Shelf  # numpy is loaded here and not before

        if self._shelf is None:
            self._shelf = Shelf(self._folder)
        if self._shelf_version != self._version:
            self._shelf.renew(tiers_of(self._meta))
            self._shelf_version = self._version
        return self._shelf

    def _renew(self, view: SqliteView) -> None:
        meta = view.meta()
        if meta.get("text_folder") != self._meta.get("text_folder"):
            self._forget_store()
        self._meta = meta
        self._sights.clear()
        built = json.loads(meta.get("fingerprint", "{}"))
        if not built:
            self._reader = None
        else:
            check_fingerprint(built, {"tokenizer": tokens.VERSION}, ["tokenizer"])  # `connect` knows the format
            if self._store is None:
                self._store = open_text(built["text"], self._folder, meta["text_folder"])
            reader = self._store.reader()
            if not reader.size and view.shared():
                raise IndexDamaged(f"the words of {self._folder} are lost", "`watersmeet sync PATH` makes them again")
            self._reader = reader
        self._version = view.version

    def _forget_store(self) -> None:
        if self._store is not None:
            self._store.close()
        self._store = None


def _followers(wanted: Mapping[str, str], made: Mapping[str, Any]) -> dict[str, str]:
    """Those that can follow, each with whom it follows."""
    following = {name: other for name, other in wanted.items() if other and hasattr(made.get(name), "score")}
    for other in following.values():
        if other not in made:
            find("signal", other)  # it says what is wrong with a name that there is not
    return {name: other for name, other in following.items() if other in made}


def _check(settings: Settings, wanted: PipelineSettings) -> None:
    """What would otherwise do nothing, and say nothing."""
    rules = settings.of("query", "route").get("rules", ()) if "route" in wanted.understand else ()
    routed = [name for rule in rules for key in ("weights", "only") for name in rule.get(key, ())]
    for name in (*settings.of("fusion", wanted.fusion).get("weights", {}), *routed):
        if not exists("signal", name):
            find("signal", name)  # it says what is wrong with a name that there is not
    if "anchor" in wanted.stages and "anchors" not in wanted.understand:
        raise ConfigError("the stage `anchor` has nothing to go by", 'add "anchors" to pipeline.understand')


def assembled(
    settings: Settings,
    signals: tuple[str, ...],
    stages: tuple[str, ...] | None,
    ports: dict[str, Any],
    threads: Threads,
) -> Pipeline:
    """From settings to a pipeline; without `stages`, those that the settings name."""

    def make(kind: str, name: str) -> Any:
        return build(kind, name, settings.of(kind, name), **ports)

    made = {name: make("signal", name) for name in signals}
    wanted: PipelineSettings = settings.section("pipeline")
    remote = frozenset(name for name in signals if name in VECTORS and is_remote(settings, name))
    slow = frozenset(name for name in signals if name in VECTORS and not is_quick(settings, name))
    _check(settings, wanted)
    return Pipeline(
        understand=[make("query", name) for name in wanted.understand],
        signals=[(name, signal) for name, signal in made.items() if not hasattr(signal, "derive")],
        derived=[(name, signal) for name, signal in made.items() if hasattr(signal, "derive")],
        fusion=make("fusion", wanted.fusion),
        stages=[(name, make("stage", name)) for name in (wanted.stages if stages is None else stages)],
        deadline=wanted.deadline_ms / 1000,
        threads=threads,
        follow=_followers(wanted.follow, made),
        afar=remote,
        models=slow - remote,
    )
