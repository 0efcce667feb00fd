"""Named state in a folder: many readers, one writer at a time, and no damage by killed processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest

from trees import nobody
from watersmeet.core.errors import ConfigError, DiskFull, IndexBusy, IndexProblem
from watersmeet.store.local import state as states
from watersmeet.store.local.state import FileState

COUNT = """
import sys
from watersmeet.store.local.state import FileState

state = FileState(sys.argv[1], "number")
for _ in range(int(sys.argv[2])):
    with state.changing(60) as change:
        change.write(str(int(change.read() or b"0") + 1).encode())
"""
HOLD = """
import os, signal, sys, time
from watersmeet.store.local import state as states

def killed(path, content):
    open(os.path.join(os.path.dirname(path), f".{os.path.basename(path)}-0123456789ab"), "wb").write(content[:1])
    print("holds", flush=True)
    time.sleep(600)

states.replace_file = killed
with states.FileState(sys.argv[1], "value").changing(0) as change:
    change.write(b"new")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def state(folder: Path) -> FileState:
    folder.mkdir()
    return FileState(str(folder), "value")


def put(state: FileState, content: bytes | None) -> None:
    with state.changing(0) as change:
        change.write(content)


def test_a_value_is_read_replaced_and_gone(state: FileState, folder: Path) -> None:
    assert (state.read(), state.version()) == (None, None)
    put(state, b"one")
    assert state.read() == b"one"
    with state.changing(0) as change:
        change.write((change.read() or b"") + b" more")
        assert change.read() == b"one more"
    put(state, None)
    put(state, None)
    assert (state.read(), state.version()) == (None, None)
    assert os.listdir(folder) == []  # not even a lock


def test_every_value_is_another_version(state: FileState) -> None:
    versions = []
    for number in range(50):
        put(state, b"%03d" % number)
        versions.append(state.version())
    assert all(one != other for one, other in pairwise(versions))
    assert state.version() == versions[-1]
    assert hash(state) == hash(FileState(state.folder, "value"))


def test_a_block_that_fails_changes_nothing_and_lets_go(state: FileState) -> None:
    put(state, b"old")
    with pytest.raises(RuntimeError), state.changing(0):
        raise RuntimeError
    put(state, b"new")
    assert state.read() == b"new"


def test_one_at_a_time_and_names_do_not_wait_for_each_other(state: FileState) -> None:
    with state.changing(0):
        with pytest.raises(IndexBusy) as busy, state.changing(0):
            pass
        assert "value" in str(busy.value)
        assert busy.value.hint
        put(FileState(state.folder, "other"), b"x")
        assert state.read() is None  # readers never wait


def test_whoever_waits_gets_it(state: FileState) -> None:
    """Also if the file of the lock that it waited for is gone by then."""
    inside: list[int] = []

    def change(number: int) -> None:
        for _ in range(10):
            with state.changing(60) as change:
                inside.append(number)
                assert inside == [number]
                change.write((change.read() or b"") + b"%d" % number)
                inside.remove(number)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(state.read() or b"") == sorted(b"0123" * 10)


@pytest.mark.slow
def test_processes_take_turns(folder: Path) -> None:
    running = [subprocess.Popen([sys.executable, "-c", COUNT, str(folder), "40"]) for _ in range(3)]
    assert [one.wait(120) for one in running] == [0, 0, 0]
    assert FileState(str(folder), "number").read() == b"120"
    assert os.listdir(folder) == ["number"]


@pytest.mark.kill
def test_one_that_is_killed_leaves_the_old_value_and_no_lock(state: FileState, folder: Path) -> None:
    put(state, b"old")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"holds\n"
        with pytest.raises(IndexBusy), state.changing(0):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert state.read() == b"old"
    put(state, b"newer")
    assert state.read() == b"newer"
    assert os.listdir(folder) == ["value"]  # nor what it had begun to write


def test_files_are_their_owners_alone(state: FileState, folder: Path) -> None:
    before = os.umask(0)
    try:
        with state.changing(0) as change:
            change.write(b"secret")
            modes = {name: stat.S_IMODE(os.stat(folder / name).st_mode) for name in os.listdir(folder)}
    finally:
        os.umask(before)
    assert modes == {"value": 0o600, "value.lock": 0o600}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_no_file_is_neither_waited_for_nor_read(state: FileState, make: object) -> None:
    assert callable(make)
    make(state.path)
    start = time.process_time()
    with pytest.raises(IndexProblem):
        state.read()
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", ".hidden", "/etc/passwd"])
def test_a_name_is_not_a_path(name: str, folder: Path) -> None:
    with pytest.raises(ConfigError):
        FileState(str(folder), name)


def test_a_folder_for_reading_only_is_read_and_says_so(state: FileState, folder: Path) -> None:
    put(state, b"old")
    for above in (folder, *list(folder.parents)[:4]):
        above.chmod(above.stat().st_mode | 0o055)
    Path(state.path).chmod(0o444)
    folder.chmod(0o555)
    with nobody():
        with pytest.raises(IndexProblem, match="read-only") as problem, state.changing(0):
            pass
        assert problem.value.hint
        assert state.read() == b"old"
        assert state.version() is not None


@pytest.mark.parametrize(
    ("number", "error"), [(30, IndexProblem), (28, DiskFull), (13, IndexProblem)], ids=["read-only", "full", "denied"]
)
def test_what_the_system_refuses_is_said_with_a_hint(
    state: FileState, monkeypatch: pytest.MonkeyPatch, number: int, error: type[IndexProblem]
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    put(state, b"old")
    with monkeypatch.context() as patch:
        patch.setattr(states, "replace_file", refuse)
        with pytest.raises(error) as problem:
            put(state, b"new")
    assert problem.value.hint
    assert state.read() == b"old"
    put(state, b"new")
