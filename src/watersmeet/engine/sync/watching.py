"""Keeping an index up to date with its folders while they change.

One process watches an index at a time (`Index.alone`); others stand by. The system's events say where to sync; a batch
syncs the innermost folder that holds its changes. What cannot be synced now is kept and tried again. All folders
are synced as a whole at the start, each hour, and whenever events may have been lost.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from watersmeet.core.errors import IndexBusy, ModelProblem, NoIndex, SourceProblem, Stopped, WatersmeetError
from watersmeet.core.system import is_ours
from watersmeet.core.writing import Root
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.languages import refresh as refresh_languages
from watersmeet.engine.query.staleness import count_stale
from watersmeet.engine.settings.settings import WatchSettings
from watersmeet.engine.sync.change_events import Listener, NoEvents, Pending, owner_of, part_of
from watersmeet.engine.sync.pending import pending_chunks
from watersmeet.engine.sync.report import Progress, SyncReport
from watersmeet.engine.sync.roots import sync_parts
from watersmeet.engine.sync.scan_record import is_watchable, reading_settings, roots_of, scan_record
from watersmeet.engine.sync.sources import Sources

LOCK = "watch"
TICK_SECONDS = 0.25
CHECK_SECONDS = 1.0
"""How often it is checked that the folders are still there,"""
ROOTS_SECONDS = 5.0
"""... and which folders the index has."""
STANDBY_SECONDS = 2.0
"""How often a process that stands by checks whether the one that watches has ended."""
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 1.0, 60.0
"""Pause before a retry after a failure; it doubles each time."""
AFTERWARDS_SECONDS = 5.0
"""After a burst in which events may have been lost, everything is synced again so much later."""
BUSY_SECONDS = 5.0
"""Pause while another process embeds."""
POLL_LOOK_SECONDS = 30.0
"""Processor time that a check without events may take."""
COUNTED = ("added", "changed", "moved", "removed")


@dataclass(frozen=True, slots=True)
class WatchedBatch:
    """One batch: which parts of which roots were synced, and what that changed."""

    parts: Mapping[str, str]
    report: SyncReport
    took_ms: float

    @property
    def changed(self) -> bool:
        return any(getattr(self.report, name) for name in COUNTED)

    def to_json(self) -> dict[str, Any]:
        """Counts and the folders that were synced."""
        return {
            **{name: getattr(self.report, name) for name in COUNTED},
            "skipped": len(self.report.skipped),
            "folders": [os.path.join(root, part) for root, part in self.parts.items()],
            "documents": self.report.documents,
            "chunks": self.report.chunks,
            "took_ms": round(self.took_ms, 1),
        }


@dataclass(slots=True)
class _Folder:
    """A watched root: its device and inode, to notice that it was replaced."""

    kind: str
    identity: tuple[int, int] | None = None
    problem: str = ""


class Watcher:
    """Watches the folders of an index. `run` returns once `stop` is set."""

    def __init__(
        self,
        engine: Engine,
        *,
        say: Callable[[str], None] = lambda _: None,
        synced: Callable[[WatchedBatch], None] = lambda _: None,
        tiers: Collection[str] = (),
        by_owner: bool = True,
    ) -> None:
        """`say`: the callback for messages. `synced`: the callback for batches. `tiers`: those whose vectors it makes;
        none: all. `by_owner`: the user has started it for these folders; else it leaves alone an index that was synced
        with other settings."""
        self._engine = engine
        options: WatchSettings = engine.settings.section("watch")
        self._poll_seconds, self._reconcile_seconds = options.poll_seconds, options.reconcile_seconds
        self._say, self._synced = say, synced
        self._by_owner = by_owner
        self._sources = Sources(engine.settings)
        self._pending = Pending(options.quiet_seconds, options.max_seconds)
        self._folders: dict[str, _Folder] = {}
        self._listener: Listener | None = None
        self._embedder = _Embedder(engine, tiers, self._is_busy, say)
        self._next_roots = self._next_check = self._retry_at = self._next_poll = 0.0
        self._next_whole = 0.0
        self._pause = FIRST_RETRY_SECONDS
        self._syncing = False
        self._polls = False
        self._message = ""
        self._refused: dict[str, str] = {}
        self._stop = Event()
        self.state = "off"
        """off, starting, standby (another process watches), watching, or polling (the system reports no changes)."""
        self.problem = ""
        self.last_sync: float | None = None

    # ------------------------------------------------------------ for others

    @property
    def folders(self) -> list[str]:
        return [path for path, folder in self._folders.items() if folder.identity]

    def status(self) -> dict[str, Any]:
        problems = [*self._refused.values(), *(f.problem for f in self._folders.values())]
        return {
            "state": self.state,
            "folders": self.folders,
            "last_sync": self.last_sync,
            "problem": "; ".join(filter(None, [self.problem, *problems])),
        }

    def stale(self) -> int | None:
        """0 if all folders are watched and synced; else None."""
        idle = self.state == "watching" and not self._pending and not self._syncing
        well = all(folder.identity and not folder.problem for folder in self._folders.values())
        well = well and bool(self._folders and self.last_sync) and not self._refused and not self.problem
        return 0 if idle and well else None

    # ------------------------------------------------------------ the loop

    def run(self, stop: Event) -> None:
        self.state, self._stop = "starting", stop
        embedding = Thread(target=self._embedder.run, args=(stop,), name="watersmeet-watch-embed", daemon=True)
        embedding.start()
        pause = 0.0
        while not stop.wait(pause):
            pause = STANDBY_SECONDS
            if not self._engine.index.exists():
                continue
            try:
                with self._engine.index.alone(LOCK), self._closing():
                    self.problem = ""
                    self._watch(stop)
            except IndexBusy as busy:
                if self.state != "standby":
                    self.state = "standby"
                    self._tell(f"standing by: {busy}")
            except WatersmeetError as problem:
                pause = self._failed(problem)
        self.state = "off"

    @contextmanager
    def _closing(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._listener is not None:
                self._listener.close()
            self._listener = None
            self._folders = {}

    def _watch(self, stop: Event) -> None:
        self._next_roots = self._next_check = self._next_whole = 0.0
        while not stop.is_set():
            now = time.monotonic()
            if now >= self._next_check:
                self._check_folders(now)
            if now >= self._next_whole:
                self._all_of(self.folders)
                self._next_whole = now + (self._reconcile_seconds or math.inf)
            if self._polls and now >= self._next_poll and not self._pending:
                self._poll()
            if self._pending.due() and now >= self._retry_at:
                self._sync()
            elif now < self._retry_at:
                stop.wait(min(TICK_SECONDS, self._retry_at - now))
            else:
                self._pending.wait(TICK_SECONDS)

    def _is_busy(self) -> bool:
        return self._syncing or self._pending.due()

    def _all_of(self, roots: Collection[str]) -> None:
        if roots:
            self._pending.add(dict.fromkeys(roots))

    def _tell(self, message: str) -> None:
        """Say something once."""
        if message != self._message:
            self._message = message
            self._say(message)

    def _failed(self, problem: WatersmeetError) -> float:
        """Note a problem; returns the pause before the next attempt."""
        self.problem = f"{problem}. {problem.hint}".strip()
        self._tell(self.problem)
        pause, self._pause = self._pause, min(MAX_RETRY_SECONDS, 2 * self._pause)
        return pause

    # ------------------------------------------------------------ folders

    def _check_folders(self, now: float) -> None:
        """Note folders that were added, vanished, or were replaced; those are listened to anew and synced whole."""
        self._next_check = now + CHECK_SECONDS
        if now >= self._next_roots:
            self._read_roots()
            self._next_roots = now + (ROOTS_SECONDS if self._folders else CHECK_SECONDS)
        fresh = [path for path, folder in self._folders.items() if self._is_new(path, folder)]
        broken = self._listener is not None and self._listener.failed
        if fresh or broken or (self._listener is None and self.folders and not self._polls):
            self._listen()
            self._all_of(self.folders if broken else fresh)

    def _read_roots(self) -> None:
        roots = [root for root in roots_of(self._engine.index) if is_watchable(root)]
        self._refused = {} if self._by_owner else self._synced_otherwise(roots)
        for reason in self._refused.values():
            self._tell(reason)
        watched = {root.path: root for root in roots if root.path not in self._refused}
        self._folders = {path: self._folders.get(path) or _Folder(root.kind) for path, root in watched.items()}

    def _synced_otherwise(self, roots: Sequence[Root]) -> dict[str, str]:
        """Roots that were synced with settings or flags that this process does not have, with the message."""
        own = reading_settings(self._engine.settings)
        with self._engine.snapshot() as snapshot:
            records = {root.path: scan_record(snapshot.facts(), root) for root in roots}
        return {
            path: f"{path} is not watched: its last sync had other settings or flags for what to read; "
            "put them into watersmeet.toml, or run `watersmeet sync` without them"
            for path, record in records.items()
            if record is not None and record.settings != own
        }

    def _is_new(self, path: str, folder: _Folder) -> bool:
        """Whether the folder was added, is back, or is another one now; notes one that is missing."""
        was_missing = bool(folder.problem)
        try:
            status = os.stat(path)
            identity = (status.st_dev, status.st_ino)
            moved = folder.identity is not None and folder.identity[0] != status.st_dev
            if moved and os.path.isdir(path) and not os.listdir(path):
                raise SourceProblem("it is empty now, and on another file system; is something not mounted?")
        except (OSError, SourceProblem) as error:
            reason = error.strerror or str(error) if isinstance(error, OSError) else str(error)
            folder.problem = f"{path}: {reason}; its documents are kept"
            self._tell(folder.problem)
            if folder.identity is not None and isinstance(error, OSError):
                folder.identity = None
                self._listener_gone()
            return False
        folder.problem = ""
        is_same = identity == folder.identity or (os.path.isfile(path) and folder.identity is not None)
        if is_same and not was_missing:
            return False
        folder.identity = identity
        return True

    def _listener_gone(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def _listen(self) -> None:
        """Listen to all folders that exist; without events from the system, check them regularly."""
        before, self._listener = self._listener, None
        present = self.folders
        try:
            self._listener = Listener(
                [path for path in present if os.path.isdir(path)],
                [path for path in present if not os.path.isdir(path)],
                self._note,
            )
            self._polls, self.state = False, "watching"
        except FileNotFoundError:
            pass  # vanished just now: the next check notes it
        except NoEvents as problem:
            self._polls, self.state = True, "polling"
            self._tell(
                f"the system does not report changes ({problem}); the folders are checked every "
                f"{self._poll_seconds:g} s instead. If it is a limit: raise fs.inotify.max_user_watches"
            )
        finally:
            if before is not None:
                before.close()

    def _note(self, paths: Collection[str]) -> None:
        """A callback of the listener: remember the paths that matter."""
        own = os.path.realpath(self._engine.folder)
        by_root: dict[str, list[str]] = {}
        for path in paths:
            root = owner_of(path, self._folders)
            if root and not path.startswith(own + os.sep) and path != own:
                by_root.setdefault(root, []).append(path)
        found: dict[str, Collection[str] | None] = {}
        for root, changed in by_root.items():
            folder = self._folders.get(root)
            concerned = self._sources.of(folder.kind).concerned(root, changed) if folder else []
            if concerned:
                found[root] = concerned
        if found:
            self._pending.add(found)

    def _poll(self) -> None:
        """Check the folders by their files' time stamps."""
        start = time.monotonic()
        if count_stale(self._engine.index, self._engine.settings, POLL_LOOK_SECONDS) != 0:
            self._all_of(self.folders)
        took = time.monotonic() - start
        self._next_poll = time.monotonic() + max(self._poll_seconds, 10 * took)

    # ------------------------------------------------------------ batches

    def _sync(self) -> None:
        """Sync what is pending. What fails is pending again."""
        self._check_folders(time.monotonic())  # now: what is not mounted any more looks empty
        self._syncing = True
        taken = self._pending.take()
        well = [root for root in self.folders if not self._folders[root].problem]
        there = {root: paths for root, paths in taken.items() if root in well}  # others are synced once they are back
        parts = {root: part_of(root, paths) for root, paths in there.items()}
        start = time.perf_counter()
        try:
            if not parts:
                return
            report = sync_parts(self._engine.index, self._engine.settings, parts, self._check_stop)
        except (IndexBusy, Stopped):
            self._pending.add(there)
            self._retry_at = time.monotonic() + FIRST_RETRY_SECONDS
        except WatersmeetError as problem:
            self._pending.add(dict.fromkeys(there))
            self._retry_at = time.monotonic() + self._failed(problem)
            if isinstance(problem, NoIndex):
                raise
        else:
            self._done(WatchedBatch(parts, report, (time.perf_counter() - start) * 1000))
        finally:
            self._syncing = False

    def _check_stop(self, step: Progress) -> None:
        """A progress callback, which ends a long sync: what is committed stays."""
        if self._stop.is_set():
            raise Stopped("watching ends")

    def _done(self, batch: WatchedBatch) -> None:
        if batch.changed or self.last_sync is None:
            self._embedder.wake()
        self.last_sync = time.time()
        again = [item for item in batch.report.warnings if item.path in batch.parts]
        if again:  # a root could not be read, or not to its end
            self._all_of([item.path for item in again])
            self._retry_at = time.monotonic() + self._failed(SourceProblem(f"{again[0].path}: {again[0].reason}"))
        else:
            self._pause, self.problem = FIRST_RETRY_SECONDS, ""
        if self._pending.overflowed:
            self._pending.overflowed = False
            self._next_whole = time.monotonic() + AFTERWARDS_SECONDS
        self._synced(batch)


