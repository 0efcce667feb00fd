"""docs/how-to/extend.md adds one part of each kind. Here each section is run by itself: the package with one file more.

`tests/test_docs_blocks.py` runs the page as a whole, as all pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.test_docs_blocks import INSTALL, ROOT, Block, blocks, difference, environment, keep, run

from environments import Environment

pytestmark = pytest.mark.docs

PAGE = ROOT / "docs" / "how-to" / "extend.md"
ADDED = {
    "A fusion": "src/watersmeet/fusion/",
    "A stage": "src/watersmeet/stage/",
    "An MCP tool": "src/watersmeet/face/mcp/tools/",
    "A search parameter": "src/watersmeet/face/search.py",
}
"""The sections that add a part, and the folder of its file; or the one file that they change."""
PLUGIN = "A plug-in"
OTHERS = (PLUGIN, "Before it lands")


def parts(page: Path = PAGE) -> dict[str, str]:
    """The page's sections by their titles; what stands before the first is under the empty one."""
    text = re.sub(r"<!--.*?-->", "", page.read_text("utf8"), flags=re.DOTALL)
    before, *rest = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {"": before, **dict(zip(rest[::2], rest[1::2], strict=True))}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The examples, and the package as it is."""
    place = tmp_path / "clone"
    place.mkdir()
    shutil.copytree(ROOT / "examples", place / "examples")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", place / "src", copy_function=os.symlink, ignore=ignore)
    return place


def blocks_of(title: str, clone: Path) -> list[Block]:
    written = clone.parent / "section.md"
    written.write_text(parts()[title], "utf8")
    return blocks(written)


def go_through(found: list[Block], clone: Path) -> list[str]:
    """Write and run them in order; where what is printed is not what is shown."""
    wrong, said = [], ""
    for block in found:
        if block.title:
            keep(block, clone)
        elif block.language == "text":
            wrong.append(difference(block.text, said))
        else:
            said = run(block, clone, deep=False)
    return [one for one in wrong if one]


def is_part(block: Block) -> bool:
    return block.title.startswith("src/")


def test_every_section_is_run() -> None:
    assert set(parts()) == {"", *ADDED, *OTHERS}


@pytest.mark.parametrize("title", ADDED)
def test_a_section_adds_one_file_and_shows_what_it_does(title: str, clone: Path) -> None:
    found = blocks_of(title, clone)
    (part,) = [block for block in found if is_part(block)]
    assert part.title.startswith(ADDED[title])
    assert (ROOT / part.title).exists() == (part.language == "diff")  # it is new, and no other file changes
    assert all(block.title == "watersmeet.toml" for block in found if block.title and block is not part)
    assert [block.language for block in found[-2:]] == ["sh", "text"]
    assert not go_through([*blocks_of("", clone), *found], clone)


@pytest.mark.parametrize("title", ADDED)
def test_without_the_file_it_is_not_so(title: str, clone: Path) -> None:
    go_through(blocks_of("", clone), clone)
    rest = [block for block in blocks_of(title, clone) if not is_part(block)]
    try:
        wrong = go_through(rest, clone)
    except AssertionError as error:  # a command failed
        wrong = [str(error)]
    assert wrong


def test_a_plug_in_needs_nothing_of_the_clone(clone: Path) -> None:
    shutil.rmtree(clone / "src")
    Environment(environment(clone))
    assert not go_through([*blocks_of("", clone), *blocks_of(PLUGIN, clone)], clone)


def test_a_plug_in_that_is_not_installed_is_none(clone: Path) -> None:
    found = [block._replace(text=block.text.replace(INSTALL, ": ./")) for block in blocks_of(PLUGIN, clone)]
    with pytest.raises(AssertionError) as failed:
        go_through([*blocks_of("", clone), *found], clone)
    assert "films/estuary.srt:3" not in str(failed.value)


@pytest.mark.parametrize("title", [*ADDED, PLUGIN])
def test_the_file_is_as_the_gates_want_it(title: str, clone: Path) -> None:
    (part,) = [block for block in blocks_of(title, clone) if is_part(block) or block.title.endswith(".py")]
    keep(part, clone)
    rules = ["--config", str(ROOT / "pyproject.toml"), str(clone / part.title)]
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *command, *rules], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
