"""Many processes at one index: readers beside a writer, two writers, one that is stopped, one without room."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexBusy, WatersmeetError
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._connect import sqlite_errors
from watersmeet.store.local.catalogue import Catalogue

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
SETTINGS = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__WRITER__BATCH_CHUNKS": "40"}
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Enough pages for a sync of some ten commits; page N alone says `only N`, as an identifier."""
    root = tmp_path / "many"
    root.mkdir()
    chance = random.Random(1)  # noqa: S311 - to be repeatable
    words = [a + b for a in ("tide", "reed", "silt", "bank") for b in ("gate", "mark", "song", "line")]
    for n in range(300):
        text = " ".join(chance.choices(words, k=250))
        (root / f"p{n:03}.md").write_text(f"# Page {n}\n\nonly_{n:03}_here {text}\n")
    return root


def _heeds_ctrl_c() -> None:
    """Whoever starts the tests in the background lets all that comes of them ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def start(tmp_path: Path) -> Start:
    def run(*argv: str, **more: Any) -> subprocess.Popen[str]:
        env = {**os.environ, **SETTINGS, **more.pop("env", {})}
        argv = (*argv, "--index", str(tmp_path / "index"))
        return subprocess.Popen(
            [*COMMAND, *argv], env=env, cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **{"preexec_fn": _heeds_ctrl_c, **more},
        )  # fmt: skip

    return run


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path / "index", load(start=str(tmp_path), environ=SETTINGS))


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def until_committed(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    while not (line := process.stderr.readline()).startswith("committed"):
        assert line, "it ended before anything was committed"
    return line


def test_readers_beside_a_first_sync(many: Path, start: Start, engine: Engine) -> None:
    """Four threads with an engine each, from before there is anything to read."""
    process, over = start("sync", str(many)), Event()
    errors: list[str] = []
    most = [0] * 4

    def read(n: int) -> None:
        while not over.is_set():
            try:
                with Engine(engine.folder, engine.settings) as reader:
                    for _ in range(5):
                        answer = reader.search("tidegate only_007_here")
                        errors.extend(failure.reason for failure in answer.failures)
                        most[n] = max(most[n], len(answer.results))
            except WatersmeetError as error:
                if type(error).__name__ != "NoIndex" or most[n]:
                    errors.append(f"{type(error).__name__}: {error}")

    threads = [Thread(target=read, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    code, _, err = finish(process)
    time.sleep(0.2)
    over.set()
    for thread in threads:
        thread.join()
    assert code == 0, err
    assert not errors
    assert min(most) == 10


def test_a_second_writer_waits_for_the_first(many: Path, start: Start, engine: Engine) -> None:
    first = start("sync", str(many))
    until_committed(first)
    second = start("sync", str(many), "--json", env={"WATERSMEET__WRITER__LOCK_SECONDS": "60"})
    assert finish(first)[0] == 0
    code, out, err = finish(second)
    assert code == 0, err
    report = json.loads(out)
    assert (report["added"], report["unchanged"]) == (0, 300)
    assert all(check.ok for check in engine.doctor())


def test_an_impatient_writer_is_told_who_writes(many: Path, start: Start) -> None:
    first = start("sync", str(many))
    until_committed(first)
    first.send_signal(signal.SIGSTOP)  # else it may be done before the other one starts
    code, _, err = finish(start("sync", str(many), env={"WATERSMEET__WRITER__LOCK_SECONDS": "0"}))
    first.send_signal(signal.SIGCONT)
    assert code == 2
    assert f"process {first.pid} " in err
    assert "hint:" in err
    assert finish(first)[0] == 0


def test_ctrl_c_keeps_what_was_committed(many: Path, start: Start, engine: Engine) -> None:
    process = start("sync", str(many))
    line = until_committed(process)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert code == 130
    assert "committed work is kept" in err
    last = re.findall(r"^committed (\d+) of 300", line + err, re.MULTILINE)[-1]
    kept = {document["document"] for document in engine.documents()}
    assert 0 < int(last) <= len(kept) < 300
    assert {f"p{n:03}.md" for n in range(int(last))} <= kept
    assert engine.search("only_000_here").results[0].document == "p000.md"
    with open(Path(engine.folder, "writer.lock"), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert lock.read() == b""
    report = engine.sync([many])
    assert (report.added, report.documents) == (300 - len(kept), 300)


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_a_full_disk_loses_nothing(many: Path, start: Start, tmp_path: Path, text: str) -> None:
    """A limit on the size of files stands in for the disk: writes fail in the same places."""
    store = {"WATERSMEET__INDEX__TEXT": text}
    few = many.rename(tmp_path / "some")
    late = [page.rename(tmp_path / page.name) for page in sorted(few.iterdir())[20:]]
    code, _, err = finish(start("sync", str(few), env=store))
    assert code == 0, err
    for page in late:
        page.rename(few / page.name)
    index = tmp_path / "index"
    largest = max(path.stat().st_size for path in index.rglob("*") if path.is_file())

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 40_000, resource.RLIM_INFINITY))

    code, _, err = finish(start("sync", str(few), env={**store, "HOME": str(tmp_path)}, preexec_fn=little_room))
    assert code == 2, err
    assert "hint: make room" in err
    with Engine(index, load(start=str(tmp_path), environ={**SETTINGS, **store})) as engine:
        assert engine.search("only_003_here").results[0].document == "p003.md"
        assert all(check.ok for check in engine.doctor())
        engine.sync([few])
        assert engine.search("only_299_here").results[0].document == "p299.md"
        assert engine.status()["documents"] == 300


def test_a_folder_that_cannot_be_written(many: Path, start: Start, tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where the index should be")
    code, _, err = finish(start("sync", str(many)))
    assert code == 2
    assert "cannot be written" in err
    assert "hint:" in err
    assert "defect" not in err
    (tmp_path / "index").unlink()
    (tmp_path / "index/catalogue.db").mkdir(parents=True)  # SQLite cannot open it: as in a folder without rights
    for command in (("search", "x"), ("status",), ("doctor",), ("sync", str(many))):
        code, out, err = finish(start(*command))
        assert code == 2
        assert "hint" in out + err
        assert "defect" not in err


def test_a_writer_that_never_began_is_no_index(tmp_path: Path, start: Start, engine: Engine) -> None:
    """Killed after the catalogue was made and before anything else."""
    Catalogue(engine.folder).close()
    code, _, err = finish(start("search", "anything"))
    assert code == 2
    assert "hint: " in err
    assert "defect" not in err
    assert engine.documents() == []


def test_a_locked_catalogue_is_said_to_be_busy(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with (
            closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other,
            pytest.raises(IndexBusy, match="locked"),
            sqlite_errors(str(path)),
        ):
            other.execute("BEGIN IMMEDIATE")


@pytest.mark.kill
@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_the_visibility_protocol_under_torture(text: str, tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "scripts" / "torture.py"), "--seconds", "4", "--readers", "3", "--text", text]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["mismatches"], summary["errors"]) == (0, 0)
    assert summary["live_checked"] > 20
    assert summary["writer"]["syncs"] > 1


LATE = """
import sys, time
from contextlib import suppress
from sqlite3 import ProgrammingError
from threading import Thread
from watersmeet.core.errors import WatersmeetError
from watersmeet.store.local.documents import DocumentsView

def ask(snapshot):
    with suppress(ProgrammingError, WatersmeetError):
        while True:
            snapshot.named_texts()

for _ in range(200):
    snapshot = DocumentsView(sys.argv[1])
    late = [Thread(target=ask, args=(snapshot,)) for _ in range(2)]
    for thread in late:
        thread.start()
    time.sleep(0.002)
    snapshot.close()
    for thread in late:
        thread.join()
"""


def test_an_index_is_closed_while_a_signal_that_came_too_late_still_reads(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "linked").mkdir()
    for n in range(200):
        links = " ".join(f"[about {m}]({m}.md)" for m in range(10))
        (tmp_path / "linked" / f"{n}.md").write_text(f"# {n}\n\n{links}\n")
    engine.sync([tmp_path / "linked"])
    argv = [sys.executable, "-c", LATE, engine.folder]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
