"""Threads for the fan-out: a handful that wait for work, and never keep the process from ending."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """Work handed out. `result` waits for it, raises what it raised, or `TimeoutError`."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done = Event()
        self._value: T | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._value = self._work()
        except Exception as error:  # noqa: BLE001 - carried to whoever asks for the result
            self._error = error
        self._done.set()

    def result(self, timeout: float) -> T:
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value] # set before `done` unless there was an error

    @property
    def done(self) -> bool:
        return self._done.is_set()


class Threads:
    """Started one by one as they are needed; daemons, so that one that hangs holds nobody up."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tasks: SimpleQueue[Task[Any] | None] = SimpleQueue()
        self._started = 0
        self._idle = 0
        self._lock = Lock()

    def submit(self, task: Task[Any]) -> None:
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif self._started < self._most:
                self._started += 1
                Thread(target=self._serve, name=f"watersmeet-{self._started}", daemon=True).start()
        self._tasks.put(task)

    def close(self) -> None:
        for _ in range(self._started):
            self._tasks.put(None)

    def _serve(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()
            with self._lock:
                self._idle += 1
