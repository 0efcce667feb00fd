"""`watersmeet config`."""

from __future__ import annotations

import json
from typing import Any

import click

from watersmeet.engine.settings.effective import effective, visible
from watersmeet.engine.settings.settings import Settings
from watersmeet.face.cli.common import common, loaded, print_json, print_line


@click.group("config", epilog="Example: watersmeet config show --origin")
def config_command() -> None:
    """Show the settings and where they come from."""


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
