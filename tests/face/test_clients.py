"""Entries in other programs' settings: nothing else in the file changes, and what was put in comes out again."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.errors import ConfigError
from watersmeet.face.clients import json_entry, toml_entry
from watersmeet.face.clients.changes import BACKUP, install_changes, uninstall_changes, write
from watersmeet.face.clients.json_entry import CannotEdit
from watersmeet.face.clients.places import CLIENTS, client, settings_file, skill_file
from watersmeet.face.clients.skill import MARK, skill

ENTRY = {"command": "/bin/watersmeet", "args": ["mcp", "--in", "/docs"]}
OTHER = {"command": "npx", "args": ["-y", "thing"], "env": {"KEY": "é\n"}}

names = st.text(min_size=1, max_size=8).filter(lambda name: name not in ("servers", "watersmeet"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.dictionaries(names, values, max_size=4),
    st.none() | st.dictionaries(names, values, max_size=3),
    st.sampled_from([None, 2, 4, "\t"]),
    st.booleans(),
)
def test_json_comes_out_as_it_went_in(
    top: dict[str, Any], servers: dict[str, Any] | None, indent: Any, last: bool
) -> None:
    whole = top if servers is None else {**top, "servers": servers} if last else {"servers": servers, **top}
    text = json.dumps(whole, indent=indent, ensure_ascii=False) + "\n"
    put = json_entry.put(text, "servers", "watersmeet", ENTRY)
    expected = {**whole, "servers": {**(servers or {}), "watersmeet": ENTRY}}
    assert json.loads(put) == expected
    assert list(json.loads(put)) == list(expected)
    assert json_entry.put(put, "servers", "watersmeet", ENTRY) == put
    assert json_entry.remove(put, "servers", "watersmeet", servers is not None).split() == text.split()


def test_json_keeps_what_else_an_entry_says() -> None:
    text = '{"mcpServers": {"watersmeet": {"command": "old", "args": [], "env": {"A": "1"}}, "b": {}}}'
    put = json_entry.put(text, "mcpServers", "watersmeet", ENTRY)
    assert json.loads(put)["mcpServers"] == {"watersmeet": {**ENTRY, "env": {"A": "1"}}, "b": {}}
    assert put.endswith(', "b": {}}}')


@pytest.mark.parametrize(
    "text", ["[1]", '{"servers": []}', "// mine\n{}", '{"a": 1,}', "{", '{"a": 1, "a": 2}', "\ufeff{}"]
)
def test_json_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        json_entry.put(text, "servers", "watersmeet", ENTRY)


TOML = """# my settings
model = "o4"  # the best

[mcp_servers.other] # do not touch
command = "npx"
args = [
  "-y", # yes
  "thing",
]

# what follows is about history
[history]
persistence = "none"
"""


@pytest.mark.parametrize("text", ["", "a = 1\n", TOML, TOML + "\n\n", 'x = """\n[mcp_servers.watersmeet]\n"""\n'])
def test_toml_comes_out_as_it_went_in(text: str) -> None:
    put = toml_entry.put(text, "mcp_servers", "watersmeet", ENTRY)
    assert put.startswith(text)
    assert tomllib.loads(put)["mcp_servers"]["watersmeet"] == ENTRY
    assert toml_entry.put(put, "mcp_servers", "watersmeet", ENTRY) == put
    if '"""' in text:
        return  # refused rather than mistaken
    assert toml_entry.remove(put, "mcp_servers", "watersmeet", False).rstrip() == text.rstrip()


def test_toml_in_the_middle_and_with_more_in_it() -> None:
    block = '[mcp_servers."watersmeet"]\nargs = [\n  "old", # it\n]\nstartup_timeout_sec = 30 # slow\ncommand = "old"\n'
    rest = TOML[TOML.index("[") :]
    text = f"{block}\n[mcp_servers.watersmeet.env]\nA = '1'\n\n{rest}"
    put = toml_entry.put(text, "mcp_servers", "watersmeet", ENTRY)
    assert tomllib.loads(put)["mcp_servers"]["watersmeet"] == {**ENTRY, "startup_timeout_sec": 30, "env": {"A": "1"}}
    assert "# slow\n" in put
    assert put.endswith(rest)
    assert toml_entry.remove(put, "mcp_servers", "watersmeet", False) == rest


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { watersmeet = { command = 'x' } }\n",
        "mcp_servers = { other = { command = 'x' } }\n",
        "[mcp_servers]\nwatersmeet.command = 'x'\n",
        "a = \n",
    ],
)
def test_toml_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        toml_entry.put(text, "mcp_servers", "watersmeet", ENTRY)


HEADERS = ["[history]", "[mcp_servers.other]", "[ mcp_servers . 'b c' ] # odd", "[mcp_servers.other.env]", "[[list]]"]
STATEMENTS = st.lists(
    st.sampled_from(["a = 1", "b = 'x' # note", "c = [\n  1, # one\n]", "e.f = {g=1}"]), unique=True, max_size=3
)
FILLING = st.lists(st.sampled_from(["", "# about it", "  # more", "\t"]), max_size=3)
TABLES = st.tuples(FILLING, st.sampled_from(HEADERS), STATEMENTS, FILLING)


