"""Packages in an index: versions side by side, newer releases, outages; and searches for one version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from package_registry import Registry, registry, tar, zipped
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.engine.query.multi_index import MultiIndex
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import SyncReport
from watersmeet.face.index_writes import SyncParams, sync
from watersmeet.face.search import SearchParams, run_search
from watersmeet.face.service import Service
from watersmeet.source import _packages

GUIDE = "# Guide\n\nTerns fly to {}.\n"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr(_packages, "BACKOFF_SECONDS", 0.001)
    with registry() as made:
        yield made


def opened(server: Registry, place: Path) -> Engine:
    environ = {
        "WATERSMEET__INDEX__VECTORS": "false",
        "WATERSMEET__SOURCE__PYPI__INDEX": server.index,
        "WATERSMEET__SOURCE__NPM__REGISTRY": server.npm_url,
    }
    return Engine(place, load(start=str(place.parent), environ=environ))


@pytest.fixture
def engine(server: Registry, tmp_path: Path) -> Iterator[Engine]:
    with opened(server, tmp_path / "index") as made:
        yield made


def publish(server: Registry, version: str, files: dict[str, str] | None = None) -> None:
    sdist = {name: text.encode() for name, text in (files or {"docs/guide.md": GUIDE.format(version)}).items()}
    server.publish("tern", f"tern-{version}.tar.gz", tar(sdist, f"tern-{version}/"))
    code = f'def fly(to):\n    """Fly to a place, as of {version}."""\n    return to\n'.encode()
    server.publish("tern", f"tern-{version}-py3-none-any.whl", zipped({"tern/core.py": code}))


def counts(report: SyncReport) -> dict[str, int]:
    names = ("added", "changed", "moved", "removed", "unchanged")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def texts(engine: Engine) -> dict[str, str]:
    return {one["document"]: engine.get(one["document"])["text"] for one in engine.documents()}


class TestSync:
    def test_versions_side_by_side(self, server: Registry, engine: Engine) -> None:
        for version in ("1.0.0", "2.0.0"):
            publish(server, version)
        report = engine.sync(["pypi:tern@1.x", "pypi:Tern@2.0.0"])
        assert counts(report) == {"added": 4}
        assert [note.reason for note in report.notes] == ["version 1.0.0", "version 2.0.0"]
        assert report.to_json()["notes"][0] == {"path": "pypi:tern@1.x", "reason": "version 1.0.0"}
        assert texts(engine).keys() == {
            "docs/guide.md",
            "tern/core.py",
            "tern@2.0.0/docs/guide.md",
            "tern@2.0.0/tern/core.py",
        }
        (result,) = engine.search("fly place", filters={"version": "2.0.0", "kind": "api"}).results
        assert result.path == "pypi:tern@2.0.0/tern/core.py"
        assert "return to" not in result.text
        assert engine.get("tern@2.0.0/docs/guide.md")["fields"] == {
            "ecosystem": "pypi",
            "package": "tern",
            "version": "2.0.0",
            "release": "pypi:tern@2.0.0",
        }

    def test_an_unchanged_package_is_not_downloaded_again(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0")
        engine.sync(["pypi:tern"])
        server.site.paths.clear()
        report = engine.sync(now=True)
        assert (counts(report), server.site.paths) == ({"unchanged": 2}, ["/simple/tern/"])
        assert (report.warnings, report.skipped) == ([], [])

    def test_a_newer_release_replaces_the_documents(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0", {"docs/guide.md": GUIDE.format("sea"), "docs/old.md": "# Old\n\nAuks.\n"})
        engine.sync(["pypi:tern"])
        publish(server, "1.1.0", {"docs/guide.md": GUIDE.format("sea"), "docs/new.md": "# New\n\nGulls.\n"})
        report = engine.sync(now=True)
        assert [note.reason for note in report.notes] == ["version 1.1.0, which replaces 1.0.0"]
        assert counts(report) == {"added": 1, "changed": 2, "removed": 1}
        assert engine.releases() == ["pypi:tern@1.1.0"]  # also of the guide, whose text is the same
        assert texts(engine).keys() == {"docs/guide.md", "docs/new.md", "tern/core.py"}

    @pytest.mark.parametrize("trouble", ["status", "hash", "bomb", "missing"])
    def test_nothing_is_lost_by_an_outage(self, server: Registry, engine: Engine, trouble: str) -> None:
        publish(server, "1.0.0")
        engine.sync(["pypi:tern"])
        before = texts(engine)
        publish(server, "1.1.0")
        if trouble == "status":
            server.status = 503
        elif trouble == "hash":
            server.python["tern"]["tern-1.1.0.tar.gz"]["hashes"]["sha256"] = "0" * 64
        elif trouble == "bomb":
            publish(server, "1.1.0", {"a.md": "\0" * 30_000_000})
        else:
            del server.archives["tern-1.1.0-py3-none-any.whl"]
        report = engine.sync(now=True)
        assert [item.path for item in report.warnings] == ["pypi:tern"]
        with pytest.raises(SourceProblem):
            engine.sync(["pypi:tern"])
        assert texts(engine) == before
        server.status = 200
        publish(server, "1.1.0")
        assert counts(engine.sync(now=True)) == {"changed": 2}

    def test_a_package_that_is_not_there_adds_no_root(self, engine: Engine) -> None:
        with pytest.raises(SourceProblem, match="no package 'tern'"):
            engine.sync(["pypi:tern"])
        assert not engine.index.exists()

    def test_removal(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0")
        engine.sync(["pypi:tern@1"])
        assert engine.remove(["pypi:TERN@1"]) == 2

    def test_documents_cannot_say_that_they_are_of_another_package(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0", {"a.md": "---\npackage: auk\nversion: 9\nrelease: pypi:auk@9\n---\n# A\n\nText.\n"})
        engine.sync(["pypi:tern"])
        assert engine.releases() == ["pypi:tern@1.0.0"]
        assert engine.get("a.md")["fields"]["package"] == "tern"

    def test_npm_beside_pypi(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0")
        types = b"/** Flies to a distant island. */\nexport declare function fly(to: string): void;\n"
        server.publish_npm("@birds/tern", "3.1.0", tar({"README.md": b"# Tern\n\nHi.\n", "index.d.ts": types}, "p/"))
        engine.sync(["pypi:tern", "npm:@birds/tern@^3"])
        first = engine.search("distant island").results[0]
        assert (first.document, first.path) == ("@birds/tern@^3/index.d.ts", "npm:@birds/tern@3.1.0/index.d.ts")
        assert sorted(engine.releases()) == ["npm:@birds/tern@3.1.0", "pypi:tern@1.0.0"]


class TestCallersElsewhere:
    def test_they_cannot_add_a_package(self, server: Registry, engine: Engine) -> None:
        publish(server, "1.0.0")
        publish(server, "2.0.0")
        engine.sync(["pypi:tern@1"])
        service = Service(engine, allow_write=True)
        try:
            server.site.paths.clear()
            with pytest.raises(ConfigError):
                sync(service.engine, SyncParams(("pypi:tern@2",)), anywhere=False, progress=lambda _: None)
            assert server.site.paths == []
            assert (
                sync(service.engine, SyncParams(("pypi:tern@1",)), anywhere=False, progress=lambda _: None)["unchanged"]
                == 2
            )
        finally:
            service.work.close()
            service.changes.close()
            service.watch.close()


class TestVersion:
    @pytest.fixture
    def filled(self, server: Registry, engine: Engine) -> Engine:
        for version in ("1.0.0", "1.2.0", "2.0.0"):
            publish(server, version)
        for version in ("1.2.0", "1.3.0"):
            server.publish_npm("gull", version, tar({"README.md": f"# Gull\n\nFly {version}.\n".encode()}, "p/"))
        engine.sync(["pypi:tern@1.0.0", "pypi:tern@1.2.0", "pypi:tern@2.0.0", "npm:gull@1.2.0", "npm:gull@1.3.0"])
        return engine

    @pytest.mark.parametrize(
        ("version", "filters", "resolved"),
        [
            ("1.x", {}, {"gull": "1.3.0", "tern": "1.2.0"}),
            ("1.2.0", {}, {"gull": "1.2.0", "tern": "1.2.0"}),
            ("2", {}, {"tern": "2.0.0"}),
            ("latest", {}, {"gull": "1.3.0", "tern": "2.0.0"}),
            ("^1", {"package": ["Tern"]}, {"tern": "1.2.0"}),
            ("^1", {"package!": ["tern"]}, {"gull": "1.3.0"}),
            ("1", {"ecosystem": ["npm"]}, {"gull": "1.3.0"}),
        ],
    )
    def test_the_best_one_of_each_package_is_searched(
        self, filled: Engine, version: str, filters: dict[str, list[str]], resolved: dict[str, str]
    ) -> None:
        reply = run_search(filled, SearchParams("fly", version=version, filters=filters))
        assert reply.to_json()["version"] == {"asked": version, "resolved": resolved}
        assert reply.notes[0] == f"version {version}: " + ", ".join(f"{name} {one}" for name, one in resolved.items())
        found = {(fields["package"], fields["version"]) for fields in map(self._fields(filled), reply.answer.results)}
        assert found == set(resolved.items())

    @staticmethod
    def _fields(engine: Engine):  # type: ignore[no-untyped-def]
        return lambda result: engine.get(result.document)["fields"]

    def test_none_fits(self, filled: Engine) -> None:
        with pytest.raises(NotFound, match="fits 3") as problem:
            run_search(filled, SearchParams("fly", version="3"))
        assert problem.value.hint == "it has gull 1.3.0, 1.2.0; tern 2.0.0, 1.2.0, 1.0.0"
        assert problem.value.exit_code == 1

    def test_what_is_no_version(self, filled: Engine) -> None:
        with pytest.raises(ConfigError, match="not a version"):
            run_search(filled, SearchParams("fly", version="so so"))

    def test_no_package_is_indexed(self, engine: Engine, vault: Path) -> None:
        engine.sync([vault])
        with pytest.raises(NotFound, match="no package"):
            run_search(engine, SearchParams("fly", version="1"))

    def test_the_budget_covers_it(self, filled: Engine) -> None:
        reply = run_search(filled, SearchParams("fly", version="1.x", budget=400))
        assert reply.pack is not None
        assert reply.to_json()["version"]["resolved"] == {"gull": "1.3.0", "tern": "1.2.0"}

    def test_several_indexes(self, filled: Engine, server: Registry, tmp_path: Path) -> None:
        with opened(server, tmp_path / "other") as other:
            other.sync(["pypi:tern@2.0.0"])
            reply = run_search(MultiIndex([filled, other]), SearchParams("fly", version="2.x"))
        assert reply.to_json()["version"]["resolved"] == {"tern": "2.0.0"}
