"""The source for files of a git repository."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from repositories import DAY, START, TestRepository, file_server, git, git_server, served, spring_traps
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Content, Found, Skipped, SourceRoot, Whole
from watersmeet.engine.sync.parsers import endings, sizes, whole_names
from watersmeet.source import _git, _git_clone
from watersmeet.source._git import environment
from watersmeet.source.git import Git

Make = Callable[..., Git]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def source(**options: Any) -> Git:
        return Git(endings(), whole_names(), sizes(), str(tmp_path / "cache"), **options)

    return source


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    made = TestRepository.new(tmp_path / "birds")
    made.write("README.md", "# Birds\n")
    made.write("docs/tern.md", "# Tern\n")
    made.commit("first")
    return made


def offers(source: Git, address: str) -> tuple[dict[str, Found], dict[str, str]]:
    """What is found, by name, and reasons of what is skipped, by the end of its place."""
    *items, end = source.scan(SourceRoot("git", address), {})
    assert isinstance(end, Whole)
    skipped = {
        item.path.rpartition("/")[2].rpartition("#")[2]: item.reason for item in items if isinstance(item, Skipped)
    }
    return {item.name: item for item in items if isinstance(item, Found)}, skipped


def test_files_of_a_revision_and_a_folder(make: Make, repository: TestRepository) -> None:
    first = repository.head
    repository.write("docs/auk.md", "# Auk\n")
    repository.commit("second")
    git(repository.folder, "tag", "v1", first)
    source = make()
    assert offers(source, f"git+{repository.folder}")[0].keys() == {"README.md", "docs/tern.md", "docs/auk.md"}
    assert offers(source, f"git+{repository.folder}@v1")[0].keys() == {"README.md", "docs/tern.md"}
    assert offers(source, f"git+{repository.folder}@main#docs")[0].keys() == {"tern.md", "auk.md"}
    assert offers(source, f"git+file://{repository.folder}/docs")[0].keys() == {"tern.md", "auk.md"}
    assert offers(source, f"git+{repository.folder}@{first}")[0].keys() == {"README.md", "docs/tern.md"}


def test_a_path_is_in_the_work_tree_if_that_has_the_revision(make: Make, repository: TestRepository) -> None:
    first = repository.head
    repository.write("docs/auk.md", "# Auk\n")
    repository.commit("second")
    found, _ = offers(make(), f"git+{repository.folder}")
    assert found["docs/auk.md"].uri == str(repository.folder / "docs/auk.md")
    found, _ = offers(make(), f"git+{repository.folder}@{first}")
    assert found["README.md"].uri == f"git+{repository.folder}@{first}#README.md"


def test_only_committed_content_is_read(make: Make, repository: TestRepository) -> None:
    repository.write("README.md", "# Draft\n")
    source = make()
    found, _ = offers(source, f"git+{repository.folder}")
    assert source.read(found["README.md"]) == b"# Birds\n"


def test_what_is_left_out_and_what_is_skipped(make: Make, repository: TestRepository) -> None:
    for name in (".hidden/a.md", "node_modules/b.md", "picture.xyz", "docs/draft.md"):
        repository.write(name, "x\n")
    repository.write("big.md", "x" * 200)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
    repository.write("paper.pdf", pointer)
    os.symlink("README.md", repository.folder / "link.md")
    other = TestRepository.new(repository.folder.parent / "other")
    other.commit("other", **{"x.md": "x"})
    git(repository.folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.folder), "sub")
    repository.commit("all kinds")
    found, skipped = offers(make(exclude=["draft*"], max_bytes=100), f"git+{repository.folder}")
    assert found.keys() == {"README.md", "docs/tern.md"}
    assert skipped.keys() == {"big.md", "paper.pdf", "link.md", "sub"}
    assert "max_bytes" in skipped["big.md"]
    assert "source.git" in skipped["big.md"]
    assert "LFS" in skipped["paper.pdf"]
    assert "symlink" in skipped["link.md"]
    assert "submodule" in skipped["sub"]
    found, _ = offers(make(include=["*.xyz", "docs/**"]), f"git+{repository.folder}")
    assert found.keys() == {"picture.xyz", "docs/draft.md", "docs/tern.md"}
    with pytest.raises(SourceProblem, match="more than 1 files"):
        offers(make(max_files=1), f"git+{repository.folder}")


def test_names_that_git_would_quote(make: Make, repository: TestRepository) -> None:
    for name in ("möwe.md", 'a "b".md', "tab\there.md", "-rf.md", "#x@y.md"):
        repository.write(name, "x\n")
    repository.commit("odd names")
    subprocess.run(["touch", os.fsencode(repository.folder) + b"/\xff.md"], check=True)
    repository.commit("not UTF-8")
    found, skipped = offers(make(), f"git+{repository.folder}")
    assert {"möwe.md", 'a "b".md', "tab\there.md", "-rf.md", "#x@y.md"} <= found.keys()
    assert list(skipped.values()) == ["name is not valid UTF-8"]


def test_dates_are_those_of_the_last_commit(make: Make, repository: TestRepository) -> None:
    repository.commit("second", **{"new.md": "new\n"})
    repository.commit("third", **{"README.md": "# Other birds\n"})
    source = make()
    found, _ = offers(source, f"git+{repository.folder}")
    dating = source.dating(list(found.values()))
    times = {name: dating.of(item, Content.of(b""), "git") for name, item in found.items()}
    days = {name: (time.timestamp() - START) / DAY for name, time in times.items() if time}
    assert days == {"README.md": 2, "new.md": 1, "docs/tern.md": 0}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("git+-upload-pack=x", "is not a git repository|does not exist"),
        ("git+ext::sh -c touch x", "is not a git repository|does not exist"),
        ("git+ftp://example.org/x", "not fetched by ftp"),
        ("git+https://-oProxy@example.org/x", "not the address"),
        ("git+https://user:secret@example.org/x", "password or token"),
        ("git+ssh://-oProxyCommand=x/y", "not the address"),
        ("git+https://example.org/x@--upload-pack=y", "not a revision"),
        ("git+https://example.org/x@HEAD~1", "not a revision"),
        ("git+https://example.org/x#../y", "from its top"),
        ("git+file://elsewhere/x", "names no machine"),
        ("git+https://exam\nple.org/x", "control characters"),
    ],
)
def test_addresses_that_are_refused(make: Make, address: str, said: str) -> None:
    source = make()
    with pytest.raises(SourceProblem, match=said) as caught:
        list(source.scan(SourceRoot("git", source.locate(address).uri), {}))
    assert caught.value.hint
    assert "secret" not in str(caught.value)


def test_spellings_and_names(make: Make, repository: TestRepository) -> None:
    source = make()
    assert source.locate(f"git+{repository.folder}/docs").uri == f"git+{repository.folder}#docs"
    assert source.locate(f"git+file://{repository.folder}@v1#docs/").uri == f"git+{repository.folder}@v1#docs"
    assert source.locate("git+https://github.com/a/b.git/").name == "b"
    assert not source.locate("git+/nowhere").exists
    odd = TestRepository.new(repository.folder.parent / "me@work")
    odd.commit(**{"a.md": "x"})
    assert source.locate(f"git+{odd.folder}").uri == f"git+{odd.folder}"
    assert offers(source, f"git+{odd.folder}@main")[0].keys() == {"a.md"}


def test_a_hostile_repository_starts_no_program(make: Make, repository: TestRepository, tmp_path: Path) -> None:
    spring_traps(repository, tmp_path)
    source = make()
    found, _ = offers(source, f"git+{repository.folder}")
    assert source.read(found["README.md"]) == b"# Birds\n"
    assert source.dating(list(found.values())).of(found["README.md"], Content.of(b""), "git")
    assert not (tmp_path / "trap").exists()


def test_a_repository_elsewhere_is_cloned_and_fetched(make: Make, repository: TestRepository, tmp_path: Path) -> None:
    repository.write("data.bin", os.urandom(300_000))
    repository.commit("a large file that nobody reads")
    with git_server(tmp_path) as (url, requests):
        source = make(allowed=["127.0.0.1"])
        address = f"git+{url}/birds/.git"
        seen: list[tuple[str, int, int]] = []
        source.prepare(SourceRoot("git", address), lambda *step: seen.append(step))
        found, skipped = offers(source, address)
        assert found.keys() == {"README.md", "docs/tern.md"}
        assert not skipped
        assert source.read(found["docs/tern.md"]) == b"# Tern\n"
        assert found["docs/tern.md"].uri == f"{address}#docs/tern.md"
        assert seen
        assert all(done <= total for _, done, total in seen)
        assert source.dating(list(found.values())).of(found["README.md"], Content.of(b""), "git")
        (clone,) = (
            folder
            for folder in (tmp_path / "cache/git").iterdir()
            if (folder / "packed-refs").exists() or (folder / "refs/heads").exists()
        )
        assert clone.stat().st_mode & 0o077 == 0
        assert sum(file.stat().st_size for file in clone.rglob("*") if file.is_file()) < 200_000  # not the large file
        repository.commit("more", **{"auk.md": "# Auk\n"})
        again = make(allowed=["127.0.0.1"])
        found, _ = offers(again, address)
        assert again.read(found["auk.md"]) == b"# Auk\n"
        for pack in (*clone.rglob("*.pack"), *clone.rglob("*.idx")):
            pack.chmod(0o600)
            pack.write_bytes(b"damaged")
        found, _ = offers(make(allowed=["127.0.0.1"]), address)
        assert found.keys() == {"README.md", "docs/tern.md", "auk.md"}
        count = len(requests)
        with pytest.raises(SourceProblem, match="not a public address") as caught:
            make(allowed=["127.0.0.1"], public_only=True).prepare(SourceRoot("git", address), lambda *_: None)
        assert "allowed" in caught.value.hint
        assert len(requests) == count
    with pytest.raises(SourceProblem, match="cannot be fetched") as caught:
        make(allowed=["127.0.0.1"]).prepare(SourceRoot("git", address), lambda *_: None)
    assert caught.value.hint
    assert clone.is_dir()


def test_a_server_of_plain_files_starts_no_chain_of_fetches(
    make: Make, repository: TestRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert environment("http")["GIT_NO_LAZY_FETCH"] == "1"  # else the rest of this test would start git without end
    git(tmp_path, "clone", "-q", "--bare", str(repository.folder), "plain/birds.git")
    git(tmp_path / "plain/birds.git", "update-server-info")
    with file_server(tmp_path / "plain") as url:
        for capable in (True, False):
            monkeypatch.setattr(_git_clone, "can_refuse_lazy_fetches", lambda capable=capable: capable)
            source = make(allowed=["127.0.0.1"])
            found, skipped = offers(source, f"git+{url}/birds.git")
            assert found.keys() == {"README.md", "docs/tern.md"}
            assert not skipped
            assert source.read(found["docs/tern.md"]) == b"# Tern\n"
    whole = next((tmp_path / "cache/git").glob("*-history/config"))
    assert "promisor" not in whole.read_text()


@pytest.mark.parametrize(
    ("version", "capable"),
    [
        *(("2.39.5", True), ("2.39.3", False), ("2.45.0", True), ("2.44.0 (Apple Git-1)", False), ("3.0.1", True)),
        *(("2.38.9", False), ("2.53.0.windows.1", True), ("odd", False)),
    ],
)
def test_which_git_can_be_kept_from_fetching(version: str, capable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_git, "output_of", lambda *_: f"git version {version}\n".encode())
    assert _git.can_refuse_lazy_fetches() is capable


@contextmanager
def endless_server(progress: bool, begun: Event | None = None) -> Iterator[str]:
    """A server that begins an answer and never ends it; with `progress`, it goes on about it."""
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._begin("advertisement")
            refs = f"{'1' * 40} HEAD\0side-band-64k ofs-delta\n", f"{'1' * 40} refs/heads/main\n"
            lines = "".join(f"{len(ref) + 4:04x}{ref}" for ref in refs)
            self.wfile.write(f"001e# service=git-upload-pack\n0000{lines}0000".encode())

        def do_POST(self) -> None:
            self._begin("result")
            self.wfile.write(b"0008NAK\n")
            with suppress(OSError):
                while not over.wait(0.1):
                    if begun is not None:
                        begun.set()
                    if progress:
                        self.wfile.write(b"0010\x02counting..\n")

        def _begin(self, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"application/x-git-upload-pack-{kind}")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    try:
        with served(Handler) as url:
            yield url
    finally:
        over.set()


def running(folder: Path) -> list[str]:
    """Commands that have this folder among their arguments or in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if os.fsencode(folder) in command + (process / "environ").read_bytes() and b"git" in command:
                found.append(command.replace(b"\0", b" ").decode())
    return found