@given(FILLING, STATEMENTS, st.lists(TABLES, unique_by=lambda table: table[1], max_size=5), st.integers(0, 5))
def test_any_order_of_tables_comes_out_as_it_went_in(
    head: list[str], first: list[str], tables: list[tuple[list[str], str, list[str], list[str]]], at: int
) -> None:
    """Tables of a container may stand far apart, as TOML allows: ours is appended, so they often do."""
    blocks = ["\n".join([*before, header, *body, *after, ""]) for before, header, body, after in tables]
    text = "\n".join([*head, *first, ""]) + "".join(blocks)
    put = toml_entry.put(text, "mcp_servers", "watersmeet", ENTRY)
    assert put.startswith(text)
    assert tomllib.loads(put)["mcp_servers"]["watersmeet"] == ENTRY
    assert toml_entry.remove(put, "mcp_servers", "watersmeet", False).rstrip() == text.rstrip()

    block = "[mcp_servers.watersmeet] # ours\nargs = []\n[mcp_servers.watersmeet.env]\nA = '1'\n"
    among = "\n".join([*head, *first, ""]) + "".join([*blocks[:at], block, *blocks[at:]])
    changed = toml_entry.put(among, "mcp_servers", "watersmeet", ENTRY)
    assert tomllib.loads(changed)["mcp_servers"]["watersmeet"] == {**ENTRY, "env": {"A": "1"}}
    taken = toml_entry.remove(changed, "mcp_servers", "watersmeet", False)
    assert taken.split() == text.split()


BEFORE = {
    "claude-code": '{\n  "mcpServers": {\n    "other": {"command": "npx", "args": ["-y"]}\n  },\n  "z": 1\n}\n',
    "cursor": '{"mcpServers": {}}',
    "vscode": '{\n\t"inputs": [],\n\t"servers": {\n\t\t"other": {"command": "npx"}\n\t}\n}',
    "codex": TOML,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("lines", ["\n", "\r\n"])
def test_uninstall_leaves_a_file_as_it_was(tmp_path: Path, name: str, scope: str, lines: str) -> None:
    of, project = client(name), tmp_path / "project"
    path = Path(settings_file(of, scope, str(project)))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = BEFORE[name].replace("\n", lines)
    path.write_bytes(text.encode())
    path.chmod(0o600)
    made = install_changes(of, scope, str(project), "watersmeet", ENTRY, skill("watersmeet", "watersmeet", "", "it"))
    assert [change.action for change in made] == ["change", "create"]
    assert path.read_bytes() == text.encode()  # planned is not done
    write(made, str(project))
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}{BACKUP}").read_bytes() == text.encode()
    again = install_changes(of, scope, str(project), "watersmeet", ENTRY, skill("watersmeet", "watersmeet", "", "it"))
    assert [change.action for change in again] == ["none", "none"]
    write(uninstall_changes(of, scope, str(project), "watersmeet"), str(project))
    assert path.read_bytes() == text.encode()
    assert not Path(f"{path}{BACKUP}").exists()
    assert not Path(skill_file(of, scope, str(project), "watersmeet")).exists()


@pytest.mark.parametrize("name", CLIENTS)
def test_uninstall_leaves_nothing_where_nothing_was(tmp_path: Path, name: str) -> None:
    of, project = client(name), tmp_path / "project"
    project.mkdir()
    write(install_changes(of, "project", str(project), "watersmeet", ENTRY, skill("w", "w", "", "it")), str(project))
    assert Path(settings_file(of, "project", str(project))).exists()
    write(uninstall_changes(of, "project", str(project), "watersmeet"), str(project))
    assert list(project.iterdir()) == []
    assert [change.action for change in uninstall_changes(of, "project", str(project), "watersmeet")] == ["none"]


def test_what_was_added_meanwhile_stays(tmp_path: Path) -> None:
    of, path = client("cursor"), tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"a": {}}}')
    write(install_changes(of, "project", str(tmp_path), "watersmeet", ENTRY), str(tmp_path))
    held = json.loads(path.read_text())
    held["mcpServers"]["b"] = OTHER
    path.write_text(json.dumps(held))
    write(uninstall_changes(of, "project", str(tmp_path), "watersmeet"), str(tmp_path))
    assert json.loads(path.read_text()) == {"mcpServers": {"a": {}, "b": OTHER}}
    assert Path(f"{path}{BACKUP}").exists()


def test_a_skill_of_ones_own_is_kept(tmp_path: Path) -> None:
    of = client("claude-code")
    path = Path(skill_file(of, "project", str(tmp_path), "watersmeet"))
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    write(uninstall_changes(of, "project", str(tmp_path), "watersmeet"), str(tmp_path))
    assert path.read_text() == "mine"
    write(install_changes(of, "project", str(tmp_path), "watersmeet", ENTRY, skill("w", "w", "", "it")), str(tmp_path))
    assert MARK in path.read_text()
    write(uninstall_changes(of, "project", str(tmp_path), "watersmeet"), str(tmp_path))
    assert path.read_text() == "mine"


def test_a_link_is_followed_and_no_half_file_is_left(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / ".mcp.json"
    real.write_text("{}")
    link.symlink_to(real)
    write(install_changes(client("claude-code"), "project", str(tmp_path), "watersmeet", ENTRY), str(tmp_path))
    assert link.is_symlink()
    assert json.loads(real.read_text()) == {"mcpServers": {"watersmeet": ENTRY}}
    assert sorted(os.listdir(tmp_path)) == sorted([".mcp.json", f".mcp.json{BACKUP}", "dotfiles.json", "home"])


def test_a_file_that_cannot_be_changed_safely_gets_the_text_to_paste(tmp_path: Path) -> None:
    path = tmp_path / ".vscode" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "servers": {}\n}\n')
    with pytest.raises(ConfigError, match="comments") as caught:
        install_changes(client("vscode"), "project", str(tmp_path), "watersmeet", ENTRY)
    assert '"watersmeet": {' in caught.value.hint
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        install_changes(client("vscode"), "project", str(tmp_path), "watersmeet", ENTRY)


def test_where_codex_is_told_to_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_file(client("codex"), "user", ".").endswith("/home/.codex/config.toml")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert settings_file(client("codex"), "user", ".") == str(tmp_path / "codex" / "config.toml")
