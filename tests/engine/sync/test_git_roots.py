"""Syncs of git trees and histories, from address to answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories import TestRepository, git, git_server
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Progress
from watersmeet.face.cli import main
from watersmeet.face.index_writes import SyncParams, sync
from watersmeet.face.service import Service

ENVIRON = {"WATERSMEET__INDEX__VECTORS": "false"}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=ENVIRON)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def repository(tmp_path: Path) -> TestRepository:
    made = TestRepository.new(tmp_path / "birds")
    made.commit("Begin the list of birds", **{"list.md": "# List\n\nTern and auk.\n"})
    made.commit(
        "Drop the dodo\n\nIt is extinct, and nobody keeps one.",
        author="Bo Booby",
        **{"dodo.py": "def dodo_count():\n    return 0\n"},
    )
    made.commit("Count the terns", **{"list.md": "# List\n\nTern, tern and auk.\n"})
    return made


def documents(engine: Engine) -> set[str]:
    return {facts["document"] for facts in engine.documents()}


def test_a_tree_is_followed_from_commit_to_commit(engine: Engine, repository: TestRepository) -> None:
    root = f"git+{repository.folder}"
    assert engine.sync([root]).added == 2
    assert engine.sync([]).to_json()["unchanged"] == 2
    (repository.folder / "dodo.py").unlink()
    repository.commit("More", **{"gull.md": "# Gull\n\nIt screams.\n", "list.md": "# List\n\nNone.\n"})
    report = engine.sync([root])
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    (result, *_) = engine.search("screams").results
    assert (result.document, result.path) == ("gull.md", str(repository.folder / "gull.md"))
    assert str(result.path).startswith("/")
    (facts,) = [facts for facts in engine.documents() if facts["document"] == "gull.md"]
    assert facts["modified"].startswith("2020-09-16")


def test_a_history_is_found_by_message_author_file_and_difference(engine: Engine, repository: TestRepository) -> None:
    report = engine.sync([f"history+{repository.folder}"])
    assert (report.added, report.skipped) == (3, [])
    assert engine.status()["collections"] == {"birds-history": 3}
    for query in ("why did we drop the dodo", "Bo Booby", "dodo.py", "dodo_count", "extinct"):
        first = engine.search(query, filters={"kind": "commit"}).results[0]
        assert first.title == "Drop the dodo", query
    by_author = engine.search("birds OR dodo OR terns", filters={"author": "Bo Booby"}).results
    assert {result.title for result in by_author} == {"Drop the dodo"}
    by_file = engine.search("birds terns dodo", filters={"files": "list.md"}).results
    assert {result.title for result in by_file} == {"Begin the list of birds", "Count the terns"}
    late = engine.search("birds terns dodo", since="2020-09-15").results
    assert {result.title for result in late} == {"Count the terns"}
    hash = git(repository.folder, "rev-parse", "HEAD~1")
    for name in (hash, hash[:7], hash[:12]):
        assert engine.get(name)["title"] == "Drop the dodo"
    with pytest.raises(NotFound):
        engine.get(hash[:7] + "0000000")


def test_new_commits_and_a_forced_push(engine: Engine, repository: TestRepository) -> None:
    root = f"history+{repository.folder}"
    engine.sync([root])
    before = documents(engine)
    repository.commit("Feed the gull", **{"gull.md": "bread\n"})
    assert engine.sync([root]).added == 1
    git(repository.folder, "reset", "-q", "--hard", "HEAD~2")
    repository.commit("Count the skuas", **{"list.md": "# List\n\nSkuas.\n"})
    report = engine.sync([])
    assert (report.added, report.removed, report.unchanged) == (1, 2, 2)
    assert len(documents(engine)) == 3
    assert len(documents(engine) & before) == 2
    assert engine.sync([]).to_json()["added"] == 0


def test_a_beginning_is_remembered_and_can_be_changed(engine: Engine, repository: TestRepository) -> None:
    engine.sync([f"history+{repository.folder}?since=2020-09-14"])
    assert len(documents(engine)) == 2
    repository.commit("Later")
    engine.sync([])
    assert len(documents(engine)) == 3
    report = engine.sync([f"history+{repository.folder}?since=2020-09-15"])
    assert (report.removed, report.unchanged) == (1, 2)
    assert engine.status()["roots"] == [f"history+{repository.folder}?since=2020-09-15"]
    engine.sync([], recreate=True)
    assert len(documents(engine)) == 2
    assert engine.sync([f"history+{repository.folder}"]).added == 2
    path = engine.get(repository.head)["path"]
    assert path == f"git+{repository.folder}@{repository.head}"
    assert engine.remove(f"history+{repository.folder}") == 4


def test_tree_and_history_side_by_side(engine: Engine, repository: TestRepository) -> None:
    engine.sync([f"git+{repository.folder}"])
    engine.sync([f"history+{repository.folder}"])
    assert "list.md" in documents(engine)
    assert f"birds-history/{repository.head}" in documents(engine)
    assert engine.get(repository.head[:8])["title"] == "Count the terns"


@pytest.mark.parametrize("kind", ["git", "history"])
@pytest.mark.parametrize(
    ("end", "said", "hint"),
    [
        ("@mian", "no revision 'mian'", "did you mean 'main'?"),
        ("@nosuch", "no revision 'nosuch'", "name a branch"),
        ("#dcos", "dcos does not exist", "did you mean 'docs'?"),
        ("#docs/delta", "does not exist", "did you mean 'docs/deltas'?"),
        ("@main#none/at/all", "does not exist", "from its top"),
    ],
)
def test_a_mistyped_address_is_no_root(
    engine: Engine, repository: TestRepository, kind: str, end: str, said: str, hint: str
) -> None:
    repository.commit("Deltas", **{"docs/deltas/a.md": "# Delta\n"})
    with pytest.raises(SourceProblem, match=said) as caught:
        engine.sync([f"{kind}+{repository.folder}{end}"])
    assert hint in caught.value.hint
    engine.sync([f"git+{repository.folder}"])
    assert engine.status()["roots"] == [f"git+{repository.folder}"]
    assert "list.md" in documents(engine)


def test_a_folder_that_is_gone_deletes_nothing(engine: Engine, repository: TestRepository) -> None:
    repository.commit("Deltas", **{"docs/a.md": "# Delta\n"})
    roots = [f"{kind}+{repository.folder}#docs" for kind in ("git", "history")]
    engine.sync(roots)
    git(repository.folder, "mv", "docs", "pages")
    repository.commit("Move")
    report = engine.sync([])
    assert [(item.path, "docs does not exist" in item.reason) for item in report.warnings] == [(roots[0], True)]
    assert report.removed == 0
    assert "a.md" in documents(engine)
    with pytest.raises(SourceProblem, match=r"list\.md is not a folder"):
        engine.sync([f"git+{repository.folder}#list.md"])
    engine.sync([f"history+{repository.folder}#list.md"])  # a file has a history


def test_an_outage_deletes_nothing(repository: TestRepository, tmp_path: Path) -> None:
    settings = load(
        start=str(tmp_path),
        environ=ENVIRON,
        flags={"source": {name: {"allowed": ["127.0.0.1"]} for name in ("git", "history")}},
    )
    with Engine(tmp_path / "index", settings) as engine:
        steps: list[Progress] = []
        with git_server(tmp_path) as (url, _):
            roots = [f"{kind}+{url}/birds/.git" for kind in ("git", "history")]
            engine.sync(roots, progress=steps.append)
        assert any(step.unit == "objects" for step in steps)
        before = documents(engine)
        assert len(before) == 5
        report = engine.sync(now=True)
        assert [skipped.path for skipped in report.warnings] == roots
        assert all("cannot be fetched" in skipped.reason for skipped in report.warnings)
        with pytest.raises(SourceProblem, match="cannot be fetched"):
            engine.sync(roots)
        assert documents(engine) == before


def test_flags_of_the_command_line(
    repository: TestRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str, status: int = 0) -> str:
        assert main.run([*arguments, "--index", str(tmp_path / "index")]) == status
        return "".join(capsys.readouterr())

    repository.commit("Plan", **{"notes.txt": "x\n", "drafts/a.md": "x\n"})
    done = json.loads(run("sync", f"git+{repository.folder}", "--exclude", "drafts", "--no-vectors", "--json"))
    assert done["added"] == 3
    done = json.loads(
        run("sync", str(repository.folder), "--history", "--since", "2020-09-15", "--no-vectors", "--json")
    )
    assert done["added"] == 2
    found = json.loads(run("search", "terns", "--kind", "commit", "--json"))
    assert {result["kind"] for result in found["results"]} == {"commit"}
    assert "--history" in run("sync", str(repository.folder), "--since", "2y", status=2)
    assert "not a date" in run("sync", str(repository.folder), "--history", "--since", "soon", status=2)
    assert "no repository" in run("sync", "--history", status=2)


def test_a_caller_can_only_sync_repositories_that_are_there(engine: Engine, repository: TestRepository) -> None:
    root = f"git+{repository.folder}"
    engine.sync([root])
    service = Service(engine)
    for anywhere in (True, False):
        assert sync(service.engine, SyncParams((root,)), anywhere, lambda _: None)["unchanged"] == 2
        with pytest.raises(ConfigError):
            sync(service.engine, SyncParams((f"history+{repository.folder}",)), anywhere, lambda _: None)
        with pytest.raises(ConfigError):
            sync(service.engine, SyncParams(("git+http://127.0.0.1:1/x",)), anywhere, lambda _: None)


def test_a_root_stays_of_its_kind_when_it_is_moved(engine: Engine, repository: TestRepository, tmp_path: Path) -> None:
    engine.sync([f"git+{repository.folder}"])
    moved = repository.folder.rename(tmp_path / "moved")
    warning = engine.sync().warnings[0].reason
    assert f"relocate git+{repository.folder} git+NEW" in warning
    with pytest.raises(ConfigError, match="is read as git"):
        engine.relocate(f"git+{repository.folder}", str(moved))
    assert engine.relocate(f"git+{repository.folder}", f"git+{moved}") == 2
    assert engine.sync().unchanged == 2