@pytest.mark.parametrize(("progress", "said"), [(True, "longer than 2 s"), (False, "no answer for 1 s")])
def test_a_fetch_without_end_is_ended_with_its_helpers(make: Make, tmp_path: Path, progress: bool, said: str) -> None:
    with endless_server(progress) as url:
        source = make(allowed=["127.0.0.1"], stall_seconds=1, fetch_seconds=2 if progress else 3600)
        with pytest.raises(SourceProblem, match=said):
            source.prepare(SourceRoot("git", f"git+{url}/x"), lambda *_: None)
        assert eventually(lambda: running(tmp_path) == [])
    assert [path.suffix for path in (tmp_path / "cache/git").iterdir() if "empty" not in path.name] == [".lock"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_git_ends_with_this_process(make: Make, tmp_path: Path, number: int) -> None:
    script = (
        "import sys; from watersmeet.source.git import Git; from watersmeet.core.indexing import SourceRoot;"
        "source = Git((), cache=sys.argv[1], allowed=['127.0.0.1']);"
        "source.prepare(SourceRoot('git', sys.argv[2]), lambda *_: None)"
    )
    begun = Event()
    with endless_server(progress=False, begun=begun) as url:
        address = f"git+{url}/x"
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "cache"), address])
        try:
            assert begun.wait(30)
            time.sleep(0.5)  # it has nothing more to write, which would end it
            assert any("remote-http" in command for command in running(tmp_path))
        finally:
            process.send_signal(number)
            process.wait()
        assert eventually(lambda: running(tmp_path) == [])
        (left,) = (path for path in (tmp_path / "cache/git").iterdir() if ".new-" in path.name)
        with pytest.raises(SourceProblem):
            make(allowed=["127.0.0.1"], stall_seconds=1).prepare(SourceRoot("git", address), lambda *_: None)
    assert not left.exists()


