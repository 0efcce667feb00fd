"""One open index, asked by many at once: what MCP and REST have in common."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.core.errors import ConfigError, IndexBusy, IndexProblem, NotFound, SourceProblem, WatersmeetError
from watersmeet.core.system import is_within
from watersmeet.core.visibility import Viewer
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import ServeSettings
from watersmeet.engine.sync.folder_cache import sync_folder_cache
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.face.background_deepening import Background
from watersmeet.face.metrics import Metrics
from watersmeet.face.search import AS_JSON, SearchParams, SearchReply, Sent, run_search
from watersmeet.face.work_queue import Work
from watersmeet.present.answer import to_json

if TYPE_CHECKING:
    from watersmeet.engine.registry.requests import EntityRequest, ToolRequest

T = TypeVar("T")
MOST_QUERY = 512
WRITING_SECONDS = 600.0
WATCHING_SECONDS = 5.0
LOOKING_SECONDS = 1.0
"""How long a question waits for the folder to be looked at again."""
SPARINGLY = 10.0
"""A folder that takes long to look at is looked at again after so many times as long."""


class Service:
    """Every call is a plain function of the engine and the viewer; `run` takes it off the event loop."""

    def __init__(
        self,
        engine: Engine,
        *,
        inside: str = "",
        allow_write: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say`: where it goes what whoever runs the server should know."""
        self.engine = engine
        self.limits: ServeSettings = engine.settings.section("serve")
        self.allow_write = allow_write
        self.metrics = Metrics()
        self.work = Work(self.limits.workers, self.limits.waiting, self.limits.seconds)
        self.changes = Work(1, self.limits.waiting, WRITING_SECONDS)  # whoever reads does not wait for whoever writes
        self.watch = Work(1, 2, WATCHING_SECONDS)  # nor whoever looks after the server for either
        self._last_question = time.monotonic()
        self.background = Background(engine, self._quiet_seconds, say)
        self.folder = Folder(engine, inside, self.limits.fresh_seconds, self.background) if inside else None

    def start(self) -> None:
        """Embed in the background what no model has read yet, unless the settings say otherwise."""
        if self.limits.deepen:
            self.background.start()

    def close(self) -> None:
        self.background.close()
        for work in (self.work, self.changes, self.watch):
            work.close()
        self.engine.close()

    async def run(self, call: Callable[[Event], T], writes: bool = False) -> T:
        def when_ready(stop: Event) -> T:
            if self.folder is not None:
                self.folder.look(stop)
            if not writes:
                return call(stop)
            with self.background.paused():
                return call(stop)

        self._last_question = time.monotonic()
        try:
            return await (self.changes if writes else self.work).run(when_ready)
        finally:
            self._last_question = time.monotonic()

    def _quiet_seconds(self) -> float:
        """For how long nobody has asked."""
        return 0.0 if self.work.under_way else time.monotonic() - self._last_question

    def without_folder(self, text: str) -> str:
        """What went wrong, for someone who is not at this machine."""
        text = text.replace(self.engine.folder, "the index folder")
        return text.replace(self.folder.path, "the folder") if self.folder is not None else text

    # ------------------------------------------------------------ what can be asked

    def ready(self) -> str:
        """`ok`, or `starting` as long as the folder of `--in` is indexed for the first time; else what is wrong."""
        if self.folder is not None and not self.folder.ready:
            return "starting"
        self.engine.check()
        return "ok"

    def search(
        self, params: SearchParams, viewer: Viewer, stop: Event | None = None, sent: Sent = AS_JSON
    ) -> SearchReply:
        check_query(params.query)
        found = run_search(self.engine, params, viewer, stop, sent)
        self.metrics.searched(found.answer)
        return found

    def get(self, identity: str, viewer: Viewer) -> dict[str, Any]:
        return self.engine.get(named(identity), viewer)

    def related(self, identity: str, top_n: int, viewer: Viewer) -> dict[str, Any]:
        return to_json(self.engine.related(named(identity), top_n, viewer))

    def documents(self, viewer: Viewer) -> list[dict[str, Any]]:
        return self.engine.documents(viewer)

    def status(self, viewer: Viewer) -> dict[str, Any]:
        found = self.engine.status(viewer)
        found["background"] = {"state": self.background.state}
        if viewer.all and self.background.problem:
            found["background"]["problem"] = self.background.problem
        if not viewer.all:  # where things lie on this machine is nobody else's business
            for private in ("index", "roots"):
                found.pop(private, None)
        return found

    def find_tools(self, request: ToolRequest) -> dict[str, Any]:
        check_query(request.task)
        return self.engine.registry.find_tools(request).to_json()

    def entities(self, request: EntityRequest) -> dict[str, Any]:
        check_query(request.query)
        return self.engine.registry.search(request).to_json()

    def classify(self, query: str, viewer: Viewer) -> dict[str, Any]:
        check_query(query)
        return asdict(self.engine.classify(query, viewer))


