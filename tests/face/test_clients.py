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

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN_WORDS = {"watersmeet", "w", ">", "no_good_match", "failures", "tag", "kind", "path", "install", "uninstall"}

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
    "text",
    [
        "[1]",
        '{"servers": []}',
        "{",
        '{"a": 1, "a": 2}',
        "\ufeff{}",
        '{"servers": {"a": {}, "a": {}}}',
        "{ /* open }",
        '{"a": 1,, "b": 2}',
        "{'a': 1}",
        '{"a": //',
    ],
)
def test_json_that_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        json_entry.put(text, "servers", "watersmeet", ENTRY)


COMMENTED = [
    "// mine\n{}\n",
    '{"a": 1,}',
    '// Zed settings\n//\n{\n  "theme": "One", // nice\n  /* a\n block */\n  "size": 12,\n}\n',
    '{\n  "a": 1, // c\n  "servers": {\n    // none yet\n  }\n}\n',
    '{\n  "servers": {\n    "x": {"command": "y"}, // about x\n    // tail\n  },\n  "b": [1, 2,], // http://x\n}',
    '{\n  "servers": {\n    "x": {"command": "y"} // about x\n  }\n}',
    '{\n  "servers": {\n    "x": {} /* about x */ ,\n    /* and */ "y": {}\n  }\n}',
    '{\n  "a": "// no comment, [1,]",\n  "servers": {},\n}\n',
    '{\n\t"a": 1\n\t// end\n}\n',
]


@pytest.mark.parametrize("text", COMMENTED)
def test_json_with_comments_comes_out_as_it_went_in(text: str) -> None:
    put = json_entry.put(text, "servers", "watersmeet", ENTRY)
    assert json_entry.entry_of(put, "servers", "watersmeet") == ENTRY
    kept = [line.partition("//")[2] for line in text.splitlines() if "//" in line]
    assert all(comment in put for comment in kept)
    assert json_entry.put(put, "servers", "watersmeet", ENTRY) == put
    taken = json_entry.remove(put, "servers", "watersmeet", json_entry.has(text, "servers"))
    assert taken.split() == text.split()


PIECES = st.lists(
    st.sampled_from(["\n", " ", '  // note, "a": {}\n', "/* b, } */", "\n\t", "/* two\n lines */"]), max_size=3
).map("".join)


@given(st.dictionaries(names, values, max_size=3), st.none() | st.dictionaries(names, values, max_size=2), st.data())
def test_any_comments_stay(top: dict[str, Any], servers: dict[str, Any] | None, data: st.DataObject) -> None:
    """Comments and spaces anywhere between the parts of an object; nothing else of it changes."""

    def between() -> str:
        return data.draw(PIECES)

    def written(value: Any, deep: bool) -> str:
        if not isinstance(value, dict) or not deep:
            return json.dumps(value)
        members = [
            f"{between()}{json.dumps(k)}{between()}:{between()}{written(v, k == 'servers')}" for k, v in value.items()
        ]
        trailing = "," if members and data.draw(st.booleans()) else ""
        return "{" + f"{between()},".join(members) + between() + trailing + between() + "}"

    whole = top if servers is None else {**top, "servers": servers}
    text = between() + written(whole, True) + between()
    put = json_entry.put(text, "servers", "watersmeet", ENTRY)
    assert json.loads(json_entry.plain(put)) == {**whole, "servers": {**(servers or {}), "watersmeet": ENTRY}}
    taken = json_entry.remove(put, "servers", "watersmeet", servers is not None)
    assert json.loads(json_entry.plain(taken)) == whole
    assert text.count("note") == put.count("note") == taken.count("note")


