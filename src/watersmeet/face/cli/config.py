"""`watersmeet config`."""

from __future__ import annotations

import json

import click

from watersmeet.engine.effective import effective
from watersmeet.engine.settings import load
from watersmeet.face.cli.common import common, print_json


@click.group("config")
def config_command() -> None:
    """Show the settings and where they come from."""


@config_command.command("show", epilog="Example: watersmeet config show --origin")
@click.option("--origin", is_flag=True, help="Say where each value comes from.")
@click.option("--recipe", default="", metavar="NAME", help="As if this recipe were chosen.")
@common
def show_command(origin: bool, recipe: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show every setting in effect here."""
    settings = load(recipe=recipe)
    values = effective(settings)
    if as_json:
        shown = {path: {"value": value, "origin": source} for path, (value, source) in values.items()}
        plain = {path: value for path, (value, _) in values.items()}
        print_json({"recipe": settings.recipe, "settings": shown if origin else plain})
        return
    for path, (value, source) in values.items():
        print(f"{path} = {json.dumps(value, ensure_ascii=False)}" + (f"  # {source}" if origin else ""))