def named(identity: str) -> str:
    if "\0" in identity:  # SQLite reads no further
        raise NotFound(f"no document or chunk called {identity!r}", "no name holds a zero")
    return identity


def check_query(query: str) -> None:
    if len(query) > MOST_QUERY:
        raise ConfigError(
            f"the query has {len(query)} characters, {MOST_QUERY} at most", "say what the answer is for with `intent`"
        )


class Folder:
    """The folder of `--in`: indexed before the first answer, and looked at again before later ones."""

    def __init__(self, engine: Engine, path: str, seconds: float, background: Background) -> None:
        self._engine = engine
        self._background = background
        self.path = os.path.realpath(path)
        self._seconds = seconds
        self._lock = Lock()
        self._due = 0.0
        self._ready = Event()
        self._seen = Event()
        self._problem: WatersmeetError | None = None
        self.look_again()

    @property
    def ready(self) -> bool:
        """Whether it was looked at."""
        return self._ready.is_set()

    def look(self, stop: Event) -> None:
        """Wait for the first look; later, if it is time for another, for a moment, which is enough for a few edits."""
        while not self._ready.wait(0.1):
            if stop.is_set():
                return
        if time.monotonic() > self._due:
            self.look_again()
            self._seen.wait(LOOKING_SECONDS)
        if self._problem is not None:
            raise self._problem.with_traceback(None)

    def look_again(self) -> None:
        if self._lock.acquire(blocking=False):
            self._seen.clear()
            Thread(target=self._sync, name="watersmeet-folder", daemon=True).start()

    def _sync(self) -> None:
        """Words and quick vectors; the others are made in the background."""
        try:
            with self._background.paused():
                took = sync_folder_cache(self._engine, self.path).took_ms / 1000
            self._problem = None
            self._answer(max(self._seconds, SPARINGLY * took))
        except IndexBusy:
            pass  # another server on the same folder is at it: what it commits is seen here
        except SourceProblem as problem:  # which is nothing that whoever asks could mend
            self._problem = IndexProblem(str(problem), "it is looked for again with the next question")
        except WatersmeetError as problem:
            self._problem = problem
        finally:
            self._answer(max(self._seconds, self._due - time.monotonic()))
            self._lock.release()

    def _answer(self, seconds: float) -> None:
        """Let whoever waits go on, and look again after so long."""
        self._due = time.monotonic() + seconds
        self._ready.set()
        self._seen.set()


def sync(service: Service, paths: list[str], anywhere: bool, progress: ProgressCallback) -> dict[str, Any]:
    """Bring the index up to date. Who is not at this machine may only name what lies in a folder it knows."""
    if any("\0" in path for path in paths):
        raise ConfigError("no path holds a zero", "name the folders to index in `paths`")
    named = paths if anywhere else [_in_a_root(path, service.engine.status()["roots"]) for path in paths]
    return service.engine.sync(named, progress=progress).to_json()


def _in_a_root(path: str, roots: Sequence[str]) -> str:
    """A root as the index calls it, or a path in one: whole, so that it cannot be taken for an address."""
    real = os.path.realpath(path)
    folders = [os.path.realpath(root) for root in roots if os.path.isabs(root)]
    if path in roots:
        return path
    if any(is_within(real, root) for root in folders):
        return real
    raise ConfigError("a path lies in no folder of this index", "`watersmeet sync PATH` on the machine adds one")
