"""Opening results: a real program gets the file and the line, and nothing from a document becomes an option."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.place import Place
from watersmeet.engine.settings.settings import editor
from watersmeet.face.cli.open_with import (
    LINE_FORMS,
    Target,
    command,
    file_address,
    obsidian_address,
    vault_of,
    web_address,
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]

FILE = "/v/a b.md"
AT_12 = Target(FILE, Place((12, 20)))


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ("vim", ["vim", "+12", FILE]),
        ("/usr/bin/nvim -p", ["/usr/bin/nvim", "-p", "+12", FILE]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+12", FILE]),
        ("code --wait", ["code", "--wait", "-g", f"{FILE}:12"]),
        ("hx", ["hx", f"{FILE}:12"]),
        ("subl", ["subl", f"{FILE}:12"]),
        ("idea", ["idea", "--line", "12", FILE]),
        ("mine", ["mine", FILE]),
        ("mine --at={line} {file}", ["mine", "--at=12", FILE]),
        ("'/my apps/ed' {file}", ["/my apps/ed", FILE]),
    ],
)
def test_editors_get_the_line_as_they_take_it(written: str, arguments: list[str]) -> None:
    assert command(written, AT_12) == arguments


def test_every_form_has_file_and_line() -> None:
    for form in LINE_FORMS.values():
        assert "{file}" in " ".join(form)
        assert "{line}" in " ".join(form)


def test_a_path_is_filled_in_once() -> None:
    odd = Target("/v/{line}{file}.md", Place((3, 3)))
    assert command("ed {file}:{line}", odd) == ["ed", "/v/{line}{file}.md:3"]
    assert command("vim", Target(FILE, Place())) == ["vim", "+1", FILE]


@pytest.mark.parametrize("written", ["", "  ", "'unclosed"])
def test_an_editor_that_cannot_be_started_is_an_error(written: str) -> None:
    with pytest.raises(ConfigError):
        command(written, AT_12)


def test_addresses() -> None:
    page = Target("https://example.org/a b?x=1#old", Place(anchor="in stall"))
    assert web_address(page) == "https://example.org/a%20b?x=1#in%20stall"
    assert web_address(Target("https://example.org/#top", Place())) == "https://example.org/#top"
    assert file_address(Target("/v/r e.pdf", Place(pages=(3, 4)))) == "file:///v/r%20e.pdf#page=3"
    assert file_address(Target("/v/p.html", Place(anchor="a b"))) == "file:///v/p.html#a%20b"
    assert file_address(Target("/v/t.docx", Place())) == "file:///v/t.docx"


def test_a_vault_is_the_folder_with_the_settings_of_obsidian(tmp_path: Path) -> None:
    vault = tmp_path / "My & vault"
    (vault / ".obsidian").mkdir(parents=True)
    note = str(vault / "sub" / "No?te.md")
    assert vault_of(note) == str(vault)
    assert vault_of(str(vault / "a.pdf")) == vault_of(str(tmp_path / "a.md")) == ""
    address = obsidian_address(Target(note, Place((3, 4)), headings=("Top", "Part #1")), str(vault))
    assert address == "obsidian://open?vault=My%20%26%20vault&file=sub%2FNo%3Fte%23Part%20%231"


def test_the_editor_is_that_of_other_programs() -> None:
    assert editor({"EDITOR": "vi", "VISUAL": "code"}) == "code"
    assert editor({"EDITOR": "vi", "VISUAL": ""}) == "vi"
    assert editor({}) == ""


# ---------------------------------------------------------------- real programs


@pytest.fixture
def desk(tmp_path: Path) -> dict[str, Any]:
    """Programs that write down their arguments, first on PATH."""
    folder, noted = tmp_path / "bin", tmp_path / "noted.json"
    folder.mkdir()
    for name in ("vim", "code", "xdg-open", "open", "fails"):
        script = f"#!/bin/sh\nfor one in {name} \"$@\"; do printf '%s\\n' \"$one\"; done > '{noted}'\n"
        (folder / name).write_text(script + ("exit 3\n" if name == "fails" else ""))
        (folder / name).chmod(0o755)
    environ = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "EDITOR": "", "VISUAL": ""}
    return {"environ": environ, "noted": lambda: noted.read_text().splitlines() if noted.exists() else []}


@pytest.mark.slow
def test_a_result_is_opened_at_its_line(run: Run, synced: Path, desk: dict[str, Any]) -> None:
    environ = desk["environ"] | {"EDITOR": "vim"}
    done = run("search", "upgrade header of the proxy", "--open", **environ)
    assert done.returncode == 0
    assert "Setup > Ports > Behind a proxy" in done.stdout  # it is printed too
    assert desk["noted"]() == ["vim", "+19", f"{synced}/guides/setup.md"]
    run("search", "--open", "expired keys", **environ | {"VISUAL": "code -w"})  # before the query
    program, flag, goto, place = desk["noted"]()
    assert (program, flag, goto) == ("code", "-w", "-g")
    assert place.startswith(f"{synced}/guides/keys.md:")


@pytest.mark.slow
def test_the_number_is_that_of_the_output(run: Run, desk: dict[str, Any]) -> None:
    environ = desk["environ"] | {"EDITOR": "vim"}
    printed = run("search", "keys", "-n", "3", "--open", "2", **environ).stdout.splitlines()
    place = printed[next(n for n, line in enumerate(printed) if line.startswith("2. ")) + 1].split()[0]
    assert ":".join([desk["noted"]()[2], desk["noted"]()[1].strip("+")]).endswith(place)
    listed = json.loads(run("search", "keys", "--json", "--open", "3", **environ).stdout)["results"][2]
    assert desk["noted"]() == ["vim", f"+{listed['lines'][0]}", listed["path"]]
    missing = run("search", "keys", "-n", "1", "--open", "2", **environ)
    assert missing.returncode == 2
    assert "there is no result 2 to open: only 1 result" in missing.stderr


@pytest.mark.slow
def test_get_opens_a_document(run: Run, synced: Path, desk: dict[str, Any]) -> None:
    environ = desk["environ"] | {"EDITOR": "vim"}
    done = run("get", "guides/setup.md", "--open", **environ)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert desk["noted"]() == ["vim", "+1", f"{synced}/guides/setup.md"]
    run("get", "guides/setup.md:19", "--open", **environ)
    assert desk["noted"]()[1] == "+19"


@pytest.mark.slow
def test_notes_in_a_vault_open_in_obsidian(run: Run, fresh: Path, desk: dict[str, Any]) -> None:
    (fresh / ".obsidian").mkdir()
    (fresh / "-rf.md").write_text("# Dash\n\nA name like an option: WHARF-7.\n")
    run("sync", ".", "--quiet", cwd=fresh)
    run("search", "WHARF-7", "--open", cwd=fresh, **desk["environ"])
    assert desk["noted"]() == ["xdg-open", "obsidian://open?vault=vault&file=-rf%23Dash"]
    run(
        "search",
        "WHARF-7",
        "--open",
        cwd=fresh,
        **desk["environ"] | {"EDITOR": "vim", "WATERSMEET__OPEN__PROGRAM": "obsidian"},
    )
    assert desk["noted"]()[0] == "xdg-open"
    run("search", "WHARF-7", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "vim"})
    assert desk["noted"]() == ["vim", "+1", f"{fresh}/-rf.md"]  # absolute: no option


@pytest.mark.slow
def test_a_folder_cannot_name_the_program(run: Run, fresh: Path, desk: dict[str, Any]) -> None:
    (fresh / "watersmeet.toml").write_text('[open]\nprogram = "fails {file}"\n')
    run("sync", ".", "--quiet", cwd=fresh)
    done = run("search", "keys", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "vim"})
    assert desk["noted"]()[0] == "vim"
    assert "ignored: open.program" in done.stderr


@pytest.mark.slow
def test_what_cannot_be_opened_is_said(run: Run, fresh: Path, desk: dict[str, Any]) -> None:
    run("sync", ".", "--quiet", cwd=fresh)
    failed = run("get", "guides/setup.md", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "fails"})
    assert (failed.returncode, "fails ended with 3" in failed.stderr) == (2, True)
    absent = run("get", "guides/setup.md", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "no-such-editor"})
    assert (absent.returncode, "there is no program 'no-such-editor'" in absent.stderr) == (2, True)
    (fresh / "guides" / "setup.md").unlink()
    gone = run("get", "guides/setup.md", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "vim"})
    assert gone.returncode == NotFound.exit_code
    assert "no longer exists" in gone.stderr
    (fresh / "s.json").write_text(
        json.dumps({"path": "/etc/passwd", "name": "pier", "description": "Piers", "tools": []})
    )
    run("register", "s.json", "--quiet", cwd=fresh)
    entity = run("get", "/etc/passwd", "--open", cwd=fresh, **desk["environ"] | {"EDITOR": "vim"})
    assert (entity.returncode, "is not a file that can be opened" in entity.stderr) == (2, True)
