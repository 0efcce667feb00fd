"""Closed streams, other encodings than UTF-8, and documents that would command a terminal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import START
from terminals import on_a_terminal
from watersmeet.face.cli.streams import one_line, visible

Run = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTILE = "\x1b]0;pwned\x07 \x1b[2J \u009b2J \u202egpj.exe\u2069"
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b\x07]*\x1b\\")
BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def closed(redirected: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Start the command by a shell that closes streams: `>&-` and the like."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", sys.executable, "-c", START, *arguments],
        cwd=cwd,
        env={**os.environ, "WATERSMEET__INDEX__VECTORS": "false"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["search", "keys", "--json"], ["list"], ["get", "guides/keys.md"], ["--help"]])
def test_output_that_is_closed_is_an_error_in_a_sentence(synced: Path, arguments: list[str]) -> None:
    done = closed(">&-", *arguments, cwd=synced)
    message, hint = done.stderr.splitlines()
    assert (done.returncode, message[:12], hint[:8]) == (2, "watersmeet: ", "  hint: ")
    assert "unexpected" not in message


@pytest.mark.slow
def test_much_output_that_is_closed_is_said_once(run: Run, synced: Path, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("# Long\n\n" + "many words about tides " * 5000)
    assert run("sync", ".", "--quiet", cwd=tmp_path).returncode == 0
    done = closed(">&-", "get", "long.md", cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)
    assert "is closed" in done.stderr


@pytest.mark.slow
def test_nothing_to_say_needs_no_output(fresh: Path) -> None:
    done = closed(">&- 2>&- <&-", "sync", ".", "--quiet", cwd=fresh)
    assert done.returncode == 0
    assert closed("2>&- <&-", "list", cwd=fresh).stdout.count("\n") == 9


@pytest.mark.slow
def test_a_mistake_is_one_with_nobody_to_tell(synced: Path) -> None:
    done = closed("2>&-", "search", "keys", "--mode", "zz", cwd=synced)
    assert (done.returncode, done.stdout) == (2, "")
    assert closed("2>&-", "search", "keys", cwd=synced).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("redirected", ["<&-", ">&-"])
def test_mcp_needs_its_streams(synced: Path, redirected: str) -> None:
    done = closed(redirected, "mcp", cwd=synced)
    assert done.returncode == 2
    assert "is closed" in done.stderr
    assert "hint: let the agent's program start" in done.stderr


@pytest.mark.slow
def test_input_that_is_closed_is_said(tmp_path: Path) -> None:
    done = closed("<&-", "register", "-", cwd=tmp_path)
    assert (done.returncode, "is closed" in done.stderr) == (2, True)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents that not every encoding can write, and that hold what a terminal would obey."""
    vault = tmp_path_factory.mktemp("foreign")
    (vault / "a-arrow.md").write_text("# Größe → 漢字\n\nThe flamingo said “ja” → 漢字.\n", "utf8")
    (vault / "hostile.md").write_text(f"# Bad {HOSTILE} title\n\nThe heron {HOSTILE} waits.\n", "utf8")
    (vault / "na\nme\t\x1b[2J.md").write_text("# Two\n\nThe pelican waits.\n", "utf8")
    (vault / "z-plain.md").write_text("# Last\n\nThe end.\n", "utf8")
    assert closed("", "sync", ".", "--quiet", cwd=vault).returncode == 0
    return vault


