"""Embedding in the background of a server: what no model has read yet, at low priority and while nobody asks.

One process embeds at a time (`Index.alone`); the others look again later. It works in slices of a few seconds, each of
narrow windows, and what a window made is committed: so it stops within a window, and gives way to a question or a
change as quickly.
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

SETTLED = 5.0
"""Seconds in which what is missing must not have changed: a sync commits more often, and embeds for itself."""
LOOK = 10.0
"""Seconds between two looks while nothing is missing."""
SLICE = 4.0
"""Seconds of embedding before the index is looked at again; short enough for narrow windows."""
QUIET = 1.0
"""Seconds without a question after which it goes on."""
SHARE = 5.0
"""Where questions never cease, one window in so many seconds."""
BUSY = 30.0
"""Seconds to leave another process alone that embeds."""
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 600.0
"""Seconds before it tries again what failed; twice as long each time."""
TURN = 10.0
"""Seconds that a change waits for a window to end."""
ENDING = 5.0
"""Seconds that the end of the process waits for a window to end; what is lost is made again."""
PRIORITY = 10


class Background:
    """A thread that embeds. It is started by the process that serves, and `close` ends it."""

    def __init__(self, engine: Engine, quiet: Callable[[], float], say: Callable[[str], None]) -> None:
        """`quiet`: for how many seconds nobody has asked. `say`: where a problem goes, once."""
        self._engine = engine
        self._quiet = quiet
        self._say = say
        self._stop = Event()
        self._turn = Condition()
        self._changes = 0  # how many are under way
        self._embedding = False
        self._last_window = -math.inf
        self._lowered = False
        self._thread: Thread | None = None
        self._problems: dict[str, str] = {}
        self._pauses: dict[str, float] = {}
        self._until: dict[str, float] = {}
        self.state = "off"
        """off, idle (nothing is missing), waiting or embedding."""

    @property
    def problem(self) -> str:
        """What keeps a model from reading, if anything does."""
        return "; ".join(self._problems.values())

    def start(self) -> None:
        if self._thread is None and can_embed(self._engine):
            self.state = "waiting"
            self._thread = Thread(target=self._run, name="watersmeet-background", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(ENDING)
        self.state = "off"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While this process changes the index: the change embeds for itself."""
        with self._turn:
            self._changes += 1
            self._turn.wait_for(lambda: not self._embedding, TURN)
        try:
            yield
        finally:
            with self._turn:
                self._changes -= 1

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        before: dict[str, int] = {}
        pause = 0.0
        while not self._stop.wait(pause):
            left = self._left()
            now = time.monotonic()
            tiers = [tier for tier in left if self._until.get(tier, 0.0) <= now]
            if tiers and left == before and self._begin():
                self._slice(tiers[0])
                before, pause = self._left(), 0.0
            else:  # what changes is being written or embedded by somebody else, who is not disturbed
                self.state = "waiting" if left else "idle"
                before, pause = left, SETTLED if tiers else LOOK

    def _left(self) -> dict[str, int]:
        """What is missing; nothing, if the index cannot be read: whoever asks is told why."""
        try:
            return pending_chunks(self._engine)
        except WatersmeetError:
            return {}

    def _begin(self) -> bool:
        """Whether no change is under way; then the next one waits for a window to end."""
        with self._turn:
            self._embedding = not self._changes
        return self._embedding

    def _slice(self, tier: str) -> None:
        """Embed for a while. A model that cannot be had is tried again later, and said once."""
        self.state = "embedding"
        if not self._lowered:
            _lower_priority()
            self._lowered = True
        try:
            made = self._engine.deepen(self._give_way, SLICE, strict=True, tiers=(tier,))
        except (Stopped, NoIndex):
            return
        except IndexBusy:
            self._until[tier] = time.monotonic() + BUSY
        except WatersmeetError as problem:
            self._failed(tier, f"{problem}. {problem.hint}".strip())
        except Exception as error:  # noqa: BLE001 - a face's boundary: the server goes on without it
            from watersmeet.face.crash_log import keep

            self._failed(tier, f"unexpected: {type(error).__name__}. {keep(error)}")
        else:
            self._problems.pop(tier, None)
            self._pauses.pop(tier, None)
            if not made.embedded and not made.cached:  # what is left cannot be read: damaged, until the next sync
                self._until[tier] = time.monotonic() + LONGEST_PAUSE
        finally:
            with self._turn:
                self._embedding = False
                self._turn.notify_all()

    def _failed(self, tier: str, problem: str) -> None:
        pause = self._pauses.get(tier, FIRST_PAUSE)
        self._until[tier] = time.monotonic() + pause
        self._pauses[tier] = min(LONGEST_PAUSE, 2 * pause)
        if self._problems.get(tier) != problem:
            self._problems[tier] = problem
            self._say(f"no {tier} vectors are made in the background: {problem}")

    def _give_way(self, step: Progress) -> None:
        """Before each window: wait while somebody asks, but not for ever."""
        if step.done == step.total:  # behind the last one; what follows is not left undone
            return
        while self._quiet() < QUIET and time.monotonic() < self._last_window + SHARE and not self._changes:
            if self._stop.wait(0.05):
                break
        if self._stop.is_set() or self._changes:
            raise Stopped("the background gives way")
        self._last_window = time.monotonic()


def _lower_priority() -> None:
    """Of this thread and of those that it starts: half of the cores, and those only if nobody else wants them.

    Only Linux has that for threads. What starts threads of its own, for questions as well, is loaded before."""
    if sys.platform == "linux":
        import numpy  # noqa: F401

        with suppress(OSError):
            cores = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(0, cores[len(cores) // 2 :])
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PRIORITY)