class _Embedder:
    """Makes the vectors of changed chunks, beside the syncs: those go first."""

    def __init__(
        self, engine: Engine, tiers: Collection[str], is_busy: Callable[[], bool], say: Callable[[str], None]
    ) -> None:
        self._engine, self._tiers, self._is_busy, self._say = engine, tiers, is_busy, say
        self._work = Event()
        self._stop = Event()
        self._given_up: set[str] = set()
        self.wake = self._work.set

    def run(self, stop: Event) -> None:
        self._stop = stop
        while not stop.is_set():
            if not self._work.wait(TICK_SECONDS):
                continue
            self._work.clear()
            try:
                self._embed()
            except Stopped:
                self._work.set()
            except IndexBusy:
                self._work.set()
                stop.wait(BUSY_SECONDS)
            except WatersmeetError as problem:
                self._say(f"no vectors for now: {problem}. {problem.hint}".strip())
                stop.wait(MAX_RETRY_SECONDS)

    def _embed(self) -> None:
        for tier in pending_chunks(self._engine):
            if tier in self._given_up or (self._tiers and tier not in self._tiers):
                continue
            try:
                self._engine.deepen(self._yield, tiers=(tier,), strict=True)
            except ModelProblem as problem:
                self._given_up.add(tier)
                self._say(f"no {tier} vectors: {problem}. {problem.hint}".strip())
        refresh_languages(self._engine.index)

    def _yield(self, step: Progress) -> None:
        """A progress callback before each batch of chunks: lets a sync go first."""
        while self._is_busy() and not self._stop.wait(0.05):
            pass
        if self._stop.is_set():
            raise Stopped("watching ends")


def may_watch(engine: Engine) -> str:
    """Why a server does not watch the folders of its index; empty if it may.

    Watching writes to the index, which is its owner's to do: files of another user in it would shut the owner out."""
    index = engine.index
    if not hasattr(index, "writer"):
        return "the index can only be searched"
    if index.remote or not os.path.isdir(index.place):
        return ""
    if not is_ours(os.stat(index.place)):
        return "the index belongs to another user"
    return "" if os.access(index.place, os.W_OK) else "the index folder is read-only"
