"""Roots of all kinds: what the command line, REST and MCP show of them, and to whom."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from boxes import BOX, box, made
from serving import served
from watersmeet import Engine
from watersmeet.core.errors import SourceProblem
from watersmeet.core.visibility import EVERYONE, OWNER
from watersmeet.face.cli.main import run
from watersmeet.face.cli.roots import ago
from watersmeet.face.service import Service, _without_place

__all__ = ["box", "made"]  # fixtures

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(engine: Engine, vault: Path, box: Any, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line, in this process, over a folder and a box."""
    engine.sync([vault, BOX])

    def start(name: str, *arguments: str) -> tuple[int, str, str]:
        code = run([name, "--index", engine.folder, *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return start


def test_status_lists_them_with_their_age(command: Command, vault: Path) -> None:
    _, out, _ = command("status")
    assert f"  folder      {vault} (4 documents, read just now)" in out
    assert f"  made        {BOX} (2 documents, read just now)" in out
    _, out, _ = command("status", "--json")
    found = json.loads(out)
    assert found["roots"] == [str(vault), BOX]
    assert [one["kind"] for one in found["sources"]] == ["folder", "made"]


def test_an_outage_is_shown(command: Command, engine: Engine, box: Any) -> None:
    box.failure, box.things = SourceProblem("the line\nis dead"), {}
    assert command("sync", "--now", "--no-vectors")[0] == 0
    _, out, _ = command("status")
    assert "2 documents, read just now, problem: the line" in out
    assert "\nis dead" not in out


def test_sync_says_what_it_has_not_read(command: Command, box: Any) -> None:
    code, out, _ = command("sync", "--no-vectors")
    assert code == 0
    assert out.startswith("6 unchanged in ")
    assert f"  not read, since it was read recently (--now reads it): {BOX}\n" in out
    assert "warning" not in out
    assert json.loads(command("sync", "--no-vectors", "--json")[1])["fresh"] == [BOX]
    assert "not read" not in command("sync", "--no-vectors", "--now")[1]
    assert len(box.scans) == 2


def test_list_roots(command: Command, vault: Path) -> None:
    code, out, _ = command("list", "--roots")
    assert code == 0
    assert [line.split("\t") for line in out.splitlines()] == [
        [str(vault), "folder", "", "default", "4", "just now", ""],
        [BOX, "made", "box/", "default", "2", "just now", ""],
    ]
    assert [one["root"] for one in json.loads(command("list", "--roots", "--json")[1])["sources"]] == [str(vault), BOX]


@pytest.mark.parametrize("name", [BOX, "box", "box/"])
def test_remove_by_any_name(command: Command, engine: Engine, vault: Path, name: str) -> None:
    assert command("remove", name)[:2] == (0, "removed 2\n")
    assert engine.status()["roots"] == [str(vault)]


def test_remove_of_what_there_is_not(command: Command) -> None:
    code, _, err = command("remove", "made:bax")
    assert code == 1
    assert "no document, folder or address called 'made:bax'" in err
    assert f"did you mean '{BOX}'?" in err


def test_places_are_not_for_other_machines(engine: Engine, vault: Path, box: Any) -> None:
    engine.sync([vault, BOX])
    service = Service(engine)
    for shown in (service.status(OWNER), service.status(EVERYONE, local=True)):
        assert [one["root"] for one in shown["sources"]] == [str(vault), BOX]
    elsewhere = service.status(EVERYONE)
    assert str(vault) not in json.dumps(elsewhere)
    assert [one["root"] for one in elsewhere["sources"]] == ["vault", "box"]


@pytest.mark.parametrize(
    ("root", "shown"),
    [
        ("https://example.org/docs/", True),
        ("git+https://example.org/x@v1", True),
        ("pypi:requests", True),
        ("git+/home/ada/x", False),
        ("https://ada:secret@example.org/", False),
        ("file:///home/ada", False),
        ("C:\\ada", False),
    ],
)
def test_which_addresses_anyone_may_know(root: str, shown: bool) -> None:
    found = _without_place({"root": root, "name": "x", "problem": "no route to 10.0.0.1"})
    assert found == {"root": root if shown else "x", "name": "x", "problem": None}


def test_hidden_documents_are_not_counted(engine: Engine, write: Callable[[dict[str, str]], Path]) -> None:
    pages = {"a.md": "# A\n", "b.md": '---\n"@audience": [ada]\n---\n# B\n'}
    engine.sync([write(pages)])
    counted = [engine.status(viewer)["sources"][0]["documents"] for viewer in (None, OWNER, EVERYONE)]
    assert counted[:2] == [2, 2]
    assert counted[2] == engine.status(EVERYONE)["documents"] == 1


@pytest.mark.server
def test_over_rest(engine: Engine, vault: Path, box: Any) -> None:
    engine.sync([vault, BOX])
    with served(engine) as site:
        found = site.ask("/api/status").json()["sources"]
    assert [(one["kind"], one["documents"], one["overdue"], one["problem"]) for one in found] == [
        ("folder", 4, False, None),
        ("made", 2, False, None),
    ]


@pytest.mark.parametrize(
    ("moment", "text"),
    [(None, "never as a whole"), ("2020-01-01T00:00:00+00:00", "days ago"), ("2999-01-01T00:00:00+00:00", "just now")],
)
def test_ages_as_people_say_them(moment: str | None, text: str) -> None:
    assert ago(moment).endswith(text)
