"""Who is let in: TLS to PostgreSQL, and users that may use some indexes of a cluster only.

The PostgreSQL that pip brings is built without TLS, so something in front of it speaks that: what is tried is what
libpq does with `sslmode=verify-full`, and what is said of it. TLS of PostgreSQL itself is NOT RUN.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import Certificate, signed
from cluster_indexes import cluster_environment, cluster_settings
from clusters import NOT_RUN, missing, postgres_socket, running
from stalling import Stalling
from watersmeet import Engine
from watersmeet.core.errors import DatabaseProblem, WatersmeetError
from watersmeet.engine.backup.backup import back_up, restore
from watersmeet.engine.index.generations import recreate, roll_back
from watersmeet.face.cli.main import run
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
LEXICAL = {"WATERSMEET__INDEX__VECTORS": "false"}
TLS_HINT = "check sslmode and sslrootcert"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return signed(tmp_path_factory.mktemp("signed"), "localhost")


def test_postgresql_is_verified_as_the_address_says(
    certificate: Certificate, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**cluster_environment(), **LEXICAL}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PGPASSWORD", "open-sesame-55")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Terns\n\nA tern by the pier.\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    other = signed(tmp_path / "other", "localhost").authority
    with Stalling(postgres_socket(), context) as server, Stalling(postgres_socket()) as plain:

        def place(host: str, port: int, authority: Path) -> str:
            tls = f"sslmode=verify-full&sslrootcert={authority}"
            return f"postgresql://postgres@{host}:{port}/postgres?{tls}&index=over_tls_too"

        right = place("localhost", server.port, certificate.authority)
        assert run(["sync", str(tmp_path / "vault"), "--index", right]) == 0
        assert run(["search", "tern", "--index", right]) == 0
        capsys.readouterr()
        for wrong, said in (
            (place("localhost", server.port, other), "certificate verify failed"),
            (place("127.0.0.1", server.port, certificate.authority), "does not match host name"),
            (place("localhost", server.port, tmp_path / "none.pem"), "root certificate file"),
            (place("localhost", plain.port, certificate.authority), "does not support SSL"),
        ):
            assert run(["search", "tern", "--index", wrong]) == 2
            err = capsys.readouterr().err
            assert (said in err, TLS_HINT in err, "open-sesame" in err) == (True, True, False), err
        with Engine(right) as engine:
            assert isinstance(engine.index, Postgres)
            engine.index.drop()


# ---------------------------------------------------------------- two tenants


@pytest.fixture(scope="module")
def tenants() -> Iterator[tuple[str, str]]:
    """Addresses of the indexes of two users, who may make schemas and see nothing of the other's."""
    import psycopg

    address = running().postgres
    with psycopg.connect(address, autocommit=True) as db:
        for user in ("ann", "bob", "eve"):
            db.execute(f"CREATE ROLE {user} LOGIN")
            if user != "eve":
                db.execute(f"GRANT CREATE ON DATABASE postgres TO {user}")
        folder = address.partition("host=")[2]
        yield (
            f"postgresql://ann@/postgres?host={folder}&index=of_ann",
            f"postgresql://bob@/postgres?host={folder}&index=of_bob",
        )
        for user in ("ann", "bob", "eve"):
            db.execute(f"DROP OWNED BY {user} CASCADE")
            db.execute(f"DROP ROLE {user}")