@pytest.mark.slow
@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "latin-1"},
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
    ],
    ids=str,
)
def test_what_an_encoding_cannot_write_is_replaced(foreign: Path, environ: dict[str, str]) -> None:
    def bytes_of(*arguments: str) -> bytes:
        done = subprocess.run(
            [sys.executable, "-c", START, *arguments],
            cwd=foreign,
            env={**os.environ, "WATERSMEET__INDEX__VECTORS": "false", **environ},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert b"? ??." in bytes_of("search", "flamingo")
    assert b"z-plain.md" in bytes_of("list")
    found = json.loads(bytes_of("search", "flamingo", "--json").decode("ascii"))["results"][0]
    assert (found["title"], "→ 漢字" in found["text"]) == ("Größe → 漢字", True)


COMMANDS = [
    ["search", "heron"],
    ["search", "heron", "--explain"],
    ["search", "heron", "--format", "markdown"],
    ["search", "heron", "--budget", "200"],
    ["get", "hostile.md"],
    ["list"],
    ["list", "--format", "markdown"],
    ["inspect", "hostile.md"],
]


@pytest.mark.slow
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_documents_do_not_command_a_terminal(foreign: Path, arguments: list[str]) -> None:
    done = closed("", *arguments, cwd=foreign)
    assert CONTROLS.findall(done.stdout + done.stderr) == []
    assert "\u241b]0;pwned\u2407 \u241b[2J \ufffd2J u202egpj.exeu2069" in done.stdout.replace("\\", "")
    drawn = OURS.sub("", on_a_terminal(*arguments, cwd=foreign, columns=100)).replace("\r\n", "\n")
    assert CONTROLS.findall(drawn) == []
    assert "\u241b]0;pwned" in drawn.replace("\\", "")


@pytest.mark.slow
def test_our_own_colours_stay(foreign: Path) -> None:
    assert "\x1b[1;33mheron\x1b[0m \u241b]0;pwned" in on_a_terminal("search", "heron", cwd=foreign, columns=100)
    assert "\x1b[1mdocument" in on_a_terminal("list", cwd=foreign, columns=100)


@pytest.mark.slow
def test_a_file_name_cannot_break_a_line(foreign: Path) -> None:
    listed = closed("", "list", cwd=foreign).stdout.splitlines()
    assert [line.count("\t") for line in listed] == [4, 4, 4, 4]
    assert listed[2].startswith("na\u240ame\u2409\u241b[2J.md\tdocument\tTwo\t")
    assert closed("", "search", "pelican", cwd=foreign).stdout.splitlines()[1].startswith("   na\u240ame\u2409")
    assert "\n    na\u240ame\u2409\u241b[2J.md:1" in OURS.sub(
        "", on_a_terminal("search", "pelican", cwd=foreign, columns=100)
    )
    assert closed("", "get", "Two", cwd=foreign).stdout.splitlines()[1] == "na\u240ame\u2409\u241b[2J.md"


@pytest.mark.slow
def test_json_says_what_is_there(foreign: Path) -> None:
    said = closed("", "search", "heron", "--json", cwd=foreign).stdout
    assert CONTROLS.findall(said) == []
    assert json.loads(said)["results"][0]["text"] == f"The heron {HOSTILE} waits."


def test_what_turns_a_line_around_is_shown_and_marks_of_other_scripts_stay() -> None:
    turning = "".join(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
    assert visible(turning) == one_line(turning) == "".join(f"\\u{ord(one):04x}" for one in turning)
    marks = "\u200e\u200f\u061c"
    assert visible(marks) == marks


@pytest.mark.slow
def test_styles_stay_where_they_are_behind_an_escape(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A \u202efdp.exe\n\nNamed \u2066\u202e then flamingo.\n", "utf8")
    assert closed("", "sync", ".", "--quiet", cwd=tmp_path).returncode == 0
    drawn = on_a_terminal("search", "flamingo", cwd=tmp_path, columns=100)
    assert "Named \\u2066\\u202e then \x1b[1;33mflamingo\x1b[0m." in drawn
    assert BIDI_CONTROLS.search(drawn) is None


@given(st.text())
def test_only_control_characters_are_replaced(text: str) -> None:
    shown = visible(text)
    assert CONTROLS.findall(shown.replace("\r\n", "\n")) == []
    shown = re.sub(r"\\u20[26][0-9a-e]", "?", shown) if BIDI_CONTROLS.search(text) else shown
    assert len(shown) == len(text)
    assert all(a == b or CONTROLS.match(a) for a, b in zip(text, shown, strict=True))
    assert not set(one_line(text)) & set("\n\r\t")