def test_a_clone_that_grows_too_large_is_ended(
    make: Make, repository: TestRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_git, "_LIMIT_TICKS", 1)
    with (
        endless_server(progress=True) as url,
        pytest.raises(SourceProblem, match="is not fetched") as caught,
    ):
        make(allowed=["127.0.0.1"], max_clone_bytes=10).prepare(SourceRoot("git", f"git+{url}/x"), lambda *_: None)
    assert "max_clone_bytes" in caught.value.hint


def eventually(holds: Callable[[], bool]) -> bool:
    for _ in range(600):
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_no_git(make: Make, repository: TestRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceProblem, match="git cannot be started") as caught:
        offers(make(), f"git+{repository.folder}")
    assert "install" in caught.value.hint


def test_a_repository_without_commits_or_of_another_revision(make: Make, tmp_path: Path) -> None:
    empty = TestRepository.new(tmp_path / "empty")
    with pytest.raises(SourceProblem, match="no commit yet"):
        offers(make(), f"git+{empty.folder}")
    empty.commit()
    with pytest.raises(SourceProblem, match="no revision 'nope'"):
        offers(make(), f"git+{empty.folder}@nope")
    with pytest.raises(SourceProblem, match="not a git repository"):
        offers(make(), f"git+{tmp_path}")
