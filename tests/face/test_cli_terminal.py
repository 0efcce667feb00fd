"""What a person sees: help with examples, tables and highlights that fit the terminal, completion, a quick start."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from terminals import on_a_terminal
from watersmeet.face.cli.common import widths
from watersmeet.face.cli.main import ALIASES, COMMANDS, EVERYDAY, GLOSSARY, SECTIONS

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]

ROOT = Path(__file__).resolve().parents[2]
CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;[^\x1b]*\x1b\\")


@pytest.mark.parametrize("columns", [80, 120])
def test_results_are_highlighted_and_fit(synced: Path, columns: int) -> None:
    drawn = on_a_terminal("search", "upgrade header of the proxy", "--explain", "-n", "2", cwd=synced, columns=columns)
    plain = CODES.sub("", drawn)
    assert "[lexical#1] Setup > Ports > Behind a proxy" in plain
    assert "guides/setup.md:19" in plain
    assert "\x1b[1;33mupgrade\x1b[0m" in drawn
    assert f"file://{synced}/guides/setup.md" in drawn
    assert all(len(line) <= columns for line in plain.splitlines() if not line.startswith("mode "))


@pytest.mark.parametrize("command", [["list"], ["related", "guides/keys.md"], ["status"], ["doctor"]])
def test_tables_fit_and_show_ids_whole(synced: Path, command: list[str]) -> None:
    plain = CODES.sub("", on_a_terminal(*command, cwd=synced))
    lines = plain.splitlines()
    assert "Traceback" not in plain
    if command[0] in ("list", "related"):
        assert all(len(line) <= 80 for line in lines)
        assert lines[0].split()[0] == "document"
        assert {"links/alias.md", "links/heading.md"} <= {line.split()[0] for line in lines[1:]}


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("find-tools", ["query-docs-of-a-library", "/context7", "1.00"]),
        ("find-entities", ["query-docs-of-a-library", "tool"]),
    ],
)
def test_names_of_tools_are_whole_beside_long_descriptions(tmp_path: Path, command: str, shown: list[str]) -> None:
    tool = {"name": "query-docs-of-a-library", "description": "Find passages about pages. " * 20}
    record = {
        "path": "/context7",
        "server_name": "Context7",
        "description": "Docs of libraries. " * 20,
        "tools": [tool],
    }
    (tmp_path / "servers.json").write_text(json.dumps([record]), "utf8")
    on_a_terminal("register", "servers.json", cwd=tmp_path)
    lines = CODES.sub("", on_a_terminal(command, "query docs", cwd=tmp_path)).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert [line for line in lines if line.split()[: len(shown)] == shown], lines


@pytest.mark.parametrize(
    ("wanted", "given"),
    [([10, 10, 10], [10, 10, 10]), ([20, 160, 4], [20, 52, 4]), ([100, 4], [48, 4]), ([30, 160, 160], [30, 23, 23])],
)
def test_the_longest_column_gives_way_first(wanted: list[int], given: list[int]) -> None:
    assert widths(wanted, 80) == given


def test_progress_leaves_nothing_but_the_report(fresh: Path) -> None:
    drawn = on_a_terminal("sync", ".", cwd=fresh)
    assert "9 added in " in drawn
    assert CODES.sub("", drawn).splitlines()[-1].endswith("chunks in .watersmeet")


def test_json_on_a_terminal_is_still_json(synced: Path) -> None:
    drawn = on_a_terminal("search", "keys", "--json", cwd=synced)
    assert "\x1b" not in drawn
    assert drawn.startswith("{")


PARTS = {"config": ["show", "import"], "token": ["create", "list", "revoke"]}


@pytest.mark.parametrize("command", [*COMMANDS, *ALIASES])
def test_every_command_has_an_example(run: Run, command: str) -> None:
    assert re.search(r"Examples?: (watersmeet|wm) \w+", run(command, "--help").stdout)
    for part in PARTS.get(command, [""]):
        done = run(command, *part.split(), "--help")
        assert done.returncode == 0
        assert re.search(r"Examples?: (watersmeet|wm) \w+", done.stdout)
        for flag in ("--json", "--index", "--quiet"):
            assert flag in done.stdout


def listed(text: str) -> dict[str, list[str]]:
    """The names that a help shows, by the heading above them."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if head := re.fullmatch(r"(\w+):", line):
            title = head[1]
        elif name := re.match(r"  ([a-z][a-z-]*)  +\S", line):
            found.setdefault(title, []).append(name[1])
    return found


