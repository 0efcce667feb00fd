"""The reference pages, written from the code: `python scripts/reference.py` writes, `--check` only compares."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import _reference_python
import _reference_rest
import click

from watersmeet.engine.components import configured, default, find, names, options
from watersmeet.engine.settings.settings import SECTIONS, recipes
from watersmeet.face.cli import main as cli

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"


def commands() -> str:
    """A heading for each section of `watersmeet --help --all`, and below it its commands."""
    lines = [
        "# Commands",
        "",
        "Written from the code by `scripts/reference.py`. `watersmeet --help` shows the first section,",
        "`watersmeet --help --all` all of them. Words are explained in the [glossary](../glossary.md).",
        "",
    ]
    for title, section in cli.SECTIONS.items():
        lines += [f"## {'Everyday' if title == cli.EVERYDAY else title}", ""]
        for name, (module, short) in section.items():
            lines += _section(name, module, short)
    return "\n".join(lines).rstrip() + "\n"


def _section(name: str, module: str, short: str) -> list[str]:
    command = getattr(importlib.import_module(f"watersmeet.face.cli.{module}"), f"{name.replace('-', '_')}_command")
    alias = "".join(f" (alias `{a}`)" for a, real in cli.ALIASES.items() if real == name)
    lines = [f"### watersmeet {name}{alias}", "", short, ""]
    for part in command.commands.values() if isinstance(command, click.Group) else [command]:
        lines += _command(name if part is command else f"{name} {part.name}", part)
    return lines


def _command(name: str, command: click.Command) -> list[str]:
    if not command.help:
        raise SystemExit(f"the command {name!r} has no help")
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    usage = " ".join(["watersmeet", name, *(a.metavar or (a.name or "").upper() for a in arguments)])
    lines = ["```", usage, "```", "", *[line.strip() for line in command.help.splitlines()], ""]
    lines += ["| flag | meaning |", "|---|---|"]
    for option in command.params:
        if isinstance(option, click.Option):
            if not option.help:
                raise SystemExit(f"{name}: the flag {option.opts[0]} has no help")
            flag = ", ".join(option.opts) + (f" {option.metavar}" if option.metavar else "")
            lines.append(f"| `{flag}` | {option.help} |".replace("|GLOB", "\\|GLOB"))
    if command.epilog:
        lines += ["", command.epilog]
    return [*lines, ""]


def settings() -> str:
    lines = [
        "# Settings",
        "",
        "Written from the code by `scripts/reference.py`.",
        "",
        "In `watersmeet.toml`, upwards from the working folder, or in the user's config folder; as an environment",
        "variable with `__` between the parts, such as `WATERSMEET__FUSION__RRF__K=20`. Recipes: "
        + ", ".join(f"`{name}`" for name in recipes())
        + ".",
        "",
        "A file in a folder says how to search, and no more: `recipe`, `pipeline`, `two_stage`, `chunk`, `query`,",
        "`signal`, `fusion`, `stage`, `index.dates`, `source.folder.include` and `exclude`, and an empty",
        "`index.static`, `sparse` or `dense`. The rest, and what names a model, counts in the user's config folder and",
        "in the environment, or after `watersmeet trust FOLDER`; `watersmeet config show --origin` shows what is",
        "ignored.",
        "",
    ]
    for name, cls in SECTIONS.items():
        lines += [f"## [{name}]", "", str(cls.__doc__).splitlines()[0], "", *_table(cls, name), ""]
    for table, cls in configured().items():
        if options(cls):
            lines += [f"## [{table}]", "", (cls.__doc__ or "").splitlines()[0], "", *_table(cls, table), ""]
    rows = [f"| `{name}` | {' '.join(f'`{form}`' for form in find('parse', name).reads)} |" for name in names("parse")]
    lines += ["## What parsers read", "", "| parser | media types and endings |", "|---|---|", *rows]
    return "\n".join(lines).rstrip() + "\n"


def _table(cls: type[Any], where: str) -> list[str]:
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for key, field in options(cls).items():
        meaning = field.metadata["meaning"]
        if not meaning:
            raise SystemExit(f"the setting {where}.{key} has no meaning")
        rows.append(f"| `{key}` | `{default(field)!r}` | {meaning} |")
    return rows


def main() -> int:
    pages = {
        PAGES / "commands.md": commands(),
        PAGES / "settings.md": settings(),
        PAGES / "python.md": _reference_python.page(),
        PAGES / "rest.md": _reference_rest.page(),
    }
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text("utf8") != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what the code says; run scripts/reference.py")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], "utf8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
