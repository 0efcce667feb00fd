"""The child process that parses: what it reads, what ends it, and what it may not do."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.errors import ReaderFailed
from watersmeet.core.indexing import Found, Skipped
from watersmeet.engine.sync import parser_process
from watersmeet.engine.sync.parser_process import ParserProcess

pytestmark = pytest.mark.slow  # starts processes
GUIDE = b"# Guide\n\nSee [[Keys]].\n"
SLOW_RECORDS = b'{"_id": "1", "text": "x"}\n' + b"{x\n" * 5_000_000
"""Takes many seconds on any machine."""
SLOW = b"[a](b) *c* `d`\n\n" * 100_000


@pytest.fixture
def process() -> Iterator[ParserProcess]:
    child = ParserProcess()
    yield child
    child.close()


def parse(process: ParserProcess, content: bytes = GUIDE, name: str = "guide.md") -> list[Document | Skipped]:
    return process.parse("markdown", {}, Found(name, f"/srv/{name}", "1"), content)


def pid(process: ParserProcess) -> int:
    assert process._child is not None
    return process._child.pid


def test_one_child_reads_many_files(process: ParserProcess) -> None:
    [first] = parse(process)
    child = pid(process)
    [second] = parse(process, b"text", "other.md")
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.title, first.links[0].target, second.id) == ("Guide", "Keys", "other.md")
    assert pid(process) == child


def test_settings_reach_the_parser_in_the_child(process: ParserProcess) -> None:
    with pytest.raises(ReaderFailed, match="exit code 1") as failure:  # it refuses them, as the settings would have
        process.parse("markdown", {"max_chars": "many"}, Found("a.md", "/a.md", "1"), GUIDE)
    assert not failure.value.lasting


def test_a_child_that_dies_costs_one_file_at_most(process: ParserProcess) -> None:
    parse(process)
    first = pid(process)
    os.kill(first, 9)
    [document] = parse(process)  # read by another child
    assert isinstance(document, Document)
    assert pid(process) != first


@pytest.mark.parametrize(("number", "name", "lasting"), [(11, "SIGSEGV", True), (9, "SIGKILL", False)])
def test_a_file_that_ends_two_children_is_refused(
    process: ParserProcess, number: int, name: str, lasting: bool
) -> None:
    ended: set[int] = set()

    def end_them() -> None:
        while len(ended) < 2:
            child = process._child
            if child is not None and child.pid not in ended:
                time.sleep(0.05)
                os.kill(child.pid, number)
                ended.add(child.pid)
            time.sleep(0.01)

    thread = threading.Thread(target=end_them)
    thread.start()
    with pytest.raises(ReaderFailed, match=rf"its reader crashed \({name}\)") as failure:
        parse(process, SLOW)
    thread.join()
    assert failure.value.lasting == lasting
    assert isinstance(parse(process)[0], Document)


def test_a_file_that_takes_too_much_cpu_is_refused(process: ParserProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "SECONDS", 0.1)
    monkeypatch.setattr(parser_process, "SECONDS_PER_MB", 0.0)
    monkeypatch.setattr(parser_process, "BUSY_FACTOR", 1000)
    with pytest.raises(ReaderFailed, match="its reader took longer than 0 s") as failure:
        process.parse("jsonl", {}, Found("a.jsonl", "/a.jsonl", "1"), SLOW_RECORDS)
    assert failure.value.lasting


def test_a_file_that_takes_too_long_is_refused(process: ParserProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "SECONDS", 100.0)
    monkeypatch.setattr(parser_process, "BUSY_FACTOR", 0.005)
    monkeypatch.setattr(parser_process, "SECONDS_PER_MB", 0.0)
    with pytest.raises(ReaderFailed, match="its reader took longer than") as failure:
        process.parse("jsonl", {}, Found("a.jsonl", "/a.jsonl", "1"), SLOW_RECORDS)
    assert not failure.value.lasting  # the machine may have been busy


def test_an_answer_that_is_too_large_is_refused(process: ParserProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "MAX_ANSWER", 1 << 20)
    with pytest.raises(ReaderFailed, match="its text is larger than 1 MB") as failure:
        parse(process, b"word " * 500_000)
    assert failure.value.lasting
    assert isinstance(parse(process)[0], Document)


LIMITS = """
import os, resource, socket, sys
from watersmeet.engine.sync import parser_child as child
child._give_up_network()
child._limit_resources()
answers = []
try:
    os.write(os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY), b"x")
    answers.append("wrote")
except OSError:
    answers.append("no file")
try:
    bytearray(2 << 30)
    answers.append("2 GB")
except MemoryError:
    answers.append("no memory")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[2])), 2)
    answers.append("connected")
except OSError:
    answers.append("no network")
print(*answers, sep=", ")
"""


def test_the_child_writes_no_file_and_has_no_network(tmp_path: Path) -> None:
    import socket

    allowed = subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-c", LIMITS, str(tmp_path / "out"), port], capture_output=True, text=True, check=True
        )
    assert done.stdout.strip() == f"no file, no memory, {'no network' if allowed else 'connected'}"


def test_modules_in_the_working_folder_are_not_loaded(
    process: ParserProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyromark.py").write_text(f"open({str(tmp_path / 'loaded')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    assert isinstance(parse(process)[0], Document)
    assert not (tmp_path / "loaded").exists()


def test_keys_in_the_environment_do_not_reach_the_child(
    process: ParserProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    parse(process)
    assert b"secret" not in Path(f"/proc/{pid(process)}/environ").read_bytes()