def test_the_help_shows_what_people_need_and_where_the_rest_is(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert listed(done.stdout) == {"Commands": ["sync", "search", "ask", "get", "status", "serve", "mcp", "install"]}
    for name, (_, text) in SECTIONS[EVERYDAY].items():  # in one line each
        assert re.search(rf"^  {name} +{re.escape(text)}$", done.stdout, re.MULTILINE), name
    assert "`watersmeet --help --all` lists every command" in done.stdout
    assert GLOSSARY in done.stdout
    assert (ROOT / GLOSSARY).is_file()
    assert done.stdout.partition("Examples:\n")[2].count("  watersmeet ") >= 2
    assert run("-h").stdout == done.stdout
    assert run("--version").stdout.startswith("watersmeet, version ")


@pytest.mark.parametrize("flags", ["--help --all", "--all --help", "-h --all", "--all"])
def test_the_whole_help_lists_every_command_by_section(run: Run, flags: str) -> None:
    done = run(*flags.split())
    assert (done.returncode, done.stderr) == (0, "")
    found = listed(done.stdout)
    assert found.pop("Aliases") == list(ALIASES)
    assert found == {title: list(commands) for title, commands in SECTIONS.items()}
    for name, (_, text) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(text[:30])}", done.stdout, re.MULTILINE), name


def test_every_command_is_in_one_section_and_there() -> None:
    assert list(SECTIONS) == [EVERYDAY, "Index", "Registry", "Quality", "Administration"]
    names = [name for commands in SECTIONS.values() for name in commands]
    assert sorted(names) == sorted(set(names))
    assert set(ALIASES.values()) <= set(names)
    made = set()
    for file in (ROOT / "src/watersmeet/face/cli").glob("*.py"):
        module = importlib.import_module(f"watersmeet.face.cli.{file.stem}")
        made |= {(file.stem, name) for name in vars(module) if name.endswith("_command")}
    below = {(group, f"{part}_command") for group, parts in PARTS.items() for part in parts}
    helped = {("misuse", "nearest_command"), ("main", "nearest_command")}
    declared = {(module, f"{name.replace('-', '_')}_command") for name, (module, _) in COMMANDS.items()}
    assert made - below - helped == declared


@pytest.mark.parametrize("flags", [["--help"], ["--help", "--all"]])
def test_the_help_loads_no_command(flags: list[str]) -> None:
    script = (
        f"import sys; from watersmeet.face.cli.main import run; run({flags!r});"
        "print([name for name in sys.modules if name.startswith(('watersmeet.engine', 'watersmeet.face'))],"
        "file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    needed = ["", ".cli", ".cli.misuse", ".cli.streams", ".cli.main"]
    assert sorted(ast.literal_eval(done.stderr)) == sorted(f"watersmeet.face{name}" for name in needed)


def complete(run: Run, words: str) -> list[str]:
    done = run(COMP_WORDS=words, COMP_CWORD=str(words.count(" ")), _WATERSMEET_COMPLETE="bash_complete")
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split(",", 1)[1] for line in done.stdout.splitlines()]


def test_shell_completion(run: Run) -> None:
    assert "complete " in run(_WATERSMEET_COMPLETE="bash_source").stdout
    assert complete(run, "watersmeet sea") == ["search"]
    assert set(COMMANDS) <= set(complete(run, "watersmeet "))
    assert complete(run, "watersmeet search --mo") == ["--mode"]
    assert complete(run, "watersmeet config s") == ["show"]
    assert complete(run, "watersmeet install c") == ["claude-code", "claude-desktop", "cursor", "codex", "cline"]


HEAVY = (
    "rich yaml numpy onnxruntime tokenizers logging pathlib hashlib concurrent.futures shutil socket difflib "
    "multiprocessing subprocess asyncio urllib.request watersmeet.engine.sync.root_sync watersmeet.parse.markdown "
    "watersmeet.engine.query.documents watersmeet.engine.index.health "
    "watersmeet.face.cli.progress watchfiles watersmeet.engine.sync.watching "
    "watersmeet.store.local.vectors watersmeet.present.pack watersmeet.evaluate importlib.metadata "
    "watersmeet.engine.plugins"
).split()
LIBRARIES = (
    "liteparse xberg selectolax html_to_markdown trafilatura lxml tree_sitter csv email html.parser zipfile".split()
)
"""What parsers import, each only to read a file of its format."""


@pytest.mark.parametrize("command", [["--help"], ["search", "keys", "--mode", "lexical"], ["sync", "--no-vectors"]])
def test_libraries_of_formats_are_loaded_for_their_files_only(synced: Path, command: list[str]) -> None:
    script = (
        f"import sys; from watersmeet.face.cli.main import run; code = run({command!r});"
        f"print(sorted(set({LIBRARIES!r}) & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=synced, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")


def test_a_piped_lexical_search_loads_nothing_that_it_does_not_use(synced: Path) -> None:
    script = (
        "import sys; from watersmeet.face.cli.main import run; code = run(['search', 'keys', '--mode', 'lexical']);"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=synced, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "[]")
