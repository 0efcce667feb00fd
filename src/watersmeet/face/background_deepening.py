"""Background embedding of a server: makes missing vectors at low priority, while there are no requests.

One process embeds at a time (`Index.alone`); the others check again later. It works in slices of a few seconds, each
of small batches ("windows"), and each batch is committed: so it stops, or yields to a request or a change, within one
batch.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Event, Thread

from watersmeet.core.errors import IndexBusy, NoIndex, Stopped, WatersmeetError
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.pending import can_embed, pending_chunks
from watersmeet.engine.sync.report import Progress

SETTLE_SECONDS = 5.0
"""The number of missing vectors must be stable for so long: a running sync commits more often, and embeds itself."""
POLL_SECONDS = 10.0
"""Polling interval while nothing is missing."""
SLICE_SECONDS = 4.0
"""Embedding time before the index is checked again; short enough for small batches."""
QUIET_SECONDS = 1.0
"""It goes on after so long without a request."""
MAX_WAIT_SECONDS = 5.0
"""Where requests never stop, it still embeds one batch in so many seconds."""
BUSY_SECONDS = 30.0
"""Pause while another process embeds."""
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 30.0, 600.0
"""Pause before a retry after a failure; it doubles each time."""
CHANGE_WAIT_SECONDS = 10.0
"""How long a change of the index waits for a batch to end."""
SHUTDOWN_SECONDS = 5.0
"""How long shutdown waits for a batch to end; a lost batch is embedded again later."""
PRIORITY = 10


class Background:
    """A background thread that embeds. The server process starts it, and `close` ends it."""

    def __init__(self, engine: Engine, quiet: Callable[[], float], say: Callable[[str], None]) -> None:
        """`quiet`: seconds since the last request. `say`: the callback for problems; each is reported once."""
        self._engine = engine
        self._quiet = quiet
        self._say = say
        self._stop = Event()
        self._condition = Condition()
        self._changes = 0  # number of running changes
        self._embedding = False
        self._last_window = -math.inf
        self._lowered = False
        self._thread: Thread | None = None
        self._problems: dict[str, str] = {}
        self._pauses: dict[str, float] = {}
        self._retry_at: dict[str, float] = {}
        self.state = "off"
        """off, idle (nothing is missing), waiting or embedding."""

    @property
    def problem(self) -> str:
        """Why embedding fails, if it does."""
        return "; ".join(self._problems.values())

    def start(self) -> None:
        if self._thread is None and can_embed(self._engine):
            self.state = "waiting"
            self._thread = Thread(target=self._run, name="watersmeet-background", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(SHUTDOWN_SECONDS)
        self.state = "off"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A pause while this process changes the index: the change embeds its own chunks."""
        with self._condition:
            self._changes += 1
            self._condition.wait_for(lambda: not self._embedding, CHANGE_WAIT_SECONDS)
        try:
            yield
        finally:
            with self._condition:
                self._changes -= 1

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        before: dict[str, int] = {}
        pause = 0.0
        while not self._stop.wait(pause):
            missing = self._missing()
            now = time.monotonic()
            tiers = [tier for tier in missing if self._retry_at.get(tier, 0.0) <= now]
            if tiers and missing == before and self._begin():
                self._slice(tiers[0])
                before, pause = self._missing(), 0.0
            else:  # the number changes: another process writes or embeds
                self.state = "waiting" if missing else "idle"
                before, pause = missing, SETTLE_SECONDS if tiers else POLL_SECONDS

    def _missing(self) -> dict[str, int]:
        """Missing vectors by tier; none if the index cannot be read, which requests report."""
        try:
            return pending_chunks(self._engine)
        except WatersmeetError:
            return {}

    def _begin(self) -> bool:
        """Claims the turn unless a change is running; a change that starts later waits for the batch to end."""
        with self._condition:
            self._embedding = not self._changes
        return self._embedding

    def _slice(self, tier: str) -> None:
        """Embed one slice. A failure is reported once and retried later."""
        self.state = "embedding"
        if not self._lowered:
            _lower_priority()
            self._lowered = True
        try:
            made = self._engine.deepen(self._yield_to_requests, SLICE_SECONDS, strict=True, tiers=(tier,))
        except (Stopped, NoIndex):
            return
        except IndexBusy:
            self._retry_at[tier] = time.monotonic() + BUSY_SECONDS
        except WatersmeetError as problem:
            self._failed(tier, f"{problem}. {problem.hint}".strip())
        except Exception as error:  # noqa: BLE001 - a face's boundary: the server goes on without it
            from watersmeet.face.crash_log import log_server_crash

            self._failed(tier, f"unexpected: {type(error).__name__}. {log_server_crash(error)}")
        else:
            self._problems.pop(tier, None)
            self._pauses.pop(tier, None)
            if not made.embedded and not made.cached:  # the rest cannot be read: damaged, until the next sync
                self._retry_at[tier] = time.monotonic() + MAX_RETRY_SECONDS
        finally:
            with self._condition:
                self._embedding = False
                self._condition.notify_all()

    def _failed(self, tier: str, problem: str) -> None:
        pause = self._pauses.get(tier, FIRST_RETRY_SECONDS)
        self._retry_at[tier] = time.monotonic() + pause
        self._pauses[tier] = min(MAX_RETRY_SECONDS, 2 * pause)
        if self._problems.get(tier) != problem:
            self._problems[tier] = problem
            self._say(f"background embedding of {tier} vectors failed: {problem}")

    def _yield_to_requests(self, step: Progress) -> None:
        """A progress callback before each batch: waits while there are requests, but not for ever."""
        if step.done == step.total:  # after the last batch: let the slice finish
            return
        while (
            self._quiet() < QUIET_SECONDS
            and time.monotonic() < self._last_window + MAX_WAIT_SECONDS
            and not self._changes
        ):
            if self._stop.wait(0.05):
                break
        if self._stop.is_set() or self._changes:
            raise Stopped("background embedding yields")
        self._last_window = time.monotonic()


def _lower_priority() -> None:
    """Lower priority for this thread and those it starts: half of the cores, at a lower nice level.

    Only Linux can do this per thread. numpy starts threads that requests use too, so it is loaded before."""
    if sys.platform == "linux":
        import numpy  # noqa: F401

        with suppress(OSError):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, cores[len(cores) // 2 :])
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PRIORITY)
