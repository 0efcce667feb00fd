"""What is not for everyone: names, owners and addresses, and what a server refuses."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import Served, served
from watersmeet import Engine
from watersmeet.core.names import entity_path, same_path
from watersmeet.face.tokens import Tokens
from watersmeet.present.backend_addresses import without_backends

SECRET = {
    "kind": "mcp_server",
    "path": "/priv",
    "name": "flamingo",
    "description": "Keeps the codes",
    "visibility": "private",
    "owner": "ann",
}
CLOCK = {
    "kind": "mcp_server",
    "path": "/clock",
    "name": "clock",
    "description": "Tells the time",
    "proxy_pass_url": "http://clock.internal:8000/",
    "sse_endpoint": "https://public.example/sse",
    "repository": "https://github.com/x/clock",
    "status_page": "http://10.0.0.7/status",
}
SPELT = ("/priv", "/priv/", "//priv", "/PRIV", "/a/../priv", "/./priv", "/%70riv", "/%2570riv")


@pytest.fixture
def site(engine: Engine, vault: Path) -> Iterator[Served]:
    engine.sync([vault])
    engine.registry.register([SECRET, CLOCK])
    Tokens().create("read")
    with served(engine, allow_write=True) as made:
        yield made


def writer(user: str = "bob") -> str:
    return Tokens().create("write", user=user)[1]


@pytest.mark.parametrize("path", SPELT)
def test_one_path_however_it_is_written(path: str) -> None:
    assert same_path(path) == "/priv"
    assert entity_path(path).rstrip("/").casefold() == "/priv"


def test_an_id_stays_as_it_is() -> None:
    assert (entity_path("MED-10"), same_path("MED-10"), same_path("/"), entity_path("/")) == (
        "MED-10",
        "MED-10",
        "/",
        "/",
    )


@pytest.mark.slow
def test_nobody_takes_a_hidden_path_by_writing_it_otherwise(site: Served) -> None:
    bob, engine = writer(), site.service.engine
    before = engine.registry.listing()
    for path in SPELT:
        mine = {**CLOCK, "path": path, "name": "mine"}
        put = site.ask(f"/api/entities/{path}", mine, "PUT", token=bob)
        posted = site.ask("/api/entities", mine, token=bob)
        assert (put.status, posted.status) == (404, 404), path
    assert engine.registry.listing() == before


@pytest.mark.slow
def test_its_owner_finds_it_however_it_is_written(site: Served) -> None:
    ann, engine = writer("ann"), site.service.engine
    for path in SPELT:
        assert site.ask(f"/api/entities/{path}", token=ann).json()["path"] == "/priv"
        again = {**SECRET, "path": path, "description": f"As {path}"}
        assert site.ask("/api/entities", again, token=ann).json()["registered"] == 1
        assert engine.registry.get("/priv")["description"] == f"As {path}"
    assert len(engine.registry.listing()) == 2
    assert site.ask("/api/entities/PRIV/", {"enabled": False}, "PATCH", token=ann).json()["enabled"] is False
    assert site.ask("/api/entities//priv", None, "DELETE", token=ann).json() == {"removed": 1}
    assert [one["path"] for one in engine.registry.listing()] == ["/clock"]


@pytest.mark.slow
def test_what_is_hidden_is_answered_as_what_is_not_there(site: Served) -> None:
    bob = writer()
    for method, body in (("GET", None), ("PATCH", {"enabled": True}), ("DELETE", None)):
        hidden, missing = (site.ask(f"/api/entities/{name}", body, method, token=bob) for name in ("priv", "prov"))
        assert (hidden.status, missing.status) == (404, 404)
        assert hidden.content.replace(b"priv", b"") == missing.content.replace(b"prov", b"")


@pytest.mark.slow
def test_nobody_registers_in_anothers_name(site: Served) -> None:
    bob = writer()
    for owner in ("ann", "Bob"):
        record = {**CLOCK, "path": "/new", "owner": owner}
        for answer in (
            site.ask("/api/entities", record, token=bob),
            site.ask("/api/entities/new", record, "PUT", token=bob),
            site.ask("/api/entities", record, token=writer("")),
        ):
            assert answer.status == 403
            assert "owner" in answer.json()["detail"]
    assert site.ask("/api/entities", {**CLOCK, "path": "/new", "owner": "bob"}, token=bob).json()["registered"] == 1


@pytest.mark.slow
def test_addresses_of_backends_are_for_those_who_write(site: Served) -> None:
    read, write = Tokens().create("read", "eve")[1], writer()
    asked = {
        "/api/entities/clock": None,
        "/api/entities": None,
        "/api/servers": None,
        "/api/documents//clock": None,
        "/api/search": {"query": "clock", "explain": True},
        "/api/search/semantic": {"query": "clock"},
    }
    for address, body in asked.items():
        for token in ("", read):
            text = site.ask(address, body, token=token).content.decode()
            assert "clock.internal" not in text, address
            assert "public.example" not in text, address
            assert "10.0.0.7" not in text, address
    assert "github.com/x/clock" in site.ask("/api/entities/clock", token=read).content.decode()
    assert "http://clock.internal:8000/" in site.ask("/api/entities/clock", token=write).content.decode()


def test_what_is_no_address_stays() -> None:
    told = {
        "extra": {"proxy": True, "internal": False, "remotes": [{"type": "sse", "url": "https://a.example"}], "v": "1"},
        "metadata": {"homepage": "https://a.example/x", "team": "blue"},
        "proxy_pass_url": "stays: no part of a record that is kept as it was",
    }
    assert without_backends(told) == told
    inside = {"extra": {"remotes": [{"type": "sse", "url": "http://svc:80"}], "hosts": ["http://[::1]/", "x"]}}
    assert without_backends(inside) == {"extra": {"remotes": [{"type": "sse"}], "hosts": ["x"]}}


# ------------------------------------------------------------ what a server refuses


@pytest.mark.slow
@pytest.mark.parametrize("digits", [300, 4300, 5000])
def test_a_version_of_many_digits(site: Served, digits: int) -> None:
    server = {"name": "x/y", "description": "z", "version": "1." + "9" * digits}
    answer = site.ask("/api/entities", server, token=writer())
    assert answer.status == 422
    assert "version" in answer.json()["detail"]
    kept = {**CLOCK, "path": "/v", "extra": {"form": "official", "version": "9" * digits}}
    for _ in range(2):
        assert site.ask("/api/entities", kept, token=writer()).status == 200


@pytest.mark.slow
def test_two_lengths_of_one_body(site: Served) -> None:
    head = b"POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    body += b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as connection:
        connection.sendall(head + body)
        said = b""
        while part := connection.recv(65536):
            said += part
    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1 ") == 1
    assert "Transfer-Encoding" in json.loads(said.partition(b"\r\n\r\n")[2])["detail"]
