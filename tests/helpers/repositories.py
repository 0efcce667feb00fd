"""Git repositories for tests, and a server for them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

START = 1_600_000_000
"""The time of the first commit; each further one is a day later."""
DAY = 86_400


def git(folder: Path, *arguments: str, when: int = START, author: str = "Ada Auk", stdin: bytes = b"") -> str:
    """Run git with settings of the test only."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for role in ("AUTHOR", "COMMITTER"):
        mail = f"{author.split()[0].lower()}@example.org"
        environ |= {f"GIT_{role}_NAME": author, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": f"{when} +0000"}
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environ, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "replace").strip()


@dataclass
class TestRepository:
    """A repository with a work tree. Each commit is a day later than the one before."""

    __test__ = False

    folder: Path
    commits: int = 0

    @classmethod
    def new(cls, folder: Path) -> TestRepository:
        folder.mkdir(parents=True)
        git(folder, "init", "-q", "-b", "main")
        return cls(folder)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str = "change", author: str = "Ada Auk", **files: str | bytes) -> str:
        """Commit all files as they are, and these; returns the hash."""
        for name, content in files.items():
            self.write(name, content)
        git(self.folder, "add", "-A")
        when = START + self.commits * DAY
        self.commits += 1
        arguments = ["commit", "-q", "--allow-empty", "--allow-empty-message", "-F", "-"]
        git(self.folder, *arguments, when=when, author=author, stdin=message.encode())
        return self.head

    @property
    def head(self) -> str:
        return git(self.folder, "rev-parse", "HEAD")


def spring_traps(repository: TestRepository, tmp_path: Path) -> None:
    """Have every setting that names a program name one that leaves a trace; and check that it would."""
    trap, evil = tmp_path / "trap", tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    evil.chmod(0o755)
    repository.commit("attributes", **{".gitattributes": "* diff=evil filter=evil merge=evil\n"})
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
        (hooks / name).symlink_to(evil)
    programs = (
        *("core.pager", "core.fsmonitor", "core.sshCommand", "core.askPass", "core.editor", "core.gitProxy"),
        *("core.alternateRefsCommand", "pager.log", "pager.show", "diff.external", "diff.evil.command"),
        *("diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program"),
        *("credential.helper", "uploadpack.packObjectsHook", "interactive.diffFilter", "log.showSignature"),
        *("remote.origin.uploadpack", "alias.log", "alias.ls-tree", "alias.cat-file"),
    )
    for name in programs:
        git(repository.folder, "config", name, "true" if name == "log.showSignature" else str(evil))
    git(repository.folder, "config", "core.hooksPath", str(hooks))
    git(repository.folder, "config", "remote.origin.url", f"ext::{evil}")
    git(repository.folder, "config", "remote.origin.promisor", "true")
    git(repository.folder, "config", "protocol.ext.allow", "always")
    git(repository.folder, "config", "color.ui", "always")
    git(repository.folder, "config", "diff.noprefix", "true")
    subprocess.run(["git", "-C", repository.folder, "log", "-p", "--ext-diff"], capture_output=True, check=False)
    assert trap.exists(), "the trap itself does not work"
    trap.unlink()


@contextmanager
def git_server(top: Path) -> Iterator[tuple[str, list[str]]]:
    """Repositories below a folder over HTTP, by git's own program; yields the address and the requested paths."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _answer(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            requests.append(parts.path)
            environ = os.environ | {
                "GIT_PROJECT_ROOT": str(top),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
                "GIT_CONFIG_COUNT": "2",
                "GIT_CONFIG_KEY_0": "uploadpack.allowFilter",
                "GIT_CONFIG_VALUE_0": "true",
                "GIT_CONFIG_KEY_1": "uploadpack.allowAnySHA1InWant",
                "GIT_CONFIG_VALUE_1": "true",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            }
            done = subprocess.run(["git", "http-backend"], env=environ, input=body, capture_output=True, check=False)
            head, _, content = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with served(Handler) as url:
        yield url, requests


@contextmanager
def file_server(top: Path) -> Iterator[str]:
    """Repositories below a folder as plain files over HTTP, which git calls dumb; yields the address."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with served(partial(Handler, directory=str(top))) as url:
        yield url


@contextmanager
def served(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
