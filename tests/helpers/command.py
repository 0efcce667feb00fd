"""The command in a process of its own, forked from one that has imported it.

Most of what a short command costs is Python's start and imports. A fork has them done; arguments, folder, environment,
standard streams and the way it ends are those of a command that a shell starts. What Python reads when it starts
(`PYTHON…`, the locale) is different only in a process that is started anew, and so such a command is.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Timer
from typing import IO

START = "import sys; sys.argv[0] = 'watersmeet'; from watersmeet.face.cli.main import main; main()"
READ_AT_START = ("PYTHON", "LC_", "LANG")
IMPORTED = """
numpy tantivy simsimd yaml sqlite3 rich.console pyromark re2
watersmeet.engine.engine watersmeet.engine.query.runner watersmeet.engine.registry.registry
watersmeet.engine.registry.search watersmeet.engine.sync.root_sync watersmeet.engine.sync.roots
watersmeet.face.cli.config watersmeet.face.cli.documents watersmeet.face.cli.find watersmeet.face.cli.registry
watersmeet.face.cli.search watersmeet.face.cli.status watersmeet.face.cli.sync
watersmeet.store.local.index watersmeet.store.local.tantivy watersmeet.store.local.vectors watersmeet.store.local.writer
""".split()
LARGEST = 100_000
"""Bytes of a request that surely fit into one message."""


def command(*arguments: str, cwd: Path, env: dict[str, str], timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run it to its end, without input."""
    request = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": env}).encode()
    if len(request) > LARGEST or _read_at_start(env) != _read_at_start(os.environ):
        return subprocess.run(
            [sys.executable, "-c", START, *arguments],
            cwd=cwd, env=env, timeout=timeout,
            stdin=subprocess.DEVNULL, capture_output=True, encoding="utf8", check=False,
        )  # fmt: skip
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull, "rb") as nothing:
        reading, writing = os.pipe()
        with open(reading, "rb") as process:
            try:
                streams = [nothing.fileno(), out.fileno(), err.fileno()]
                socket.send_fds(_server(_read_at_start(env))[0], [request], [*streams, writing])
            finally:
                os.close(writing)
            code = _exit_code(process, timeout)
        return subprocess.CompletedProcess(["watersmeet", *arguments], code, _text(out), _text(err))


def _read_at_start(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(item for item in env.items() if item[0].startswith(READ_AT_START)))


def _exit_code(messages: IO[bytes], timeout: float) -> int:
    """The exit code, as `subprocess` has it: a signal is a negative one."""
    process = int(messages.readline())
    timer = Timer(timeout, os.kill, (process, signal.SIGKILL))
    timer.start()
    try:
        return os.waitstatus_to_exitcode(int(messages.readline()))
    finally:
        timer.cancel()


def _text(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf8").replace("\r\n", "\n")


@cache
def _server(_: object) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The process that forks; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
    atexit.register(_stop, ours, process)
    return ours, process


def _stop(requests: socket.socket, process: subprocess.Popen[bytes]) -> None:
    requests.close()
    process.wait(20)


def _serve(requests: socket.socket) -> None:
    """Fork for each request; returns in the forked process, once that is set up."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, 2 * LARGEST, 4)
        if not request:
            os._exit(0)
        while True:  # those that have ended
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        if os.fork() == 0:
            requests.close()
            _watch(descriptors.pop())
            wanted = json.loads(request)
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
                os.close(descriptor)
            os.chdir(wanted["cwd"])
            os.environ.clear()
            os.environ.update(wanted["env"])
            sys.argv = ["watersmeet", *wanted["arguments"]]
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _watch(writing: int) -> None:
    """Fork once more; returns in the new process. This one says how that ended."""
    process = os.fork()
    if process == 0:
        os.close(writing)
        return
    os.write(writing, b"%d\n" % process)
    os.write(writing, b"%d\n" % os.waitpid(process, 0)[1])
    os._exit(0)


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    import gc
    import importlib

    from watersmeet.face.cli.main import main

    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
