"""Daemon threads for the fan-out of a query, and a cache shared by threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """A task for a thread. `result` waits for its value and raises its error, or `TimeoutError`.

    `then` is called with the value in the same thread, after waiting threads are released.
    """

    def __init__(self, work: Callable[[], T], then: Callable[[T], object] | None = None) -> None:
        self._work = work
        self._then = then
        self._lock = Lock()  # costs a quarter of an Event, and a query has a dozen tasks
        self._lock.acquire()
        self._finished = False
        self._value: T | None = None
        self._error: Exception | None = RuntimeError("the task was interrupted")

    def run(self) -> None:
        try:
            self._value = value = self._work()
            self._error = None
        except Exception as error:  # noqa: BLE001 - raised again by `result`
            self._error = error
            return
        finally:
            self._finished = True
            self._lock.release()
        if self._then is not None:
            Task(partial(self._then, value)).run()

    def result(self, timeout: float | None = None) -> T:
        if not self._finished:
            if not self._lock.acquire(timeout=-1 if timeout is None else timeout):
                raise TimeoutError
            self._lock.release()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value] # set before `done` unless there was an error

    @property
    def done(self) -> bool:
        return self._finished

    @property
    def failed(self) -> bool:
        return self._error is not None


class LruCache(Generic[T]):
    """A cache by text. Threads that need a value being computed wait for it."""

    def __init__(self, make: Callable[[str], T], limit: int) -> None:
        self._make = make
        self._limit = limit
        self._tasks_by_text: dict[str, Task[T]] = {}
        self._lock = Lock()

    def get(self, text: str) -> T:
        with self._lock:
            task = self._tasks_by_text.get(text)
            mine = task is None
            if task is None:
                if len(self._tasks_by_text) >= self._limit:
                    self._tasks_by_text.clear()
                task = self._tasks_by_text[text] = Task(partial(self._make, text))
        if mine:
            try:
                task.run()
            finally:
                if task.failed:
                    self._tasks_by_text.pop(text, None)
        return task.result()

    def clear(self) -> None:
        self._tasks_by_text.clear()


class Threads:
    """Daemon threads in lanes: a hanging task blocks neither other lanes nor the end of the process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lanes: dict[str, _Lane] = {}

    def submit(self, task: Task[Any], lane: str = "") -> None:
        if lane not in self._lanes:
            self._lanes.setdefault(lane, _Lane(self._limit))
        self._lanes[lane].submit(task)

    def close(self) -> None:
        for lane in list(self._lanes.values()):
            lane.close()


class _Lane:
    """Threads of one lane, started as needed."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._tasks: SimpleQueue[Task[Any] | None] = SimpleQueue()
        self._started = 0
        self._idle = 0
        self._lock = Lock()

    def submit(self, task: Task[Any]) -> None:
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif self._started < self._limit:
                self._started += 1
                Thread(target=self._serve, name=f"watersmeet-{self._started}", daemon=True).start()
        self._tasks.put(task)

    def close(self) -> None:
        for _ in range(self._started):
            self._tasks.put(None)

    def _serve(self) -> None:
        try:
            while (task := self._tasks.get()) is not None:
                task.run()
                with self._lock:
                    self._idle += 1
        finally:  # a panic in compiled code ends a thread; another may be started
            with self._lock:
                self._started -= 1
