"""The change stream's resume logic, over a stand-in: the engine that tests can start has no replica set."""

from __future__ import annotations

import time
from threading import Event
from typing import Any

import pytest
from pymongo.errors import AutoReconnect, OperationFailure

from watersmeet.store.mongodb import change_stream
from watersmeet.store.mongodb.change_stream import ChangeStream

LOST = OperationFailure("the resume token was not found", 286)
NONE = OperationFailure("only supported on replica sets", 40573)


class Stream:
    """What `watch` returns, with a script: events, None for a pause, errors. Each event has a token."""

    def __init__(self, script: list[Any]) -> None:
        self.script, self.resume_token, self.closed = list(script), None, False

    def try_next(self) -> Any:
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        self.resume_token = step or self.resume_token
        return step

    def close(self) -> None:
        self.closed = True


class Database:
    """A database whose streams follow scripts; `after` has the token that each was opened with."""

    def __init__(self, *scripts: list[Any] | Exception) -> None:
        self.scripts, self.after, self.streams = list(scripts), [], []  # type: ignore[var-annotated]

    def watch(self, pipeline: list[Any], *, resume_after: Any, max_await_time_ms: int) -> Stream:
        assert pipeline == [{"$match": {"ns.coll": {"$in": ["mcp_servers"]}}}]
        assert max_await_time_ms < 1000, "a stopped server must not wait for it"
        self.after.append(resume_after)
        script = self.scripts.pop(0) if self.scripts else []
        if isinstance(script, Exception):
            raise script
        self.streams.append(Stream(script))
        return self.streams[-1]


def waited(stream: ChangeStream, seconds: float = 30.0) -> float:
    start = time.monotonic()
    stream.wait(seconds, Event())
    return time.monotonic() - start


def test_a_wait_ends_with_the_first_event_and_takes_those_that_are_there() -> None:
    database = Database([None, "one", "two", "three"])
    stream = ChangeStream(lambda: database, ["mcp_servers"])
    assert waited(stream) < 10
    assert database.streams[0].script == []
    assert waited(stream, 0.05) < 10
    assert database.after == [None], "one stream, opened once"


def test_a_lost_connection_resumes_after_the_last_event() -> None:
    database = Database(["one", None, AutoReconnect("gone")], ["two"])
    stream = ChangeStream(lambda: database, ["mcp_servers"])
    waited(stream)
    assert waited(stream) < 10, "it is looked at once: events may be missing"
    assert database.streams[0].closed
    waited(stream)
    assert database.after == [None, "one"]


@pytest.mark.parametrize("broken", [["one", None, LOST], ["one", AutoReconnect("gone")]])
def test_a_token_that_the_server_no_longer_has_is_dropped(broken: list[Any]) -> None:
    scripts = [broken, ["two"]] if LOST in broken else [broken, LOST, ["two"]]
    database = Database(*scripts)
    stream = ChangeStream(lambda: database, ["mcp_servers"])
    for _ in range(4):
        waited(stream, 0.02)
    assert database.after[-1] is None
    assert len(database.after) == len(scripts)


def test_a_server_without_streams_is_polled_and_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(NONE, ["one"])
    stream = ChangeStream(lambda: database, ["mcp_servers"])
    assert waited(stream, 0.05) >= 0.04
    waited(stream, 0.01)
    assert len(database.after) == 1
    monkeypatch.setattr(stream, "_polled_until", 0.0)
    assert waited(stream) < 10
    assert change_stream.RETRY_SECONDS > 1


def test_it_stops_at_once() -> None:
    stop = Event()
    stop.set()
    database = Database([])
    start = time.monotonic()
    ChangeStream(lambda: database, ["mcp_servers"]).wait(60, stop)
    assert time.monotonic() - start < 10
    assert database.after == []
