"""Work handed out, and work that several want."""

from __future__ import annotations

import threading
import time

import pytest

from watersmeet.engine.query.threads import LruCache, Task, Threads


@pytest.mark.slow
def test_what_two_want_at_once_is_made_once() -> None:
    made: list[str] = []

    def make(text: str) -> str:
        made.append(text)
        time.sleep(0.2)
        return text.upper()

    remembered = LruCache(make, 10)
    got: list[str] = []
    askers = [threading.Thread(target=lambda: got.append(remembered.get("a"))) for _ in range(4)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert (made, got) == (["a"], ["A"] * 4)
    remembered.clear()
    assert remembered.get("a") == "A"
    assert made == ["a", "a"]


def test_only_so_many_are_remembered() -> None:
    made: list[str] = []
    remembered = LruCache(lambda text: made.append(text), 2)
    for text in ("a", "b", "a", "c", "a"):
        remembered.get(text)
    assert made == ["a", "b", "c", "a"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_what_failed_is_tried_again(error: BaseException) -> None:
    errors = [error]

    def make(text: str) -> str:
        if errors:
            raise errors.pop()
        return text

    remembered = LruCache(make, 10)
    with pytest.raises(type(error)):
        remembered.get("a")
    assert remembered.get("a") == "a"


def test_who_waits_for_work_that_was_interrupted_is_told() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    task = Task(interrupted)
    with pytest.raises(KeyboardInterrupt):
        task.run()
    assert task.done
    with pytest.raises(RuntimeError, match="interrupted"):
        task.result()


def test_what_comes_then_holds_nobody_up_and_breaks_nothing() -> None:
    threads, gate, after = Threads(1), threading.Event(), threading.Event()

    def then(value: int) -> None:
        gate.wait(5)
        after.set()
        raise ValueError(value)

    first, second = Task(lambda: 1, then), Task(lambda: 2)
    threads.submit(first)
    threads.submit(second)
    assert first.result(5) == 1
    assert not after.is_set()
    gate.set()
    assert second.result(5) == 2
    assert after.is_set()
    threads.close()


def test_a_lane_that_hangs_holds_up_no_other() -> None:
    threads, gate = Threads(2), threading.Event()
    for _ in range(5):
        threads.submit(Task(lambda: gate.wait(5)), "afar")
    quick = Task(lambda: 1)
    threads.submit(quick)
    assert quick.result(5) == 1
    gate.set()
    threads.close()


def test_a_thread_that_dies_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)

    def panics() -> None:
        raise SystemError from KeyboardInterrupt()

    def dies() -> None:
        raise GeneratorExit

    threads = Threads(2)
    for work in (panics, dies, dies, dies):
        task = Task(work)
        threads.submit(task)
        with pytest.raises((SystemError, RuntimeError)):
            task.result(5)
    time.sleep(0.05)
    quick = Task(lambda: 1)
    threads.submit(quick)
    assert quick.result(5) == 1
    threads.close()