def test_json_below_two_keys() -> None:
    text = '{\n  "mcp": {\n    "servers": {\n      "other": {"type": "local"}\n    }\n  }\n}\n'
    put = json_entry.put(text, "mcp.servers", "watersmeet", ENTRY)
    assert json.loads(put)["mcp"]["servers"]["watersmeet"] == ENTRY
    assert json_entry.remove(put, "mcp.servers", "watersmeet", True) == text
    assert json.loads(json_entry.put("{}", "mcp.servers", "a", ENTRY)) == {"mcp": {"servers": {"a": ENTRY}}}
    with pytest.raises(CannotEdit, match=r"mcp\.servers"):
        json_entry.put('{"mcp": {"servers": 1}}', "mcp.servers", "a", ENTRY)


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
    "claude-desktop": '{\n  "globalShortcut": "",\n  "mcpServers": {\n    "fs": {"command": "npx"}\n  }\n}',
    "windsurf": '{"mcpServers": {"github": {"serverUrl": "https://example.com/mcp"}}}\n',
    "zed": '// Zed settings\n{\n  "theme": "One Dark", // mine\n  "context_servers": {\n    // later\n  },\n}\n',
    "gemini": '{\n  "theme": "Default",\n  "selectedAuthType": "oauth-personal"\n}\n',
    "cline": '{\n  "mcpServers": {\n    "a": {"command": "npx", "disabled": false, "autoApprove": []}\n  }\n}\n',
    "opencode": '{\n  "$schema": "https://opencode.ai/config.json", // https://\n  "mcp": {\n    "a": {\n      "type": '
    '"local",\n      "command": ["x"],\n    },\n  },\n}\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("lines", ["\n", "\r\n"])
def test_uninstall_leaves_a_file_as_it_was(tmp_path: Path, name: str, scope: str, lines: str) -> None:
    of, project = client(name), tmp_path / "project"
    if scope not in of.settings:
        with pytest.raises(ConfigError, match="has no settings"):
            settings_file(of, scope, str(project))
        return
    path = Path(settings_file(of, scope, str(project)))
    path.parent.mkdir(parents=True, exist_ok=True)
    text = BEFORE[name].replace("\n", lines)
    path.write_bytes(text.encode())
    path.chmod(0o600)
    made = install_changes(of, scope, str(project), "watersmeet", ENTRY, skill("watersmeet", "watersmeet", "", "it"))
    assert [change.action for change in made] == ["change", "create"][: 1 + bool(of.skills)]
    assert path.read_bytes() == text.encode()  # planned is not done
    write(made, str(project))
    assert path.stat().st_mode & 0o777 == 0o600
    assert Path(f"{path}{BACKUP}").read_bytes() == text.encode()
    again = install_changes(of, scope, str(project), "watersmeet", ENTRY, skill("watersmeet", "watersmeet", "", "it"))
    assert {change.action for change in again} == {"none"}
    write(uninstall_changes(of, scope, str(project), "watersmeet"), str(project))
    assert path.read_bytes() == text.encode()
    assert not Path(f"{path}{BACKUP}").exists()
    assert not of.skills or not Path(skill_file(of, scope, str(project), "watersmeet")).exists()


@pytest.mark.parametrize("name", CLIENTS)
def test_uninstall_leaves_nothing_where_nothing_was(tmp_path: Path, name: str) -> None:
    of, project, home = client(name), tmp_path / "project", tmp_path / "home"
    project.mkdir()
    for scope in of.settings:
        before = sorted(home.rglob("*"))
        write(install_changes(of, scope, str(project), "watersmeet", ENTRY, skill("w", "w", "", "it")), str(project))
        assert Path(settings_file(of, scope, str(project))).exists()
        write(uninstall_changes(of, scope, str(project), "watersmeet"), str(project))
        assert list(project.iterdir()) == []
        assert sorted(home.rglob("*")) == before
        assert [change.action for change in uninstall_changes(of, scope, str(project), "watersmeet")] == ["none"]


@pytest.mark.parametrize("name", [name for name in CLIENTS if name != "codex"])
@pytest.mark.parametrize("text", ["{", '{"KEY": ', "[]", '{"KEY": 1}', "\x00"])
def test_a_broken_file_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    of, project = client(name), tmp_path / "project"
    path = Path(settings_file(of, of.usual, str(project)))
    path.parent.mkdir(parents=True)
    path.write_text(text.replace("KEY", of.container))
    with pytest.raises(ConfigError, match="is left as it is") as caught:
        install_changes(of, of.usual, str(project), "watersmeet", of.entry("/bin/watersmeet", ["mcp"]))
    assert '"watersmeet": {' in caught.value.hint
    assert path.read_text() == text.replace("KEY", of.container)


