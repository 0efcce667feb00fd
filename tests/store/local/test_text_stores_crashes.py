"""The contract of a text store: several processes, death at any moment, damaged files."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watersmeet.core.errors import (
    IndexBusy,
    IndexDamaged,
    IndexProblem,
    NoIndex,
)
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import Term, TextReader, TextStore
from watersmeet.store.local.fts5 import Fts5
from watersmeet.store.local.tantivy import Tantivy

STORES = {"tantivy": Tantivy, "fts5": Fts5}


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def store(kind: str, tmp_path: Path):
    made = STORES[kind](str(tmp_path / "text"))
    yield made
    made.close()


def entry(row: int, body: str = "", **fields: str) -> Entry:
    return Entry(Row(row), {"body": body, **fields})


def fill(store: TextStore, *entries: Entry) -> TextReader:
    with store.writer() as writer:
        writer.add(entries)
        writer.commit()
    return store.reader()


def body(*words: str) -> list[Term]:
    return [Term("body", word) for word in words]


def rows(hits: list[tuple[Row, float]]) -> list[int]:
    return [row for row, _ in hits]


@pytest.mark.kill
def test_one_writer_at_a_time(kind, store, tmp_path):
    other = STORES[kind](str(tmp_path / "text"))
    with store.writer(), pytest.raises(IndexBusy) as error:
        other.writer()
    assert error.value.hint
    other.writer().close()
    store.writer().close()
    other.close()


@pytest.mark.kill
def test_a_writer_can_be_opened_again_after_an_error(store):
    entries = (entry(row, "apples" * (1 // (1 - row))) for row in range(2))  # the second one fails
    with pytest.raises(ZeroDivisionError), store.writer() as writer:
        writer.add(entries)
    assert fill(store, entry(2, "apples")).size == 1
    dropped = store.writer()
    dropped.add([entry(3, "apples")])
    del dropped  # never closed
    gc.collect()
    assert rows(fill(store, entry(4, "apples")).match(body("apples"), 9)) == [2, 4]


def test_a_closed_writer_refuses(store):
    writer = store.writer()
    writer.close()
    writer.close()
    for use in (lambda: writer.add([entry(1)]), lambda: writer.drop([Row(1)]), writer.commit):
        with pytest.raises(ValueError, match="closed"):
            use()


SCRIPT = """
import sys, time
from watersmeet.core.indexing import Entry
from watersmeet.core.ports import Term
from watersmeet.store.local.{kind} import {name}
store = {name}(sys.argv[1])
def say(*words): print(*words, flush=True)
"""


def start(kind: str, folder: str, code: str) -> subprocess.Popen[str]:
    script = SCRIPT.format(kind=kind, name=STORES[kind].__name__) + code
    return subprocess.Popen([sys.executable, "-c", script, folder], stdout=subprocess.PIPE, text=True)


@pytest.mark.kill
def test_killed_between_add_and_commit(kind, store, tmp_path):
    folder = str(tmp_path / "text")
    fill(store, entry(1, "apples"))
    code = """
writer = store.writer()
writer.add(Entry(row, {"body": "apples"}) for row in range(2, 5000))
writer.drop([1])
say("added")
time.sleep(60)
"""
    with start(kind, folder, code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "added\n"
        with pytest.raises(IndexBusy):
            store.writer()
        os.kill(process.pid, signal.SIGKILL)
    assert rows(store.reader().match(body("apples"), 10)) == [1]
    assert rows(fill(store, entry(5, "apples")).match(body("apples"), 10)) == [1, 5]


@pytest.mark.kill
def test_killed_after_the_commit(kind, store, tmp_path):
    code = """
writer = store.writer()
writer.add(Entry(row, {"body": "apples"}) for row in range(10))
writer.commit()
say("committed")
time.sleep(60)
"""
    with start(kind, str(tmp_path / "text"), code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "committed\n"
        os.kill(process.pid, signal.SIGKILL)
    assert store.reader().size == 10


@pytest.mark.kill
def test_processes_read_while_one_writes(kind, store, tmp_path):
    fill(store, entry(0, "apples"))
    code = """
end, last, rounds = time.monotonic() + 1.5, 0, 0
while time.monotonic() < end:
    reader = store.reader()
    found = [row for row, _ in reader.match([Term("body", "apples")], 10_000)]
    assert len(found) == reader.size == found[-1] - found[0] + 1, (reader.size, found)
    assert found[-1] >= last, (found[-1], last)
    last = found[-1]
    rounds += 1
say("fine", rounds)
"""
    readers = [start(kind, str(tmp_path / "text"), code) for _ in range(2)]
    end, row = time.monotonic() + 1.5, 1
    with store.writer() as writer:
        while time.monotonic() < end:
            writer.add([entry(row, "apples")])
            if row > 50:
                writer.drop([Row(row - 51)])
            writer.commit()
            row += 1
    for process in readers:
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 0
        assert out.startswith("fine")
        assert int(out.split()[1]) > 3
    assert row > 5


def test_no_index(kind, tmp_path):
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(NoIndex) as error:
            STORES[kind](str(folder)).reader()
        assert "sync" in error.value.hint
    assert not (tmp_path / "none").exists()


def complaint(store: TextStore) -> IndexProblem | None:
    """What a store says when it is asked for everything that it has."""
    try:
        store.reader().match([Term("body", "apples"), Term("body", "w3"), Term("forms", "F3")], 10)
    except IndexProblem as problem:
        return problem
    finally:
        store.close()
    return None


@pytest.mark.kill
@pytest.mark.parametrize("size", [0, 100])
def test_damage_is_reported(kind, tmp_path, size):
    folder = tmp_path / "text"
    store = STORES[kind](str(folder))
    fill(store, *(entry(row, f"apples w{row}", forms=f"F{row}") for row in range(2_000)))
    store.close()
    gc.collect()
    damaged = 0
    for file in sorted(folder.iterdir()):
        if file.name.endswith((".lock", ".managed.json")) or file.stat().st_size <= size:
            continue
        whole = file.read_bytes()
        file.write_bytes(whole[:size])
        problem = complaint(STORES[kind](str(folder)))
        gc.collect()
        file.write_bytes(whole)
        if problem is not None:
            damaged += 1
            assert "watersmeet sync" in problem.hint, file
    assert damaged
    assert STORES[kind](str(folder)).reader().size == 2_000


def test_garbage_is_reported(kind, tmp_path):
    for name in ("meta.json", "text.db"):
        (tmp_path / name).write_bytes(b"garbage " * 1000)
    store = STORES[kind](str(tmp_path))
    for use in (store.reader, store.writer):
        with pytest.raises(IndexDamaged) as error:
            use()
        assert "watersmeet sync" in error.value.hint


def test_a_folder_made_anew_is_noticed(kind, store, tmp_path):
    fill(store, entry(1, "apples"))
    assert store.reader().size == 1
    (tmp_path / "text").rename(tmp_path / "old")
    with pytest.raises(NoIndex):
        store.reader()
    other = STORES[kind](str(tmp_path / "text"))
    fill(other, entry(2, "apples"), entry(3, "apples"))
    assert rows(store.reader().match(body("apples"), 9)) == [2, 3]
    other.close()
