"""Calls to the nodes of Qdrant: keys, certificates, deadlines, and nodes that fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from certificates import Certificate, signed
from cluster_indexes import cluster_address
from clusters import NOT_RUN, Qdrant, missing, running
from stalling import Stalling
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, DatabaseDown, DatabaseProblem, NotAllowed, WatersmeetError
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import run
from watersmeet.store.postgres.index import Postgres
from watersmeet.store.qdrant._wire import upsert
from watersmeet.store.qdrant.nodes import Access, Nodes

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
KEY, READ_KEY = "sesame-77", "peephole-66"


@contextmanager
def asked(url: str, port: int, access: Access, seconds: float = 10.0) -> Iterator[Nodes]:
    nodes = Nodes([url], [port], access, seconds, seconds)
    try:
        yield nodes
    finally:
        nodes.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return signed(tmp_path_factory.mktemp("signed"), "127.0.0.1")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory, certificate: Certificate) -> Iterator[Qdrant]:
    """A node with TLS, a key, and a key that may only read."""
    keys = {"QDRANT__SERVICE__API_KEY": KEY, "QDRANT__SERVICE__READ_ONLY_API_KEY": READ_KEY}
    qdrant = Qdrant(tmp_path_factory.mktemp("tls") / "qdrant", settings=keys, certificate=certificate)
    yield qdrant
    qdrant.stop()


def problem(nodes: Nodes) -> WatersmeetError:
    with pytest.raises(WatersmeetError) as raised:
        nodes.call("GET", "/collections")
    return raised.value


def test_keys_are_sent_and_never_shown(locked: Qdrant, certificate: Certificate) -> None:
    """Over HTTP and over gRPC, both with TLS."""
    for key, said, hint in (
        ("wrong-key-88", "refuses the key", "set QD_KEY to the key that it was started with"),
        ("", "wants a key", "set QD_KEY"),
    ):
        with asked(locked.url, locked.grpc_port, Access(key, "QD_KEY", str(certificate.authority))) as nodes:
            found = problem(nodes)
            with pytest.raises(NotAllowed) as raised:
                nodes.put(b"")
            for error in (found, raised.value):
                assert (said in str(error), error.hint) == (True, hint)
                assert not key or key not in f"{error}{error.hint}"
    with asked(locked.url, locked.grpc_port, Access(KEY, authority=str(certificate.authority))) as nodes:
        assert nodes.call("GET", "/collections") == {"collections": []}
        with pytest.raises(DatabaseProblem, match="Qdrant"):  # an empty message names no collection
            nodes.put(b"")


def test_a_key_that_may_only_read_does_not_write(locked: Qdrant, certificate: Certificate) -> None:
    authority = str(certificate.authority)
    with asked(locked.url, locked.grpc_port, Access(KEY, authority=authority)) as nodes:
        nodes.call("PUT", "/collections/a", {"sparse_vectors": {"v": {}}})
    with asked(locked.url, locked.grpc_port, Access(READ_KEY, authority=authority)) as nodes:
        assert nodes.call("GET", "/collections") == {"collections": [{"name": "a"}]}
        for write in (
            lambda: nodes.call("DELETE", "/collections/a"),
            lambda: nodes.put(upsert("a", [])),
        ):
            with pytest.raises(NotAllowed) as raised:
                write()
            assert "does not allow this" in str(raised.value)
            assert raised.value.hint == "writers need a key that may write"


def test_only_a_certificate_of_the_named_authority_is_trusted(
    locked: Qdrant, certificate: Certificate, tmp_path: Path
) -> None:
    other = signed(tmp_path, "127.0.0.1").authority
    trusted = str(certificate.authority)
    named = locked.url.replace("127.0.0.1", "localhost")
    plain = running().qdrant
    for url, port, authority, said, hint in (
        (locked.url, locked.grpc_port, str(other), "is not trusted", "store.postgres.qdrant_ca, or QDRANT_CA"),
        (locked.url, locked.grpc_port, "", "is not trusted", "store.postgres.qdrant_ca, or QDRANT_CA"),
        (named, locked.grpc_port, trusted, "is not trusted", "a name that the certificate has"),
        (plain.url.replace("http:", "https:"), plain.grpc_port, trusted, "does not answer", "it speaks no TLS there"),
        (locked.url.replace("https:", "http:"), locked.grpc_port, trusted, "does not answer", "https://"),
    ):
        with asked(url, port, Access(KEY, authority=authority), 3.0) as nodes:
            error = problem(nodes)
            assert isinstance(error, DatabaseDown)
            assert (said in str(error), hint in error.hint) == (True, True), f"{error} | {error.hint}"
    with asked(locked.url, locked.grpc_port, Access(KEY, authority=str(other)), 3.0) as nodes:
        with pytest.raises(DatabaseDown) as raised:
            nodes.put(b"")
        assert "QDRANT_CA" in raised.value.hint
    with asked(locked.url, 0, Access(authority=str(tmp_path / "none.pem"))) as nodes:
        assert isinstance(problem(nodes), ConfigError)


def test_an_index_is_made_and_searched_over_tls(
    locked: Qdrant, certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    (tmp_path / "a.md").write_text("# Terns\n\nA tern by the pier.\n")
    monkeypatch.setenv("QDRANT_URL", locked.url)
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    monkeypatch.setenv("QDRANT_CA", str(certificate.authority))
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    monkeypatch.setenv("WATERSMEET__STORE__POSTGRES__QDRANT_GRPC_PORTS", json.dumps([locked.grpc_port]))
    place = cluster_address("over_tls")
    assert run(["sync", str(tmp_path), "--index", place]) == 0
    monkeypatch.setenv("QDRANT_API_KEY", READ_KEY)
    assert run(["search", "tern", "--index", place, "--json"]) == 0
    out = capsys.readouterr().out
    assert '"a.md"' in out
    assert run(["sync", str(tmp_path), "--recreate", "--index", place]) == 2
    refused = capsys.readouterr().err
    assert "a key that may write" in refused
    assert READ_KEY not in refused
    monkeypatch.setenv("QDRANT_API_KEY", KEY)
    with Engine(place, load()) as engine:
        assert isinstance(engine.index, Postgres)
        engine.index.drop()


# ---------------------------------------------------------------- nodes that fail


def test_another_node_is_asked_and_the_dead_one_is_left_out() -> None:
    qdrant = running().qdrant
    nodes = Nodes(["http://127.0.0.1:1", qdrant.url], [0], Access(), 10.0, 10.0)
    try:
        for _ in range(6):
            assert nodes.call("GET", "/collections") is not None
        assert nodes.down() == ["127.0.0.1:1"]
        asked = [node.failures for node in nodes._nodes]
        assert asked == [1, 0]  # it was met once, not every second time
    finally:
        nodes.close()


def test_a_node_that_stalls_leaves_time_for_another() -> None:
    qdrant = running().qdrant
    with Stalling(qdrant.port) as stalling:
        stalling.on = b"/collections"
        nodes = Nodes([stalling.url, qdrant.url], [0], Access(), 2.0, 2.0)
        try:
            for _ in range(4):
                assert nodes.call("GET", "/collections") is not None
            assert nodes.down() == [stalling.url.removeprefix("http://")]
        finally:
            nodes.close()
