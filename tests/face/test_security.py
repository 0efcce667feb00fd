"""Attacks: each is tried on a server that runs, and must come to nothing."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.face.rest.guard import Hosts, Rates
from watersmeet.face.rest.page import content_version
from watersmeet.face.tokens import Tokens

OPEN = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time", "tags": ["time"]}


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    """One to write to."""
    engine.sync([vault])
    engine.registry.register([OPEN])
    with served(engine, allow_write=True) as made:
        yield made


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that is only read."""
    place = tmp_path_factory.mktemp("still")
    (place / "vault").mkdir()
    (place / "vault" / "index.md").write_text("# Home\n\nAll about keys.\n")
    settings = load(start=str(place), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(place / "index", settings) as engine:
        engine.sync([place / "vault"])
        engine.registry.register([OPEN])
        with served(engine, allow_write=True, tokens=Tokens(str(place / "tokens.json"))) as made:
            yield made


# ---------------------------------------------------------------- other people's pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7878",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "10.0.0.7",
        "",
        "a@127.0.0.1",
        "127.0.0.1:99999",
        "localhost/..",
        "127.0.0.1,evil.example",
        "[::2]",
    ],
)
@pytest.mark.parametrize("path", ["/api/status", "/mcp", "/health", "/"])
def test_a_name_that_is_not_ours_is_refused(still: Served, host: str, path: str) -> None:
    assert still.raw("GET", path, None, {"Host": host}).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:1234", "LOCALHOST", "[::1]:7878", "localhost."])
def test_our_own_names_are_let_in(still: Served, host: str) -> None:
    assert still.raw("GET", "/api/status", None, {"Host": host}).status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://localhost.evil.example", "null", "file://", "localhost"]
)
@pytest.mark.parametrize("path", ["/api/search", "/mcp"])
def test_a_page_from_elsewhere_is_refused(still: Served, origin: str, path: str) -> None:
    answer = still.ask(path, {"query": "keys"}, Origin=origin)
    assert answer.status == 403
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_our_own_page_is_let_in(still: Served) -> None:
    assert still.ask("/api/search", {"query": "keys"}, Origin=still.url).status == 200


def test_other_sites_cannot_probe_and_cors_is_closed(still: Served) -> None:
    assert still.ask("/api/status", Sec_Fetch_Site="cross-site").status == 403
    assert still.ask("/", Sec_Fetch_Site="cross-site").status == 200  # a link to the page
    asked = still.ask("/api/search", None, "OPTIONS", Origin=still.url, Access_Control_Request_Method="POST")
    assert not any(name.lower().startswith("access-control") for name in asked.headers)


def test_every_answer_carries_the_headers_that_keep_it_safe(still: Served) -> None:
    for path in ("/", "/web/1/main.js", "/health", "/api/status", "/nowhere", "/api/documents/nothing"):
        headers = still.ask(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert len(headers.get_all("Content-Security-Policy")) == 1
        assert "Server" not in headers


def test_a_refusal_carries_them_too(still: Served) -> None:
    assert still.raw("GET", "/", None, {"Host": "evil.example"}).headers["X-Content-Type-Options"] == "nosniff"


# ---------------------------------------------------------------- ids, bodies, filters


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "....//etc/passwd",
        "guides/../../../etc/passwd",
        "file:///etc/passwd",
        "%00",
        "index.md%00.png",
        "%ff%fe",
        "..\\..\\etc\\passwd",
    ],
)
@pytest.mark.parametrize("route", ["/api/documents/", "/api/related/", "/api/entities/", "/"])
def test_an_id_is_never_a_path(still: Served, route: str, path: str) -> None:
    answer = still.raw("GET", route + path, None, {})
    assert answer.status in (400, 404, 422)
    assert b"root:" not in answer.content


