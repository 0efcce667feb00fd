"""Python packages, from a package index on this machine."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from package_registry import METADATA, Registry, registry, tar, zipped
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Note, Offer, Same, Skipped, Source, SourceRoot, Whole
from watersmeet.source import _packages, _registry_address
from watersmeet.source.pypi import API, Pypi, version_of
from watersmeet.testing.contracts.source import Place, SourceContract
from web import Site, leads_to, running

ROOT = SourceRoot("pypi", "pypi:tern")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    monkeypatch.setattr(_packages, "BACKOFF_SECONDS", 0.001)
    with registry() as made:
        yield made


def publish(server: Registry, version: str, files: dict[str, bytes], **entry: object) -> None:
    server.publish("tern", f"tern-{version}.tar.gz", tar(files, f"tern-{version}/"), **entry)


def scanned(source: Pypi, uri: str = "pypi:tern", known: dict[str, str] | None = None, cursor: str = "") -> list[Offer]:
    return list(source.scan(SourceRoot("pypi", uri, cursor), known or {}))


def found(offers: list[Offer]) -> dict[str, Found]:
    return {one.name: one for one in offers if isinstance(one, Found)}


def chosen(source: Pypi, uri: str) -> str:
    (note,) = [one.text for one in scanned(source, uri) if isinstance(one, Note)]
    return note.removeprefix("version ")


@dataclass
class InSdist:
    """A package whose only release has these files."""

    server: Registry
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def root(self) -> SourceRoot:
        return ROOT

    @property
    def missing(self) -> SourceRoot:
        return SourceRoot("pypi", "pypi:no-such-package")

    def write(self, name: str, content: bytes) -> None:
        self.files[name] = content
        publish(self.server, "1.0", self.files)

    def remove(self, name: str) -> None:
        del self.files[name]
        publish(self.server, "1.0", self.files)


class TestContract(SourceContract):
    @pytest.fixture
    def source(self, server: Registry) -> Source:
        return Pypi(index=server.index)

    @pytest.fixture
    def place(self, server: Registry) -> Place:
        publish(server, "1.0", {})
        return InSdist(server)


class TestWhatIsRead:
    def test_documentation_of_the_sdist_and_api_of_the_wheel(self, server: Registry) -> None:
        publish(
            server,
            "1.0",
            {
                "README.md": b"# Tern",
                "CHANGES.rst": b"Changes",
                "LICENSE.md": b"MIT",
                "setup.py": b"",
                "docs/guide.rst": b"Guide",
                "docs/notes.txt": b"Notes",
                "docs/requirements.txt": b"sphinx",
                "docs/conf.py": b"",
                "examples/fly.py": b"fly()",
                "tests/data.md": b"no",
                ".github/x.md": b"no",
                "src/tern/core.py": b"def fly(): ...",
            },
        )
        wheel = {
            "tern/core.py": b"def fly(): ...",
            "tern/core.pyi": b"def fly() -> None: ...",
            "tern/tests/x.py": b"no",
            "tern-1.0.dist-info/METADATA": METADATA + b"# From the wheel",
            "tern-1.0.dist-info/LICENSE.md": b"MIT",
        }
        server.publish("tern", "tern-1.0-py3-none-any.whl", zipped(wheel))
        offers = found(scanned(Pypi(index=server.index)))
        assert {name: one.media for name, one in offers.items()} == {
            "README.md": "",
            "CHANGES.rst": "",
            "docs/guide.rst": "",
            "docs/notes.txt": "",
            "examples/fly.py": "",
            "tern/core.py": API,
            "tern/core.pyi": API,
        }
        guide = offers["docs/guide.rst"]
        assert guide.uri == "pypi:tern@1.0/docs/guide.rst"
        assert dict(guide.fields) == {
            "ecosystem": "pypi",
            "package": "tern",
            "version": "1.0",
            "release": "pypi:tern@1.0",
        }

    def test_the_readme_of_the_wheel_if_there_is_no_other(self, server: Registry) -> None:
        files = {"tern/a.py": b"", "tern-1.0.dist-info/METADATA": METADATA + "# Möwe\n".encode()}
        server.publish("tern", "tern-1.0-py3-none-any.whl", zipped(files))
        source = Pypi(index=server.index)
        offers = found(scanned(source))
        assert offers.keys() == {"README.md", "tern/a.py"}
        assert source.read(offers["README.md"]) == "# Möwe\n".encode()

    def test_code_of_the_sdist_if_there_is_no_wheel(self, server: Registry) -> None:
        publish(server, "1.0", {"src/tern/core.py": b"", "setup.py": b"", "docs/conf.py": b"", "tests/test_x.py": b""})
        assert {name: one.media for name, one in found(scanned(Pypi(index=server.index))).items()} == {
            "tern/core.py": API
        }

    def test_one_wheel_of_many(self, server: Registry) -> None:
        for tags in ("cp312-cp312-win_amd64", "py3-none-any", "cp312-cp312-manylinux_2_17_x86_64"):
            server.publish("tern", f"tern-1.0-{tags}.whl", zipped({"tern/a.py": tags.encode()}))
        scanned(Pypi(index=server.index))
        assert server.downloads == ["/files/tern-1.0-py3-none-any.whl"]

    def test_the_sdist_alone_if_the_wheel_is_too_large(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A", "tern/core.py": b"def fly(): ..."})
        noise = hashlib.shake_256(b"").digest(5000)
        server.publish("tern", "tern-1.0-cp312-cp312-win_amd64.whl", zipped({"tern/core.py": b"", "x.dll": noise}))
        offers = scanned(Pypi(index=server.index, max_bytes=2000))
        assert {name: one.media for name, one in found(offers).items()} == {"a.md": "", "tern/core.py": API}
        (skipped,) = [one for one in offers if isinstance(one, Skipped)]
        assert "win_amd64.whl is larger than 2,000 bytes" in skipped.reason

    def test_a_large_changelog_is_left_out(self, server: Registry) -> None:
        publish(server, "1.0", {"CHANGELOG.md": b"x" * 3000, "README.md": b"x" * 3000})
        offers = scanned(Pypi(index=server.index, max_changelog=2000))
        assert found(offers).keys() == {"README.md"}
        assert [one.path for one in offers if isinstance(one, Skipped)] == ["pypi:tern@1.0/CHANGELOG.md"]

    def test_hostile_files_are_skipped_and_the_others_read(self, server: Registry) -> None:
        publish(server, "1.0", {"../../evil.md": b"x", "a.md": b"A", "deep/" * 60 + "b.md": b"x"})
        offers = scanned(Pypi(index=server.index))
        assert found(offers).keys() == {"a.md"}
        assert len([one for one in offers if isinstance(one, Skipped)]) == 2


class TestVersions:
    @pytest.fixture
    def source(self, server: Registry) -> Pypi:
        for version in ("1.0", "1.2.0", "2.0rc1"):
            publish(server, version, {"a.md": version.encode()})
        publish(server, "1.3.0", {"a.md": b"1.3"}, yanked="broken")
        return Pypi(index=server.index)

    @pytest.mark.parametrize("html", [False, True])
    @pytest.mark.parametrize(
        ("uri", "version"),
        [
            ("pypi:tern", "1.2.0"),
            ("pypi:tern@latest", "1.2.0"),
            ("pypi:tern@1", "1.2.0"),
            ("pypi:tern@1.x", "1.2.0"),
            ("pypi:tern@>=1,<1.2", "1.0"),
            ("pypi:tern@1.0", "1.0"),
            ("pypi:tern@2.0rc1", "2.0rc1"),
            ("pypi:tern@1.3.0", "1.3.0; it is withdrawn (yanked or deprecated)"),
        ],
    )
    def test_the_best_one_is_chosen(self, server: Registry, source: Pypi, uri: str, version: str, html: bool) -> None:
        server.html = html
        assert chosen(source, uri) == version

    def test_those_that_there_are_if_none_fits(self, source: Pypi) -> None:
        with pytest.raises(SourceProblem, match="no version of tern fits 3") as problem:
            scanned(source, "pypi:tern@3")
        assert "1.2.0, 1.0" in problem.value.hint
        assert "1.3.0" not in problem.value.hint

    def test_all_are_withdrawn(self, server: Registry) -> None:
        publish(server, "1.0", {}, yanked=True)
        with pytest.raises(SourceProblem, match="can be chosen") as problem:
            scanned(Pypi(index=server.index))
        assert "exactly: 1.0" in problem.value.hint

    def test_a_range_that_is_none(self, source: Pypi) -> None:
        with pytest.raises(SourceProblem, match="not a version"):
            scanned(source, "pypi:tern@some.thing")

    @pytest.mark.parametrize(
        ("name", "version"),
        [
            ("Foo_Bar-1.0.tar.gz", "1.0"),
            ("foo-bar-1.0.zip", "1.0"),
            ("foo_bar-1.0-py3-none-any.whl", "1.0"),
            ("foo_bar-1.0-2-py3-none-any.whl", "1.0"),
            ("foo-bar-baz-1.0.tar.gz", ""),
            ("foo-bar-1.0.exe", ""),
            ("foo-bar-1.0.dmg/../x.tar.gz", ""),
        ],
    )
    def test_versions_in_file_names(self, name: str, version: str) -> None:
        assert version_of(name, "foo-bar") == version


class TestAddresses:
    @pytest.mark.parametrize(
        ("uri", "canonical", "name"),
        [
            ("pypi:Foo_Bar.baz", "pypi:foo-bar-baz", "foo-bar-baz"),
            ("pypi:tern@ 1.x ", "pypi:tern@1.x", "tern@1.x"),
            ("pypi:tern@latest", "pypi:tern", "tern"),
        ],
    )
    def test_canonical_spelling(self, uri: str, canonical: str, name: str) -> None:
        located = Pypi().locate(uri)
        assert (located.uri, located.name) == (canonical, name)

    @pytest.mark.parametrize("uri", ["pypi:", "pypi:../x", "pypi:a/b", "pypi:a@1/2", "pypi:a b", "pypi:a@\0", "pypi:-"])
    def test_what_is_none(self, uri: str) -> None:
        with pytest.raises(SourceProblem) as problem:
            Pypi().locate(uri)
        assert "pypi:click" in problem.value.hint

    @pytest.mark.slow
    def test_pip_states_its_index(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PIP_INDEX_URL", "https://index.example/simple")
        _registry_address.pip_index.cache_clear()
        try:
            assert Pypi().base_url(Pypi().parse("pypi:tern")) == "https://index.example/simple/"
            monkeypatch.delenv("PIP_INDEX_URL")
            _registry_address.pip_index.cache_clear()
            assert _registry_address.pip_index().startswith(("http://", "https://"))
        finally:
            _registry_address.pip_index.cache_clear()

    def test_without_pip_the_hint_names_the_setting(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_registry_address, "_pip_command", lambda: ())
        _registry_address.pip_index.cache_clear()
        with pytest.raises(SourceProblem) as problem:
            scanned(Pypi())
        assert "source.pypi.index" in problem.value.hint


class TestAgain:
    def test_one_conditional_request_if_nothing_is_new(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A", "b.md": b"B"})
        source = Pypi(index=server.index)
        offers = scanned(source)
        known = {name: one.stamp for name, one in found(offers).items()}
        (cursor,) = [one.cursor for one in offers if isinstance(one, Whole)]
        for conditional in (True, False):
            server.conditional = conditional
            server.site.paths.clear()
            again = scanned(source, known=known, cursor=cursor)
            assert again == [Note("version 1.0, unchanged"), Same("a.md"), Same("b.md"), again[-1]]
            assert isinstance(again[-1], Whole)
            assert server.site.paths == ["/simple/tern/"]

    def test_a_newer_version_replaces_the_one_before(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A", "b.md": b"B"})
        source = Pypi(index=server.index)
        offers = scanned(source)
        known = {name: one.stamp for name, one in found(offers).items()}
        publish(server, "1.1", {"a.md": b"A", "c.md": b"C"})
        (cursor,) = [one.cursor for one in offers if isinstance(one, Whole)]
        again = scanned(source, known=known, cursor=cursor)
        assert again[0] == Note("version 1.1, which replaces 1.0")
        assert found(again).keys() == {"a.md", "c.md"}
        assert found(again)["a.md"].stamp != known["a.md"]

    def test_items_that_were_lost_are_read_again(self, server: Registry) -> None:
        """An item without a stamp is not in `known`: it must not be taken for deleted."""
        publish(server, "1.0", {"a.md": b"A", "b.md": b"B"})
        source = Pypi(index=server.index)
        offers = scanned(source)
        (cursor,) = [one.cursor for one in offers if isinstance(one, Whole)]
        stamp = found(offers)["a.md"].stamp
        assert found(scanned(source, known={"a.md": stamp}, cursor=cursor)).keys() == {"a.md", "b.md"}

    @pytest.mark.parametrize("cursor", ["", "x", "[1]", "[]", '{"a": 1}', "[[], 1, 2, 3, 4]"])
    def test_a_cursor_that_is_none(self, server: Registry, cursor: str) -> None:
        publish(server, "1.0", {"a.md": b"A"})
        assert found(scanned(Pypi(index=server.index), known={"b.md": "1"}, cursor=cursor)).keys() == {"a.md"}


class TestProblems:
    """Each is raised before anything is offered, so nothing of what is indexed can be taken for deleted."""

    def refused(self, source: Pypi, match: str, uri: str = "pypi:tern") -> SourceProblem:
        offers: list[Offer] = []
        with pytest.raises(SourceProblem, match=match) as problem:
            offers.extend(source.scan(SourceRoot("pypi", uri), {}))
        assert offers == []
        return problem.value

    def test_no_such_package(self, server: Registry) -> None:
        assert "spelling" in self.refused(Pypi(index=server.index), "no package 'tern'").hint

    @pytest.mark.parametrize("status", [500, 503, 403])
    def test_outages(self, server: Registry, status: int) -> None:
        server.status = status
        self.refused(Pypi(index=server.index), str(status))

    def test_a_machine_that_is_off(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as off:
            port = off.getsockname()[1]
        self.refused(Pypi(index=f"http://127.0.0.1:{port}"), "cannot be reached")

    def test_a_hash_that_differs(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A"}, hashes={"sha256": "0" * 64})
        assert "nothing was changed" in self.refused(Pypi(index=server.index), "sha256 differs").hint

    def test_a_file_that_is_missing(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A"})
        server.archives.clear()
        self.refused(Pypi(index=server.index), "is not where the registry says")

    def test_a_bomb(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A", "b.md": b"\0" * 40_000_000})
        self.refused(Pypi(index=server.index), "unpacks to more than")

    def test_a_large_archive(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": bytes(range(256)) * 100})
        problem = self.refused(Pypi(index=server.index, max_bytes=100), "larger than 100 bytes")
        assert "source.pypi.max_bytes" in problem.hint

    @pytest.mark.parametrize("page", [b"{", b"[]", b'{"files": [1]}', b'{"files": [{}]}', b"[" * 100_000])
    def test_pages_that_are_none(self, server: Registry, page: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        publish(server, "1.0", {})
        monkeypatch.setattr(Registry, "_simple", lambda *_: (page, "application/json"))
        self.refused(Pypi(index=server.index), "as expected")

    def test_a_page_without_files(self, server: Registry) -> None:
        server.python["tern"] = {}
        server.html = True
        self.refused(Pypi(index=server.index), "no version")

    def test_no_hash_is_mentioned(self, server: Registry) -> None:
        publish(server, "1.0", {"a.md": b"A"}, hashes={})
        assert "no hash" in chosen(Pypi(index=server.index), "pypi:tern")

    def test_an_address_that_is_none(self) -> None:
        self.refused(Pypi(index="nowhere"), "not a web address")


class TestHosts:
    """Which machines may be reached: the registry, public ones, and those that the user allows."""

    def test_links_to_other_private_machines_are_refused(self, server: Registry) -> None:
        with running(Site()) as other:
            server.file_host = other.url
            publish(server, "1.0", {"a.md": b"A"})
            with pytest.raises(SourceProblem, match="not a public address"):
                scanned(Pypi(index=server.index))
            assert other.paths == []

    def test_unless_they_are_allowed(self, server: Registry) -> None:
        with registry() as other:
            server.file_host = other.site.url
            publish(server, "1.0", {"a.md": b"A"})
            other.archives = server.archives
            source = Pypi(index=server.index, allowed=[f"127.0.0.1:{other.site.server_port}"])
            assert found(scanned(source)).keys() == {"a.md"}

    def test_redirects_to_other_private_machines_are_refused(self, server: Registry) -> None:
        with running(Site()) as other:
            publish(server, "1.0", {"a.md": b"A"})
            server.site.script = [leads_to(f"{other.url}/simple/tern/")]
            with pytest.raises(SourceProblem, match="not a public address"):
                scanned(Pypi(index=server.index))
            assert other.paths == []

    @pytest.mark.parametrize(
        ("url", "hosts"),
        [
            ("https://files.example/x.whl", ("files.example:443",)),
            ("https://Files.example:8443/x.whl", ("files.example:8443",)),
            ("http://files.example/x.whl", ()),
            ("https://10.0.0.1/x.whl", ()),
            ("https://[fd00::a]/x.whl", ()),
            ("https://0x7f.1/x.whl", ()),
            ("https://0x7f000001/x.whl", ()),
        ],
    )
    def test_only_names_over_https_are_taken_at_the_registrys_word(self, url: str, hosts: tuple[str, ...]) -> None:
        assert _packages._link_host(url) == hosts


@pytest.mark.slow
def test_a_real_package(tmp_path: Path) -> None:
    """From the package index that pip uses here; skipped without a network."""
    reach = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--timeout",
        "5",
        "--retries",
        "0",
        "iniconfig==2.0.0",
    ]
    if subprocess.run(reach, capture_output=True, check=False, cwd=tmp_path).returncode:
        pytest.skip("NOT RUN: the test with a real package, which needs a package index that pip can reach")
    source = Pypi()
    try:
        offers = scanned(source, "pypi:iniconfig@2.0.0")
    except SourceProblem as problem:
        if "is not a public address" not in str(problem):
            raise
        pytest.skip("NOT RUN: the test with a real package, since the package index has no public address")
    assert offers[0] == Note("version 2.0.0")
    assert {"README.rst", "iniconfig/__init__.py"} <= found(offers).keys()
