"""What is written about the project is there, and is what the code says."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from watersmeet.engine.components import configured, options
from watersmeet.engine.settings.settings import SECTIONS
from watersmeet.face.cli.main import ALIASES, COMMANDS

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent


def page(name: str) -> str:
    return (ROOT / name).read_text("utf8")


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"])
def test_the_page_exists(name: str) -> None:
    assert len(page(name)) > 200


@pytest.mark.parametrize("heading", ["Try it", "Run the tests"])
def test_the_readme_has_one_line_to_paste(heading: str) -> None:
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page("README.md"), re.MULTILINE | re.DOTALL)
    assert section, f"README.md has no section {heading!r}"
    blocks = re.findall(r"^```sh\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    (line,) = blocks[0].splitlines()
    assert line.strip()


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def commands() -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name, (module, _) in COMMANDS.items():
        command = getattr(importlib.import_module(f"watersmeet.face.cli.{module}"), f"{name.replace('-', '_')}_command")
        inner = command.commands.items() if isinstance(command, click.Group) else ()
        found += [(f"{name} {part}", each) for part, each in inner] or [(name, command)]
    return found


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_and_flag_is_documented(name: str, command: click.Command) -> None:
    text = page("docs/reference/commands.md")
    start = text.index(f"```\nwatersmeet {name}")
    end = text.find("\n```\nwatersmeet ", start + 1)
    section = text[start : end if end > 0 else len(text)]
    assert command.help
    assert command.epilog
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help
            assert f"`{', '.join(option.opts)}" in section, option.name
    for alias, real in ALIASES.items():
        if real == name:
            assert f"`{alias}`" in text


def test_every_setting_is_documented() -> None:
    text = page("docs/reference/settings.md")
    tables = dict(SECTIONS) | configured()
    for where, cls in tables.items():
        if not options(cls):
            continue
        section = re.search(rf"^## \[{re.escape(where)}\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert section, where
        for key, field in options(cls).items():
            assert f"| `{key}` |" in section[1], f"{where}.{key}"
            assert field.metadata["meaning"] in section[1]


def test_the_architecture_links_every_folder() -> None:
    text = page("ARCHITECTURE.md")
    folders = [path.parent.name for path in (ROOT / "src" / "watersmeet").glob("*/__init__.py")]
    assert len(folders) >= 14
    for folder in folders:
        assert f"](src/watersmeet/{folder})" in text, folder


def anchors(path: Path) -> set[str]:
    """What a page's headings are called in links."""
    heads = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", path.read_text("utf8"), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(
    "path",
    sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_links_and_pictures_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf8"), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    for target in targets:
        if not re.match(r"\w+:", target):
            name, _, anchor = target.partition("#")
            there = path.parent / name if name else path
            assert there.exists(), target
            if anchor:
                assert anchor in anchors(there), target