@pytest.mark.parametrize("path", ["/api/search", "/api/search/semantic", "/api/entities", "/mcp"])
def test_a_body_that_is_too_long_is_refused(still: Served, path: str) -> None:
    long = still.service.limits.body_bytes + 1
    declared = still.raw("POST", path, b"x", {"Content-Length": str(10**12)})
    assert declared.status == 413
    with socket.create_connection(("127.0.0.1", still.port), timeout=20) as chunked:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json"
        )
        chunked.sendall(f"{head}\r\n\r\n".encode())
        piece = b"%x\r\n" % 65536 + b" " * 65536 + b"\r\n"
        try:
            for _ in range(long // 65536 + 1):
                chunked.sendall(piece)
        except OSError:
            pass  # it was refused before it was over
        assert b" 413 " in chunked.recv(4096).splitlines()[0]


@pytest.mark.parametrize("bomb", ["(a+)+$", "(a|a)*" * 30, "*" * 199, "?*" * 99, "**/" * 66, "[" * 199, "{" * 199])
@pytest.mark.parametrize("key", ["path", "tag", "kind", "title"])
def test_a_filter_that_is_a_bomb_does_not_go_off(still: Served, key: str, bomb: str) -> None:
    start = time.monotonic()
    answer = still.ask("/api/search", {"query": "a" * 30, "filters": {key: [bomb, bomb + "x"]}})
    assert answer.status in (200, 400)
    assert time.monotonic() - start < 2


def test_nesting_without_end_is_refused(still: Served) -> None:
    answer = still.ask("/api/entities", b"[" * 100_000, "POST", Content_Type="application/json")
    assert answer.status in (400, 413, 422)


def test_words_of_sql_and_html_are_words(still: Served) -> None:
    for words in ("'; DROP TABLE documents; --", "<script>alert(1)</script>", '" OR 1=1', "\x00", "\ud800"):
        asked = json.dumps({"query": words, "filters": {"tag": [words]}}).encode()
        assert still.ask("/api/search", asked, "POST", Content_Type="application/json").status in (200, 400, 422)
    assert still.ask("/api/status").json()["documents"] == 2


# ---------------------------------------------------------------- headers


def raw_answer(site: Served, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", site.port), timeout=10) as connection:
        connection.sendall(request)
        return connection.recv(65536)


@pytest.mark.parametrize("name", ["Host", "Origin", "Authorization", "Content-Length"])
def test_a_header_that_decides_may_come_once_only(still: Served, name: str) -> None:
    values = {"Host": ("localhost", "evil.example"), "Origin": (still.url, "http://evil.example")}
    first, second = values.get(name, ("1", "2"))
    host = b"" if name == "Host" else b"Host: localhost\r\n"
    doubled = f"{name}: {first}\r\n{name}: {second}\r\n".encode()
    assert b" 400 " in raw_answer(still, b"GET /api/status HTTP/1.1\r\n" + host + doubled + b"\r\n").splitlines()[0]


def test_a_query_cannot_write_headers(still: Served) -> None:
    for path in (
        "/api/documents/a%0d%0aX-Evil:%20yes",
        "/api/classify?query=a%0d%0aX-Evil:%20yes",
        "/%0d%0aX-Evil:%20yes",
    ):
        assert "X-Evil" not in still.ask(path).headers


@pytest.mark.server
def test_an_address_that_is_made_up_changes_nothing(engine: Engine, vault: Path) -> None:
    """X-Forwarded-For is not believed: who guesses tokens cannot change their address."""
    tokens = Tokens()
    tokens.create("read")
    engine.sync([vault])
    with served(engine, tokens=tokens) as site:
        seen = {
            site.ask("/api/status", token=f"wm_{n:08x}_guess", X_Forwarded_For=f"10.0.0.{n}").status for n in range(30)
        }
    assert seen == {401, 429}


# ---------------------------------------------------------------- tokens


@pytest.fixture
def guarded(engine: Engine, vault: Path) -> Iterator[Served]:
    """As if it listened on all addresses."""
    engine.sync([vault])
    engine.registry.register([OPEN])
    with served(engine, host="0.0.0.0", allow_write=True, tokens=Tokens()) as made:  # noqa: S104 - that is the point
        yield made


@pytest.mark.slow
def test_where_others_can_reach_it_everything_needs_a_token(guarded: Served) -> None:
    _, right = Tokens().create("read")
    for path in ("/api/status", "/api/documents", "/metrics", "/openapi.json", "/mcp", "/api/entities/clock", "/web"):
        answer = guarded.ask(path)
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert "watersmeet token create" in answer.json()["hint"]
    assert guarded.ask("/health").status == 200
    assert guarded.ask(f"/web/{content_version()}/main.js").status == 200
    assert guarded.ask("/web/../api/status").status == 404
    assert guarded.ask("/api/status", token=right).status == 200


@pytest.mark.slow
def test_a_token_that_is_nearly_right_is_wrong(guarded: Served) -> None:
    token, right = Tokens().create("read")
    for wrong in (right[:-1], right + "x", right.upper(), f"wm_{token.id}_", f"wm_{token.id}_{token.hash}", token.id):
        assert guarded.ask("/api/status", token=wrong).status in (401, 429)


@pytest.mark.slow
def test_guessing_is_slowed_down_and_the_right_one_is_not(guarded: Served) -> None:
    _, right = Tokens().create("read")
    most = guarded.service.limits.failures
    seen = [guarded.ask("/api/status", token=f"wm_{n:08x}_guess").status for n in range(most + 5)]
    assert seen[: most - 1] == [401] * (most - 1)
    assert seen[-1] == 429
    assert guarded.ask("/api/status", token=right).status == 200  # a guesser's neighbours are not to blame


@pytest.mark.slow
def test_a_revoked_token_is_worthless_at_once(guarded: Served) -> None:
    token, right = Tokens().create("read")
    assert guarded.ask("/api/status", token=right).status == 200
    Tokens().revoke(token.id)
    assert guarded.ask("/api/status", token=right).status == 401


@pytest.mark.slow
def test_only_a_token_that_may_write_writes(guarded: Served) -> None:
    _, reader = Tokens().create("read")
    _, writer = Tokens().create("write")
    new = {**OPEN, "path": "/new", "description": "New"}
    for method, path, body in (
        ("POST", "/api/entities", new),
        ("PUT", "/api/entities/new", new),
        ("PATCH", "/api/entities/clock", {"enabled": False}),
        ("DELETE", "/api/entities/clock", None),
    ):
        assert guarded.ask(path, body, method, token=reader).status == 403
    assert guarded.ask("/api/entities", new, token=writer).status == 200


@pytest.mark.slow
def test_once_there_are_tokens_nobody_writes_without_one(site: Served) -> None:
    assert site.ask("/api/entities", {**OPEN, "path": "/a"}).status == 200
    Tokens().create("write")
    assert site.ask("/api/entities", {**OPEN, "path": "/b"}).status == 403
    assert site.ask("/api/status").status == 200


def test_only_a_hash_is_kept_where_only_its_owner_reads_it(home: Path) -> None:
    token, sent = Tokens().create("write", "ann", ("pink",))
    path = home / "config" / "watersmeet" / "tokens.json"
    kept = path.read_text()
    secret = sent.partition(f"{token.id}_")[2]
    assert len(secret) > 32
    assert secret not in kept
    assert token.hash in kept
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert Tokens().holder(sent) == token
    assert json.dumps(token.to_json()).count(token.hash) == 0


def test_each_token_has_its_own_rate() -> None:
    rates = Rates(rate=1, burst=3)
    for _ in range(3):
        assert rates.wait("a") == 0
        rates.take("a")
    assert 0 < rates.wait("a") <= 1
    assert rates.wait("b") == 0


@pytest.mark.server
def test_too_many_requests_are_told_how_long_to_wait(
    engine: Engine, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.sync([vault])
    monkeypatch.setenv("WATERSMEET__SERVE__RATE", "1")
    with Engine(engine.folder, load()) as slow, served(slow) as site:
        seen = [site.ask("/health") for _ in range(5)]
    assert [one.status for one in seen[:2]] == [200, 200]
    assert seen[-1].status == 429
    assert int(seen[-1].headers["Retry-After"]) >= 1


def test_a_wildcard_address_is_known_by_number_and_by_name() -> None:
    hosts = Hosts("0.0.0.0", ("docs.example",))  # noqa: S104 - only the name is looked at
    assert hosts.of("192.168.1.5:7878")
    assert hosts.of("docs.example")
    assert hosts.of(socket.gethostname())
    assert not hosts.of("evil.example")
    assert not Hosts("127.0.0.1").of("192.168.1.5")


@pytest.mark.slow
def test_tokens_that_cannot_be_read_let_nobody_in(guarded: Served, home: Path) -> None:
    place = home / "config" / "watersmeet" / "tokens.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("{broken")
    answer = guarded.ask("/api/status", token="wm_00000000_x")  # noqa: S106 - a made-up one
    assert answer.status == 503
    assert str(place) not in answer.content.decode()