ENTRIES = {
    "claude-code": {"type": "stdio", "command": "/w", "args": ["mcp"]},
    "vscode": {"type": "stdio", "command": "/w", "args": ["mcp"]},
    "opencode": {"type": "local", "command": ["/w", "mcp"], "enabled": True},
}
PLACES = {
    "linux": {
        "claude-desktop": "home/config/Claude/claude_desktop_config.json",
        "vscode": "home/config/Code/User/mcp.json",
        "windsurf": "home/.codeium/windsurf/mcp_config.json",
        "zed": "home/config/zed/settings.json",
        "gemini": "home/.gemini/settings.json",
        "cline": "home/.cline/data/settings/cline_mcp_settings.json",
        "opencode": "home/config/opencode/opencode.json",
    },
    "darwin": {
        "claude-desktop": "home/Library/Application Support/Claude/claude_desktop_config.json",
        "vscode": "home/Library/Application Support/Code/User/mcp.json",
        "zed": "home/config/zed/settings.json",
        "opencode": "home/config/opencode/opencode.json",
    },
    "win32": {
        "claude-desktop": "home/AppData/Roaming/Claude/claude_desktop_config.json",
        "vscode": "home/AppData/Roaming/Code/User/mcp.json",
        "zed": "home/AppData/Roaming/Zed/settings.json",
        "opencode": "home/config/opencode/opencode.json",
    },
}


@pytest.mark.parametrize("system", PLACES)
def test_each_client_has_its_file_on_each_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str) -> None:
    monkeypatch.setattr("watersmeet.face.clients.places.sys.platform", system)
    monkeypatch.delenv("APPDATA", raising=False)
    for name, place in PLACES[system].items():
        assert settings_file(client(name), "user", ".") == str(tmp_path / place)


def test_each_client_gets_an_entry_in_its_form() -> None:
    for name, of in CLIENTS.items():
        assert of.entry("/w", ["mcp"]) == ENTRIES.get(name, {"command": "/w", "args": ["mcp"]})


def test_an_existing_file_of_a_client_is_used(tmp_path: Path) -> None:
    """OpenCode's settings may be called .jsonc, Cline's may be those of the extension."""
    (tmp_path / "opencode.jsonc").write_text("{}")
    assert settings_file(client("opencode"), "project", str(tmp_path)) == str(tmp_path / "opencode.jsonc")
    old = tmp_path / "home/config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    old.parent.mkdir(parents=True)
    old.write_text("{}")
    assert settings_file(client("cline"), "user", ".") == str(old)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("{}", ["mcp"]),
        ('{"mcp": {"a": {"type": "local"}}}', ["mcp"]),
        ('{"mcp": {"servers": {"type": "local", "command": ["x"]}}}', ["mcp"]),  # a server of that name
        ('{"mcp": {"servers": {}}}', ["mcp", "servers"]),
    ],
)
def test_opencode_has_two_ways_to_write_servers(tmp_path: Path, text: str, keys: list[str]) -> None:
    of, path = client("opencode"), tmp_path / "opencode.json"
    path.write_text(text)
    write(install_changes(of, "project", str(tmp_path), "watersmeet", of.entry("/w", ["mcp"])), str(tmp_path))
    found = json.loads(path.read_text())
    for key in keys:
        found = found[key]
    assert found["watersmeet"] == of.entry("/w", ["mcp"])
    write(uninstall_changes(of, "project", str(tmp_path), "watersmeet"), str(tmp_path))
    assert path.read_text() == text


def test_the_skill_cites_no_example() -> None:
    """It is installed beside the documents of others: nothing in it is from the handbook of the examples."""
    text = skill("w", "w", "--in /docs", "it")
    handbook = "\n".join(path.read_text("utf8") for path in EXAMPLES.rglob("*.md"))
    quoted = {word.strip("`") for word in text.split() if word.startswith("`")}
    assert "TRN" not in text
    assert "--no-telemetry" not in text
    assert not [word for word in quoted if word not in OWN_WORDS and f"`{word}`" in handbook]


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
    path = tmp_path / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{\n  // mine\n  "mcpServers": {}\n}\n')  # which Cursor itself does not understand
    with pytest.raises(ConfigError, match="comments") as caught:
        install_changes(client("cursor"), "project", str(tmp_path), "watersmeet", ENTRY)
    assert '"watersmeet": {' in caught.value.hint
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        install_changes(client("cursor"), "project", str(tmp_path), "watersmeet", ENTRY)


def test_where_codex_is_told_to_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_file(client("codex"), "user", ".").endswith("/home/.codex/config.toml")
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert settings_file(client("codex"), "user", ".") == str(tmp_path / "codex" / "config.toml")
