"""npm packages, from a registry on this machine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from package_registry import Registry, registry, tar
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Note, Offer, Same, Skipped, Source, SourceRoot, Whole
from watersmeet.source import _packages, _registry_address
from watersmeet.source.npm import Npm
from watersmeet.testing.contracts.source import Place, SourceContract


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr(_packages, "BACKOFF_SECONDS", 0.001)
    with registry() as made:
        yield made


def publish(server: Registry, version: str, files: dict[str, bytes], package: str = "tern", **entry: object) -> None:
    server.publish_npm(package, version, tar(files, "package/"), **entry)


def scanned(
    server: Registry, uri: str = "npm:tern", known: dict[str, str] | None = None, cursor: str = ""
) -> list[Offer]:
    return list(Npm(registry=server.npm_url).scan(SourceRoot("npm", uri, cursor), known or {}))


def found(offers: list[Offer]) -> dict[str, Found]:
    return {one.name: one for one in offers if isinstance(one, Found)}


def chosen(server: Registry, uri: str) -> str:
    (note,) = [one.text for one in scanned(server, uri) if isinstance(one, Note)]
    return note.removeprefix("version ")


@dataclass
class InTarball:
    """A package whose only release has these files."""

    server: Registry
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def root(self) -> SourceRoot:
        return SourceRoot("npm", "npm:@birds/tern")

    @property
    def missing(self) -> SourceRoot:
        return SourceRoot("npm", "npm:no-such-package")

    def publish(self) -> None:
        publish(self.server, "1.0.0", self.files, "@birds/tern")

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content
        self.publish()

    def remove(self, name: str) -> None:
        del self.files[name]
        self.publish()


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, server: Registry) -> Source:
        return Npm(registry=server.npm_url)

    @pytest.fixture
    def place(self, server: Registry) -> Place:
        made = InTarball(server)
        made.publish()
        return made


class TestWhatIsRead:
    def test_documentation_types_and_description(self, server: Registry) -> None:
        manifest = {"name": "tern", "description": "Flies.", "keywords": ["bird", 5, "sea"]}
        files = {
            "package.json": json.dumps(manifest).encode(),
            "esm/package.json": b"{}",
            "README.md": b"# Tern",
            "docs/api.md": b"# API",
            "LICENSE.md": b"MIT",
            "index.js": b"no",
            "index.d.ts": b"export {}",
            "index.d.cts": b"export {}",
            "only.d.mts": b"export {}",
            "node_modules/other/README.md": b"no",
        }
        publish(server, "1.0.0", files)
        offers = found(scanned(server))
        assert offers.keys() == {"package.json", "README.md", "docs/api.md", "index.d.ts", "only.d.mts"}
        described = offers["package.json"]
        content = Npm(registry=server.npm_url).read(described)
        assert content == b"# tern\n\nFlies.\n\nKeywords: bird, sea"
        assert described.media == ".md"

    @pytest.mark.parametrize("manifest", [b"", b"[]", b"{", b"[" * 100_000, b'{"keywords": 5}'])
    def test_a_manifest_that_is_none(self, server: Registry, manifest: bytes) -> None:
        publish(server, "1.0.0", {"package.json": manifest, "README.md": b"# Tern", "a.d.ts": b""})
        assert {"README.md", "a.d.ts"} <= found(scanned(server)).keys()

    def test_types_of_others_if_it_has_none(self, server: Registry) -> None:
        publish(server, "2.1.0", {"README.md": b"# Tern"}, "@birds/tern")
        for version in ("1.0.0", "2.0.4", "3.0.0"):
            publish(
                server,
                version,
                {"index.d.ts": version.encode(), "ts5.0/index.d.ts": b"x", "README.md": b""},
                "@types/birds__tern",
            )
        offers = scanned(server, "npm:@birds/tern")
        assert found(offers).keys() == {"README.md", "@types/birds__tern/index.d.ts"}
        assert dict(found(offers)["@types/birds__tern/index.d.ts"].fields)["release"] == "npm:@birds/tern@2.1.0"
        assert "/files/@types-birds__tern-2.0.4.tgz" in server.downloads

    def test_no_types_if_they_are_not_wanted(self, server: Registry) -> None:
        publish(server, "2.1.0", {"README.md": b"# Tern"})
        list(Npm(registry=server.npm_url, types=False).scan(SourceRoot("npm", "npm:tern"), {}))
        assert not any("types" in path for path in server.site.paths)


class TestVersions:
    @pytest.fixture(autouse=True)
    def published(self, server: Registry) -> None:
        for version in ("17.0.2", "18.0.0-rc.1", "18.2.0", "18.3.1"):
            publish(server, version, {"a.d.ts": version.encode()})
        publish(server, "18.4.0", {"a.d.ts": b"18.4.0"}, deprecated="broken")
        publish(server, "19.0.0-beta.1", {"a.d.ts": b"19"})
        server.npm["tern"]["dist-tags"] = {"latest": "18.3.1", "next": "19.0.0-beta.1"}

    @pytest.mark.parametrize(
        ("uri", "version"),
        [
            ("npm:tern", "18.3.1"),
            ("npm:tern@latest", "18.3.1"),
            ("npm:tern@next", "19.0.0-beta.1"),
            ("npm:tern@18", "18.3.1"),
            ("npm:tern@18.x", "18.3.1"),
            ("npm:tern@^17", "17.0.2"),
            ("npm:tern@~18.2.0", "18.2.0"),
            ("npm:tern@>=17 <18", "17.0.2"),
            ("npm:tern@18.0.0-rc.1", "18.0.0-rc.1"),
            ("npm:tern@18.4.0", "18.4.0; it is withdrawn (yanked or deprecated)"),
        ],
    )
    def test_the_best_one_is_chosen(self, server: Registry, uri: str, version: str) -> None:
        assert chosen(server, uri) == version

    def test_the_tagged_one_is_not_the_newest(self, server: Registry) -> None:
        server.npm["tern"]["dist-tags"] = {"latest": "17.0.2"}
        assert chosen(server, "npm:tern") == "17.0.2"

    def test_a_tag_of_a_deprecated_one_does_not_count(self, server: Registry) -> None:
        server.npm["tern"]["dist-tags"] = {"latest": "18.4.0"}
        assert chosen(server, "npm:tern") == "18.3.1"

    def test_those_that_there_are_if_none_fits(self, server: Registry) -> None:
        with pytest.raises(SourceProblem) as problem:
            scanned(server, "npm:tern@20")
        assert "18.3.1, 18.2.0" in problem.value.hint


class TestAddresses:
    @pytest.mark.parametrize(
        ("uri", "canonical", "name"),
        [
            ("npm:tern@18.x", "npm:tern@18.x", "tern@18.x"),
            ("npm:@birds/tern@1.2", "npm:@birds/tern@1.2", "@birds/tern@1.2"),
            ("npm:@birds/tern", "npm:@birds/tern", "@birds/tern"),
            ("npm:tern@latest", "npm:tern", "tern"),
        ],
    )
    def test_canonical_spelling(self, uri: str, canonical: str, name: str) -> None:
        located = Npm().locate(uri)
        assert (located.uri, located.name) == (canonical, name)

    @pytest.mark.parametrize("uri", ["npm:", "npm:@x", "npm:a/b", "npm:../x", "npm:@a/../b", "npm:a@1/2", "npm:a b"])
    def test_what_is_none(self, uri: str) -> None:
        with pytest.raises(SourceProblem) as problem:
            Npm().locate(uri)
        assert "npm:zod" in problem.value.hint

    def test_without_npm_the_hint_names_the_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda _: None)
        _registry_address.npm_registry.cache_clear()
        with pytest.raises(SourceProblem) as problem:
            list(Npm().scan(SourceRoot("npm", "npm:tern"), {}))
        assert "source.npm.registry" in problem.value.hint

    @pytest.mark.slow
    def test_npm_states_its_registry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if shutil.which("npm") is None:
            pytest.skip("NOT RUN: the test that npm states its registry, which needs npm")
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", "https://registry.example/npm")
        _registry_address.npm_registry.cache_clear()
        try:
            assert Npm().base_url(Npm().parse("npm:@birds/tern")) == "https://registry.example/npm/"
        finally:
            _registry_address.npm_registry.cache_clear()


class TestAgain:
    def test_one_conditional_request_if_nothing_is_new(self, server: Registry) -> None:
        publish(server, "1.0.0", {"a.d.ts": b"A"})
        offers = scanned(server)
        known = {name: one.stamp for name, one in found(offers).items()}
        (cursor,) = [one.cursor for one in offers if isinstance(one, Whole)]
        server.site.paths.clear()
        again = scanned(server, known=known, cursor=cursor)
        assert again[:-1] == [Note("version 1.0.0, unchanged"), Same("a.d.ts")]
        assert server.site.paths == ["/npm/tern"]
        assert server.site.headers[-1]["If-None-Match"]


class TestProblems:
    def refused(self, server: Registry, match: str) -> None:
        offers: list[Offer] = []
        with pytest.raises(SourceProblem, match=match):
            offers.extend(Npm(registry=server.npm_url).scan(SourceRoot("npm", "npm:tern"), {}))
        assert offers == []

    def test_an_integrity_that_differs(self, server: Registry) -> None:
        publish(server, "1.0.0", {"README.md": b"# Tern"})
        server.archives["tern-1.0.0.tgz"] = tar({"README.md": b"# Other"}, "package/")
        self.refused(server, "sha512 differs")

    def test_the_older_hash_counts_if_there_is_no_other(self, server: Registry) -> None:
        publish(server, "1.0.0", {"README.md": b"# Tern"})
        dist = server.npm["tern"]["versions"]["1.0.0"]["dist"]
        del dist["integrity"]
        dist["shasum"] = "0" * 40
        self.refused(server, "sha1 differs")

    def test_an_outage(self, server: Registry) -> None:
        server.status = 502
        self.refused(server, "502")

    @pytest.mark.parametrize(
        "document",
        [
            {},
            {"versions": 5},
            {"versions": {"1.0.0": {}}},
            {"versions": {"1.0.0": {"dist": {"tarball": "file:///etc/passwd"}}}},
            {"versions": {}},
        ],
    )
    def test_documents_that_are_none(self, server: Registry, document: dict[str, object]) -> None:
        server.npm["tern"] = document
        self.refused(server, "as expected|not a web address|no version")

    def test_hostile_files_are_skipped_and_the_others_read(self, server: Registry) -> None:
        publish(server, "1.0.0", {"../../evil.md": b"x", "README.md": b"# Tern", "a.d.ts": b""})
        offers = scanned(server)
        assert found(offers).keys() == {"README.md", "a.d.ts"}
        assert [one.reason for one in offers if isinstance(one, Skipped)] == ["name leads out of the archive"]
