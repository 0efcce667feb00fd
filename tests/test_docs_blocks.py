"""Every block of code in the docs is run, page by page, as a reader would: top to bottom in one folder.

A block with a title is written to that file. `sh` and `python` are run; `text` after one is what it prints, where `...`
stands for anything. The settings that tables name are there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from watersmeet.engine.components import KINDS, find, names, options
from watersmeet.engine.settings import SECTIONS

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "docs" / "tutorial.md", *(ROOT / "docs" / "how-to").glob("*.md")])
DEEP = ("tutorial", "read-an-explain")
"""Pages whose output is looked at; the others go without the transformer, which takes a second of each command."""
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    title: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf8")
    found = [Block(*match.groups(default="")) for match in BLOCK.finditer(text)]
    assert len(found) * 2 == len(re.findall(r"^```", text, re.MULTILINE)), "a block that is not understood"
    return iter(found)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the examples in it, as a reader has it."""
    place = tmp_path / "reader"
    place.mkdir()
    (place / "examples").symlink_to(ROOT / "examples")
    return place


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run(page: Path, folder: Path) -> None:
    said = None
    if any(block.title.startswith("src/") for block in blocks(page)):  # it adds to a clone
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", folder / "src", copy_function=os.symlink, ignore=ignore)
    for block in blocks(page):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf8")
        elif block.language == "text":
            assert said is not None
            assert re.search(pattern(block.text), said, re.MULTILINE), f"{block.text}\nis not in\n{said}"
        else:
            said = run(block, folder, deep=page.stem in DEEP)


def run(block: Block, folder: Path, deep: bool) -> str:
    command = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": [sys.executable, "-c"]}[block.language]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*command, block.text],
        cwd=folder,
        env={
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(folder / "src"),
            **({} if deep else {"WATERSMEET__INDEX__DENSE": ""}),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
    return done.stdout


def pattern(text: str) -> str:
    lines = []
    for line in text.splitlines():
        if line.strip() == "...":
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*".join(re.escape(part) for part in line.split("...")) + r"\n?")
    return "^" + "".join(lines)


def settings() -> set[str]:
    found = {f"{where}.{key}" for where, cls in SECTIONS.items() for key in options(cls)}
    return found | {
        f"{kind}.{name}.{key}" for kind in KINDS for name in names(kind) for key in options(find(kind, name))
    }


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem.startswith("move-")], ids=lambda page: page.stem)
def test_the_settings_of_a_table_are_there(page: Path) -> None:
    known = settings()
    tables = {*KINDS, *SECTIONS}
    rows = [line.split(" | ", 1)[1] for line in page.read_text("utf8").splitlines() if line.startswith("| ")]
    named = [word for row in rows for word in re.findall(r"`([a-z_]+\.[a-z_.]+)", row) if word.split(".")[0] in tables]
    assert len(named) >= 5
    assert [word for word in named if word not in known] == []


def test_every_page_is_listed() -> None:
    listed = (ROOT / "docs" / "README.md").read_text("utf8")
    for page in PAGES:
        assert f"({page.relative_to(ROOT / 'docs').as_posix()})" in listed
