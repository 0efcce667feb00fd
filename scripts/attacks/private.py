"""Private entities, and denial of service by one caller of a server."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attacks.probe import COMMAND, command, probe, require

SCRIPT = Path(__file__).parents[1] / "withheld.py"
OPEN = {"path": "/clock", "name": "clock", "description": "Tells the time", "proxy_pass_url": "http://clock.internal/"}
SECRET = {
    "path": "/priv",
    "name": "severance",
    "description": "Layoffs and salary, PRJ-4711",
    "visibility": "private",
    "owner": "ann",
}
SPELT = ("/priv", "/priv/", "//priv", "/PRIV", "/a/../priv", "/%70riv")
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
TIMES = ("took_ms", "timings")
WORDS = {"WATERSMEET__INDEX__VECTORS": "false"}


class Site:
    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, path: str, body: Any = None, method: str = "", **headers: str) -> tuple[int, str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        sent |= {name.replace("_", "-"): value for name, value in headers.items() if value}
        content = json.dumps(body) if body is not None else None
        connection.request(method or ("GET" if body is None else "POST"), path, content, sent)
        answer = connection.getresponse()
        answered = answer.status, answer.read().decode(), answer.headers
        connection.close()
        return answered

    def as_token(self, token: str, path: str, body: Any = None, method: str = "") -> tuple[int, str, Any]:
        return self.ask(path, body, method, Authorization=f"Bearer {token}" if token else "")


@contextmanager
def served(folder: Path, records: list[dict[str, str]] | None = None, **environment: str) -> Iterator[Site]:
    """`watersmeet serve` over a registry with something private."""
    (folder / "r.json").write_text(json.dumps(records or [OPEN, SECRET]))
    command(folder, "register", "r.json", "--index", "x", environment=environment)
    home = folder / "home"
    surroundings = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), **environment}
    surroundings["XDG_CONFIG_HOME"] = str(home / "config")
    words = ["serve", "--index", "x", "--port", "0", "--allow-write", "--json"]
    process = subprocess.Popen([*COMMAND, *words], cwd=folder, env=surroundings, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Site(int(json.loads(process.stdout.readline())["url"].rstrip("/").rpartition(":")[2]))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def token(folder: Path, scope: str, user: str) -> str:
    done = command(folder, "token", "create", "--scope", scope, "--user", user, "--json")
    return str(json.loads(done.stdout)["token"])


@probe("300 questions on every face of indexes that differ in what the asker may not see", slow=True)
def all_faces(folder: Path) -> str:
    done = subprocess.run([sys.executable, str(SCRIPT)], cwd=folder, capture_output=True, text=True, check=False)
    summary = json.loads(done.stdout)
    require(not summary["differences"], f"{summary['differences']} answers differ: {summary['first'][:1]}")
    return f"{summary['answers']} answers, all equal"


@probe("a private word in classify, confidence, expansion, why-not and filters")
def oracles(folder: Path) -> str:
    answered = []
    for name, records in (("with", [OPEN, SECRET]), ("without", [OPEN])):
        (folder / name).mkdir()
        with served(folder / name, records, WATERSMEET__INDEX__DENSE="") as site:
            answers = []
            for word in ("Severance", "dismissal", "PRJ-4711", "time"):
                body = {"query": word, "recipe": "notes", "mode": "static", "explain": True, "why_not": "/priv"}
                answers += [
                    site.ask(f"/api/classify?query={word}")[1],
                    site.ask("/api/search", body)[1],
                    site.ask("/api/search", {"query": word, "filters": {"tag": [word]}})[1],
                    site.ask("/api/search/semantic", {"query": word})[1],
                ]
            require("severance" not in answers[5], "it is an expansion")
            answered.append([{k: v for k, v in json.loads(one).items() if k not in TIMES} for one in answers])
    for one, other in zip(*answered, strict=True):
        require(one == other, f"what is private can be told: {one} | {other}")
    return "answered as if it were not there"


@probe("another spelling of a hidden path: taken over, or told from one that is not there")
def spellings(folder: Path) -> str:
    bob = token(folder, "write", "bob")
    with served(folder, None, **WORDS) as site:
        for path in SPELT:
            mine = {**OPEN, "path": path}
            statuses_seen = [
                site.as_token(bob, f"/api/entities/{path}", mine, "PUT")[0],
                site.as_token(bob, "/api/entities", mine)[0],
                site.as_token(bob, f"/api/entities/{path}")[0],
                site.as_token(bob, f"/api/entities/{path}", {"enabled": False}, "PATCH")[0],
                site.as_token(bob, f"/api/entities/{path}", None, "DELETE")[0],
            ]
            require(statuses_seen == [404] * 5, f"{path}: {statuses_seen}")
        ann = token(folder, "read", "ann")
        require(site.as_token(ann, "/api/entities/PRIV")[0] == 200, "its owner does not find it")
    return f"{len(SPELT)} spellings, 404 each"


@probe("registering in another's name")
def owners(folder: Path) -> str:
    bob = token(folder, "write", "bob")
    with served(folder, None, **WORDS) as site:
        status, text, _ = site.as_token(bob, "/api/entities", {**OPEN, "path": "/new", "owner": "ann"})
    require(status == 403, f"{status}: {text}")
    return str(json.loads(text)["detail"])


@probe("addresses of backends for one who only reads")
def addresses(folder: Path) -> str:
    read, write = token(folder, "read", "eve"), token(folder, "write", "bob")
    with served(folder, None, **WORDS) as site:
        for path in ("/api/entities/clock", "/api/entities", "/api/servers", "/api/documents//clock"):
            for who in ("", read):
                require("clock.internal" not in site.as_token(who, path)[1], f"{path} shows it")
        require("clock.internal" in site.as_token(write, "/api/entities/clock")[1], "nor for one who writes")
    return "shown to those who write"


@probe("a server.json version of 4,300 digits")
def versions(folder: Path) -> str:
    with served(folder, None, **WORDS) as site:
        for digits in (4300, 5000):
            record = {"name": "a/b", "description": "c", "version": "9" * digits}
            status, text, _ = site.ask("/api/entities", record)
            require(status == 422, f"{status}: {text[:200]}")
        status, _, _ = site.ask("/api/entities", {**OPEN, "extra": {"form": "official", "version": "9" * 5000}})
        require(status < 500, f"{status}")
    return str(json.loads(text)["detail"])


@probe("Content-Length together with Transfer-Encoding")
def smuggling(folder: Path) -> str:
    with (
        served(folder, None, **WORDS) as site,
        socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection,
    ):
        head = "POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked"
        connection.sendall(f"{head}\r\n\r\n0\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        received = b""
        while part := connection.recv(65536):
            received += part
    require(
        received.startswith(b"HTTP/1.1 400") and received.count(b"HTTP/1.1 ") == 1, received[:200].decode("latin-1")
    )
    return "400, and the connection is closed"


@probe("60 idle MCP sessions of one client")
def sessions(folder: Path) -> str:
    kind = {"Accept": "application/json, text/event-stream"}
    with served(folder, None, **WORDS) as site:
        statuses = [site.ask("/mcp", HELLO, **kind)[0] for _ in range(60)]
        require(set(statuses) == {200}, f"another is locked out: {statuses}")
        other = token(folder, "read", "eve")
        require(site.ask("/mcp", HELLO, Authorization=f"Bearer {other}", **kind)[0] == 200, "so is one with a token")
    return "the one used least lately makes room"


@probe("/ready with the index gone, and a body without a type")
def health(folder: Path) -> str:
    with served(folder, None, **WORDS) as site:
        require(site.ask("/ready")[0] == 200, "not ready with an index")
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=20)
        connection.request("POST", "/api/search", b'{"query": "clock"}')
        answer = connection.getresponse()
        text = answer.read().decode()
        require(answer.status == 415 and "Content-Type: application/json" in text, f"{answer.status}: {text}")
        (folder / "x").rename(folder / "y")
        status, text, _ = site.ask("/ready")
        require(status == 503 and "in the index" not in text, f"{status}: {text}")
    return "503, and 415 with the type to send"


@probe("a server called R, and a skill by its registry, in words only")
def small(folder: Path) -> str:
    skills = [{"path": f"/s{n}", "kind": "skill", "name": f"s{n}", "registry_name": f"hub{n}x"} for n in range(30)]
    records = [{"path": "/r", "name": "R", "description": "Statistics"}, *skills]
    (folder / "r.json").write_text(json.dumps(records))
    command(folder, "register", "r.json", "--index", "x", environment=WORDS)
    found = json.loads(command(folder, "find-entities", "R", "--index", "x", "--json", environment=WORDS).stdout)
    require([one["path"] for one in found["servers"]] == ["/r"], "R is not found")
    found = json.loads(command(folder, "find-entities", "hub7x", "--index", "x", "--json", environment=WORDS).stdout)
    require(found["skills"][0]["path"] == "/s7" and not found["no_good_match"], "an exact match is flagged")
    return "found, and not flagged"