def test_tenants_of_one_cluster_never_touch_each_other(tenants: tuple[str, str], tmp_path: Path) -> None:
    settings = cluster_settings({"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""})
    for name, word in (("ann", "zeppelin"), ("bob", "walrus")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "page.md").write_text(f"# {word}\n\nThe {word} leaves the pier at noon.\n")
    with Engine(tenants[0], settings) as ann, Engine(tenants[1], settings) as bob:
        for engine, name in ((ann, "ann"), (bob, "bob")):
            engine.sync([tmp_path / name])
            engine.registry.register([{"kind": "skill", "path": f"/{name}", "name": name, "description": "pier"}])
            engine.calibration.judge([("pier", {"page.md": 1.0})])
        before = _seen(bob)
        assert "walrus" in str(before)
        assert "zeppelin" not in str(before)
        (tmp_path / "ann" / "page.md").write_text("# zeppelin\n\nThe zeppelin never leaves the pier.\n")
        ann.sync()
        recreate(ann)
        roll_back(ann)
        back_up(ann.index, settings, str(tmp_path / "ann.tar"))
        assert b"walrus" not in (tmp_path / "ann.tar").read_bytes()
        restore(ann.index, settings, str(tmp_path / "ann.tar"), replace=True)
        assert _seen(bob) == before
        _refused(tenants, settings, tmp_path)
        assert isinstance(ann.index, Postgres)
        ann.index.drop()
        assert not ann.index.exists()
        assert _seen(bob) == before
        assert isinstance(bob.index, Postgres)
        assert not [name for name in bob.index._o.qdrant.names() if "of_ann" in name]
        bob.index.drop()


def _seen(engine: Engine) -> list[object]:
    """What somebody sees of an index."""
    assert isinstance(engine.index, Postgres)
    found: list[object] = [[(r.id, r.text) for r in engine.search(q).results] for q in ("pier", "zeppelin", "walrus")]
    status = engine.status()
    found += [status[key] for key in ("documents", "chunks", "kinds", "roots")]
    found += [engine.documents(), engine.calibration.show(), [one.ok for one in engine.doctor()]]
    return found


def _refused(tenants: tuple[str, str], settings: object, folder: Path) -> None:
    """Bob with the name of Ann's index: he gets an error, whatever he tries."""
    from watersmeet.engine.settings.settings import Settings

    assert isinstance(settings, Settings)
    with Engine(tenants[1].replace("of_bob", "of_ann"), settings) as thief:
        assert isinstance(thief.index, Postgres)
        for attempt in (
            lambda: thief.search("zeppelin"),
            thief.status,
            thief.documents,
            lambda: back_up(thief.index, settings, str(folder / "stolen.tar")),
            lambda: restore(thief.index, settings, str(folder / "ann.tar"), replace=True),
            lambda: thief.sync([folder / "bob"]),
            lambda: roll_back(thief),
            thief.index.drop,
        ):
            with pytest.raises(WatersmeetError, match=r"refuses: .*permission denied") as raised:
                attempt()
            assert isinstance(raised.value, DatabaseProblem)
            assert raised.value.hint == "check user and rights"
    assert not (folder / "stolen.tar").exists()


def test_a_user_who_may_only_read_searches_and_writes_nothing(tenants: tuple[str, str], tmp_path: Path) -> None:
    """As the how-to page grants it."""
    import psycopg

    settings = cluster_settings(LEXICAL)
    (tmp_path / "page.md").write_text("# Terns\n\nA tern by the pier.\n")
    place = tenants[0].replace("of_ann", "read_by_eve")
    with psycopg.connect(running().postgres, autocommit=True) as db:
        db.execute("ALTER DEFAULT PRIVILEGES FOR ROLE ann GRANT USAGE ON SCHEMAS TO eve")
        db.execute("ALTER DEFAULT PRIVILEGES FOR ROLE ann GRANT SELECT ON TABLES TO eve")
    with Engine(place, settings) as ann, Engine(place.replace("ann@", "eve@"), settings) as eve:
        ann.sync([tmp_path])
        for _ in range(2):
            answer = eve.search("tern")
            assert ([result.document for result in answer.results], answer.failures) == (["page.md"], ())
            assert eve.status()["documents"] == 1
            recreate(ann)  # another generation is read too
        for attempt in (
            lambda: eve.sync(now=True),
            lambda: eve.registry.register([{"kind": "skill", "path": "/x", "name": "x", "description": "x"}]),
            lambda: recreate(eve),
        ):
            with pytest.raises(DatabaseProblem, match="permission denied"):
                attempt()
        assert isinstance(ann.index, Postgres)
        ann.index.drop()
