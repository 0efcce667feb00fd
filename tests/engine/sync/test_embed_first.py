"""What to embed first: a hint that costs no query anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet.core.index import State
from watersmeet.core.model import ChunkId
from watersmeet.engine.index.state_names import EMBED_FIRST
from watersmeet.engine.sync import embed_first
from watersmeet.store.local.state import FileState


@pytest.fixture
def state(tmp_path: Path) -> State:
    return FileState(str(tmp_path), EMBED_FIRST)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_first, "WRITE_INTERVAL_SECONDS", 0.0)


def ids(*names: str) -> list[ChunkId]:
    return [ChunkId(name) for name in names]


def test_chunks_are_noted_once_in_their_order(state: State) -> None:
    assert embed_first.read(state) == []
    embed_first.note(state, ids("b", "a"))
    embed_first.note(state, ids("c", "a"))
    assert embed_first.read(state) == ids("b", "a", "c")


def test_what_is_known_is_not_written_again(state: State) -> None:
    embed_first.note(state, ids("a", "b"))
    version = state.version()
    embed_first.note(state, ids("b"))
    embed_first.note(state, [])
    assert state.version() == version


def test_between_two_writes_it_waits_in_memory(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_first, "WRITE_INTERVAL_SECONDS", 1e9)
    embed_first.note(state, ids("a"))  # the first is written: a command asks once
    version = state.version()
    for name in "bcb":
        embed_first.note(state, ids(name))
    assert state.version() == version
    embed_first._buffer(state)._due = 0.0
    embed_first.note(state, ids("d"))
    assert embed_first.read(state) == ids("a", "b", "c", "d")


def test_nobody_waits_for_it(state: State) -> None:
    with state.changing(0):
        embed_first.note(state, ids("a"))
        embed_first.forget(state)
    assert embed_first.read(state) == []


def test_it_ends_where_it_is_full(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed_first, "MAX_BYTES", 8)
    for name in "abcdefgh":
        embed_first.note(state, ids(name))
    assert embed_first.read(state) == ids("a", "b", "c", "d")


def test_forgetting(state: State) -> None:
    embed_first.note(state, ids("a"))
    embed_first.forget(state)
    assert (state.version(), embed_first.read(state)) == (None, [])


def test_what_is_damaged_does_no_harm(state: State, tmp_path: Path) -> None:
    (tmp_path / EMBED_FIRST).write_bytes(b"\xff\xfe\x00 a\n")
    assert ChunkId("a") in embed_first.read(state)
    (tmp_path / EMBED_FIRST).unlink()
    (tmp_path / EMBED_FIRST).mkdir()
    assert embed_first.read(state) == []
    embed_first.note(state, ids("a"))
