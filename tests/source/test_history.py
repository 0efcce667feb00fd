"""The source for the history of a git repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repositories import DAY, START, TestRepository, git, git_server, spring_traps
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Content, Found, Skipped, SourceRoot, Whole
from watersmeet.source import history
from watersmeet.source.history import History

Make = Callable[..., History]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def source(**options: Any) -> History:
        return History(str(tmp_path / "cache"), **options)

    return source


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    made = TestRepository.new(tmp_path / "birds")
    made.commit("Begin", **{"a.md": "tern\n"})
    made.commit("Add the auk\n\nIt was missing.", author="Bo Booby", **{"b.md": "auk\n"})
    made.commit("Name the gull", **{"a.md": "tern\ngull\n"})
    return made


def scanned(
    source: History, address: str, known: dict[str, str] | None = None, cursor: str = ""
) -> tuple[list[Found], str]:
    *items, end = source.scan(SourceRoot("history", f"history+{address}", cursor), known or {})
    assert isinstance(end, Whole)
    return [item for item in items if isinstance(item, Found)], end.cursor


def read_all(source: History, found: list[Found]) -> list[bytes]:
    source.dating(found)
    contents = [source.read(item) for item in found]
    return [content for content in contents if isinstance(content, bytes)]


def subjects(source: History, found: list[Found]) -> list[str]:
    return [content.split(b"\0")[6].decode().partition("\n")[0] for content in read_all(source, found)]


def test_commits_newest_first(make: Make, repository: TestRepository) -> None:
    source = make()
    found, cursor = scanned(source, str(repository.folder))
    assert subjects(source, found) == ["Name the gull", "Add the auk", "Begin"]
    assert cursor == found[0].name == repository.head
    assert found[0].uri == f"git+{repository.folder}@{repository.head}"
    assert source.dating(found).of(found[0], Content.of(b""), "git") == found[0].modified
    assert found[0].modified is not None
    assert found[0].modified.timestamp() == START + 2 * DAY


def test_only_new_commits_are_read_after_the_first_time(make: Make, repository: TestRepository) -> None:
    first, cursor = scanned(make(), str(repository.folder))
    known = {item.name: item.stamp for item in first}
    same, again = scanned(make(), str(repository.folder), known, cursor)
    assert {item.name for item in same} == known.keys()
    assert again == cursor
    repository.commit("Feed the gull", **{"a.md": "tern\ngull\nbread\n"})
    source = make()
    found, later = scanned(source, str(repository.folder), known, cursor)
    new = [item for item in found if item.name not in known]
    assert subjects(source, new) == ["Feed the gull"]
    assert later == repository.head
    assert {item.name for item in found} == {*known, repository.head}


def test_a_forced_push_takes_commits_away(make: Make, repository: TestRepository) -> None:
    first, cursor = scanned(make(), str(repository.folder))
    known = {item.name: item.stamp for item in first}
    gone = repository.head
    git(repository.folder, "reset", "-q", "--hard", "HEAD~1")
    repository.commit("Name the skua", **{"a.md": "tern\nskua\n"})
    source = make()
    found, _ = scanned(source, str(repository.folder), known, cursor)
    assert gone not in {item.name for item in found}
    assert len(found) == 3
    assert subjects(source, [item for item in found if item.name not in known]) == ["Name the skua"]


def test_a_beginning_and_a_folder(make: Make, repository: TestRepository) -> None:
    source = make()
    repository.commit("In a folder", **{"docs/x.md": "x\n", "y.md": "y\n"})
    day = "2020-09-14"  # that of the second commit
    found, _ = scanned(source, f"{repository.folder}?since={day}")
    assert subjects(source, found) == ["In a folder", "Name the gull", "Add the auk"]
    found, _ = scanned(source, f"{repository.folder}#docs")
    (content,) = read_all(source, found)
    assert b"docs/x.md" in content
    assert b"y.md" not in content
    assert scanned(source, f"{repository.folder}?since=1d")[0] == []
    with pytest.raises(SourceProblem, match="not a date"):
        source.locate(f"history+{repository.folder}?since=yesterday")
    assert source.supersedes(f"history+{repository.folder}?since=1d", f"history+{repository.folder}")
    assert not source.supersedes(f"history+{repository.folder}@v1", f"history+{repository.folder}")
    items = list(make(max_commits=2).scan(SourceRoot("history", f"history+{repository.folder}"), {}))
    assert [item.reason for item in items if isinstance(item, Skipped)] == [
        "2 older commits are left out; see source.history.max_commits"
    ]
    assert len([item for item in items if isinstance(item, Found)]) == 2


def test_merges_have_no_differences_and_names_and_collection(make: Make, repository: TestRepository) -> None:
    git(repository.folder, "checkout", "-q", "-b", "side", "HEAD~1")
    repository.commit("On the side", **{"side.md": "side\n"})
    git(repository.folder, "checkout", "-q", "main")
    git(repository.folder, "merge", "-q", "--no-ff", "-m", "Merge the side", "side", when=START + 9 * DAY)
    source = make()
    found, _ = scanned(source, str(repository.folder))
    (merge,) = [content for content in read_all(source, found) if b"Merge the side" in content]
    assert b"diff --git" not in merge
    located = source.locate(f"history+{repository.folder}")
    assert located.name == located.collection == "birds-history"


def test_a_long_commit_is_cut(make: Make, repository: TestRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_COMMIT_BYTES", 5_000)
    repository.commit("Long", **{"long.md": "\n".join(f"{n:040x}" for n in range(20_000))})
    repository.commit(
        "Binary", **{"binary.md": "\0".join(f"{n:040x}" for n in range(20_000)), ".gitattributes": "* diff"}
    )
    repository.commit("After")
    source = make()
    found, _ = scanned(source, str(repository.folder))
    contents = read_all(source, found)
    assert [content[:40].decode() for content in contents] == [item.name for item in found]
    assert sorted(map(len, contents))[-2:] == [len(contents[1]), 5_000]
    assert b"Binary files" in contents[1]


def test_commits_in_another_order_and_gone_ones(make: Make, repository: TestRepository) -> None:
    source = make()
    found, _ = scanned(source, str(repository.folder))
    assert subjects(source, [*reversed(found)]) == ["Begin", "Add the auk", "Name the gull"]
    source.dating(found)
    late = source.read(found[2])
    assert isinstance(late, bytes)
    assert b"Begin" in late
    missing = Found("0" * 40, found[0].uri[:-40] + "0" * 40, "0" * 40)
    assert isinstance(source.read(missing), Skipped)
    assert isinstance(source.read(Found("x", "elsewhere/x", "x")), Skipped)


def test_a_hostile_repository_starts_no_program(make: Make, repository: TestRepository, tmp_path: Path) -> None:
    spring_traps(repository, tmp_path)
    source = make()
    found, _ = scanned(source, str(repository.folder))
    contents = read_all(source, found)
    assert len(contents) == 4
    assert b"diff --git a/a.md b/a.md" in contents[1]
    assert b"\x1b[" not in contents[1]
    assert not (tmp_path / "trap").exists()


def test_a_history_elsewhere(make: Make, repository: TestRepository, tmp_path: Path) -> None:
    with git_server(tmp_path) as (url, _):
        source = make(allowed=["127.0.0.1"])
        found, cursor = scanned(source, f"{url}/birds/.git")
        assert subjects(source, found) == ["Name the gull", "Add the auk", "Begin"]
        git(repository.folder, "reset", "-q", "--hard", "HEAD~2")
        found, _ = scanned(make(allowed=["127.0.0.1"]), f"{url}/birds/.git", {i.name: i.stamp for i in found}, cursor)
        assert len(found) == 1
    with pytest.raises(SourceProblem, match="cannot be fetched"):
        scanned(make(allowed=["127.0.0.1"]), f"{url}/birds/.git")
    github = make().locate("history+https://github.com/a/b.git@v1?since=2y")
    assert github.uri == "history+https://github.com/a/b.git@v1?since=2y"
