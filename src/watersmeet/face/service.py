"""The service behind MCP and REST: one open index, used by many requests at once."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, TypeVar

from watersmeet.core.errors import (
    ConfigError,
    IndexBusy,
    IndexProblem,
    NoIndex,
    NotFound,
    SourceProblem,
    WatersmeetError,
)
from watersmeet.core.visibility import Viewer
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.readiness import readiness
from watersmeet.engine.settings.settings import ServeSettings
from watersmeet.engine.sync.folder_cache import Indexing, IndexingProgress, sync_folder_cache
from watersmeet.engine.sync.report import ProgressCallback
from watersmeet.face.ask import AskParams, Conversations, run_ask
from watersmeet.face.background_deepening import Background
from watersmeet.face.background_pulling import BackgroundPulling
from watersmeet.face.background_watching import BackgroundWatching
from watersmeet.face.jobs import Jobs
from watersmeet.face.listing import ListParams, TagParams
from watersmeet.face.metrics import Metrics
from watersmeet.face.readiness import Readiness, ReadinessProbe
from watersmeet.face.search import AS_JSON, OutputFormat, SearchParams, SearchReply, run_search
from watersmeet.face.work_queue import Work
from watersmeet.present.answer import to_json

if TYPE_CHECKING:
    from watersmeet.engine.ask.ask import OnText
    from watersmeet.engine.ask.model import AnswerText, Turn
    from watersmeet.engine.query.original import Original
    from watersmeet.engine.registry.requests import EntityRequest, ToolRequest

T = TypeVar("T")
MAX_QUERY_LENGTH = 512
WRITE_TIMEOUT_SECONDS = 600.0
METRICS_TIMEOUT_SECONDS = 5.0
FOLDER_WAIT_SECONDS = 1.0
"""How long a request waits while the folder of `--in` is synced again."""
BUSY_SECONDS = 0.2
"""Pause before another attempt, while another process syncs the folder for the first time."""
RECHECK_FACTOR = 10.0
"""A folder is synced again no sooner than this many times the duration of its last sync."""


_PUBLIC = re.compile(r"(git\+)?https?://[^/@]+(/|$)|(pypi|npm):")
"""Addresses without a local path, a user or a password."""


class Service:
    """The engine's calls for servers, each a plain function of the viewer; `run` takes one off the event loop."""

    is_export = False

    def __init__(
        self,
        engine: Engine,
        *,
        inside: str = "",
        allow_write: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`say`: the callback for messages to whoever runs the server."""
        self.engine = engine
        self.limits: ServeSettings = engine.settings.section("serve")
        self.allow_write = allow_write
        self.metrics = Metrics()
        self.work = Work(self.limits.workers, self.limits.waiting, self.limits.seconds)
        self.changes = Work(
            1, self.limits.waiting, WRITE_TIMEOUT_SECONDS
        )  # its own queue: reads do not wait for writes
        self.watch = Work(1, 2, METRICS_TIMEOUT_SECONDS)  # its own queue: metrics wait for neither
        self.probe = ReadinessProbe(lambda: self.ready())
        seconds = self.limits.seconds + engine.settings.section("ask").seconds
        self.answers = Work(
            self.limits.workers, self.limits.waiting, seconds
        )  # its own queue: searches do not wait for models
        self.conversations = Conversations()
        self.jobs = Jobs(self)
        self._last_request = time.monotonic()
        self.background = Background(engine, self._quiet_seconds, say)
        self.watching = BackgroundWatching(engine, say)
        self.pulling = BackgroundPulling(engine, say)
        self.folder = Folder(engine, inside, self.limits.fresh_seconds, self.background) if inside else None
        if self.folder is not None:
            self.folder.is_watched = self.watching.is_current

    def start(self) -> None:
        """Start embedding missing vectors in the background, unless the settings say otherwise."""
        if self.limits.deepen:
            self.background.start()
        if self.limits.watch:
            self.watching.start()
        self.pulling.start()

    def close(self) -> None:
        self.watching.close()
        self.pulling.close()
        self.background.close()
        for work in (self.work, self.changes, self.watch, self.answers):
            work.close()
        self.probe.close()
        self.engine.close()

    async def run(
        self,
        call: Callable[[Event], T],
        writes: bool = False,
        answers: bool = False,
        progress: ProgressCallback = lambda _: None,
        seconds: float | None = None,
    ) -> T:
        """Run a call off the event loop; `writes` and `answers` have queues of their own. `progress`: the callback
        while it waits for the folder of `--in`. `seconds`: a timeout other than the queue's."""

        def when_ready(stop: Event) -> T:
            if self.folder is not None:
                self.folder.wait_for_sync(stop, progress)
            try:
                if not writes:
                    return call(stop)
                with self.background.paused():
                    return call(stop)
            except NoIndex:
                if self.folder is None or self.folder.indexing is None:
                    raise
                raise NoIndex("the folder is being indexed; nothing is there yet", "ask again in a moment") from None

        self._last_request = time.monotonic()
        try:
            return await (self.changes if writes else self.answers if answers else self.work).run(when_ready, seconds)
        finally:
            self._last_request = time.monotonic()

    def _quiet_seconds(self) -> float:
        """Seconds since the last request."""
        return 0.0 if self.work.under_way or self.answers.under_way else time.monotonic() - self._last_request

    def without_folder(self, text: str) -> str:
        """An error message without local paths, for a caller on another machine."""
        text = text.replace(self.engine.folder, "the index folder")
        return text.replace(self.folder.path, "the folder") if self.folder is not None else text

    # ------------------------------------------------------------ requests

    def ready(self) -> Readiness:
        """Whether requests can be answered, and which part keeps them from it."""
        if self.folder is not None and not self.folder.ready:
            return Readiness("starting", [])
        return Readiness.of(readiness(self.engine))

    def search(
        self, params: SearchParams, viewer: Viewer, stop: Event | None = None, output: OutputFormat = AS_JSON
    ) -> SearchReply:
        check_query(params.query)
        indexing = self.folder.indexing if self.folder is not None else None
        found = run_search(self.engine, params, viewer, stop, output, indexing)
        self.metrics.searched(found.answer)
        return found

    def ask(
        self,
        params: AskParams,
        viewer: Viewer,
        stop: Event | None = None,
        on_text: OnText | None = None,
        history: Sequence[Turn] = (),
    ) -> AnswerText:
        check_query(params.question)
        return run_ask(self.engine, params, history, viewer, stop, on_text)

    def get(self, identity: str, viewer: Viewer) -> dict[str, Any]:
        return self.engine.get(checked_id(identity), viewer)

    def read(self, identity: str, chunk: str, viewer: Viewer) -> dict[str, Any]:
        return self.engine.read(checked_id(identity), viewer, chunk=checked_id(chunk))

    def original(self, identity: str, viewer: Viewer) -> Original:
        return self.engine.original(checked_id(identity), viewer)

    def related(self, identity: str, top_n: int, viewer: Viewer) -> dict[str, Any]:
        return to_json(self.engine.related(checked_id(identity), top_n, viewer))

    def documents(self, viewer: Viewer, params: ListParams | None = None) -> list[dict[str, Any]]:
        params = params or ListParams()
        return self.engine.documents(viewer, sort=params.sort, **params.options())

    def tags(self, viewer: Viewer, params: TagParams) -> list[dict[str, Any]]:
        return self.engine.tags(viewer, prefix=params.prefix, **params.options())

    def status(self, viewer: Viewer, local: bool = False) -> dict[str, Any]:
        """`local`: the caller is on this machine, so the places of sources may be shown."""
        found = self.engine.status(viewer)
        found["background"] = {"state": self.background.state}
        indexing = self.folder.indexing if self.folder is not None else None
        found |= {"indexing": indexing.to_json()} if indexing is not None else {}
        if viewer.all and self.background.problem:
            found["background"]["problem"] = self.background.problem
        found["watching"] = self.watching.status(viewer.all)
        if not viewer.all:  # local paths are not for other users
            for private in ("index", "roots", "database"):
                found.pop(private, None)
        if not viewer.all and not local:
            found["sources"] = [_without_place(source) for source in found["sources"]]
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


def _without_place(source: dict[str, Any]) -> dict[str, Any]:
    """A source without its place, for a caller on another machine; an address that anyone may know stays."""
    return source | {"problem": None} | ({} if _PUBLIC.match(source["root"]) else {"root": source["name"]})


def checked_id(identity: str) -> str:
    if "\0" in identity:  # where SQLite would stop reading
        raise NotFound(f"no document or chunk called {identity!r}", "an id cannot hold a NUL character")
    return identity


def check_query(query: str) -> None:
    if len(query) > MAX_QUERY_LENGTH:
        raise ConfigError(
            f"the query has {len(query)} characters; the limit is {MAX_QUERY_LENGTH}",
            "shorten it, and put context into `intent`",
        )


class Folder:
    """Freshness of the folder of `--in`: synced from the start, and again before an answer when it is due.

    A request waits for the words of new and changed files, but not for long: it answers from what is committed."""

    def __init__(self, engine: Engine, path: str, seconds: float, background: Background) -> None:
        self._engine = engine
        self._background = background
        self.path = os.path.realpath(path)
        self._seconds = seconds
        self._first_seconds: float = engine.settings.section("index").first_seconds
        self._lock, self._embedding = Lock(), Lock()
        self._next_sync = 0.0
        self._ready = Event()
        self._synced = Event()
        self._progress = IndexingProgress()
        self._problem: WatersmeetError | None = None
        self.is_watched: Callable[[], bool] = lambda: False
        """Whether a watcher has synced it, so that nothing is to be done."""
        self._start_sync()

    @property
    def ready(self) -> bool:
        """Whether the first sync is over."""
        return self._ready.is_set()

    @property
    def indexing(self) -> Indexing | None:
        """How far a running sync is; None if there is none, or all files are committed."""
        state = self._progress.state
        return None if self._synced.is_set() or state.done == state.files else state

    def wait_for_sync(self, stop: Event, progress: ProgressCallback = lambda _: None) -> None:
        """Start a sync if one is due, and wait a moment for it: enough for a small folder or a few edits."""
        if time.monotonic() > self._next_sync and not self.is_watched():
            self._start_sync()
        end = time.monotonic() + (FOLDER_WAIT_SECONDS if self.ready else self._first_seconds)
        while not self._synced.wait(max(0.0, min(0.1, end - time.monotonic()))) and not stop.is_set():
            if self._progress.step is not None:
                progress(self._progress.step)
            if time.monotonic() >= end:
                break
        if self._problem is not None:
            raise self._problem.with_traceback(None)

    def _start_sync(self) -> None:
        if self._lock.acquire(blocking=False):
            self._progress = IndexingProgress()
            self._synced.clear()
            Thread(target=self._sync, name="watersmeet-folder", daemon=True).start()

    def _sync(self) -> None:
        """Sync the words, then make static vectors; the other vectors are made in the background."""
        with self._background.paused():
            try:
                took = self._sync_words()
                self._problem = None
                self._release_waiting(max(self._seconds, RECHECK_FACTOR * took))
            except IndexBusy:
                pass  # another server syncs the same folder: what it commits is visible here
            except SourceProblem as problem:  # nothing that the caller could fix
                self._problem = IndexProblem(str(problem), "the next request tries again")
            except WatersmeetError as problem:
                self._problem = problem
            finally:
                self._release_waiting(max(self._seconds, self._next_sync - time.monotonic()))
                self._lock.release()
            if self._problem is None:
                self._embed()

    def _sync_words(self) -> float:
        """Sync the words; returns the seconds it took. For the first time, wait for another process that is at it."""
        while True:
            try:
                return sync_folder_cache(self._engine, self.path, self._progress).took_ms / 1000
            except IndexBusy:
                if self.ready:
                    raise
                time.sleep(BUSY_SECONDS)

    def _embed(self) -> None:
        """Make missing static vectors, in one thread at a time. A problem is reported by the background embedding."""
        if self._embedding.acquire(blocking=False):
            try:
                with suppress(WatersmeetError):
                    self._engine.deepen(deep=False)
            finally:
                self._embedding.release()

    def _release_waiting(self, seconds: float) -> None:
        """Let waiting requests go on; the next sync is due after `seconds`."""
        self._next_sync = time.monotonic() + seconds
        self._ready.set()
        self._synced.set()
