"""`watersmeet init`."""

from __future__ import annotations

import os
import time

import click

from watersmeet.core.errors import ConfigError
from watersmeet.core.files import replace_file
from watersmeet.engine.settings.settings import FILE, recipes
from watersmeet.face.cli.common import common, not_empty, print_json, print_line, relative

TEXT = """# Settings of watersmeet for this folder. `watersmeet config show --origin` shows all of them, with where each
# comes from; docs/reference/settings.md describes them. Every line here is optional.
recipe = "{recipe}"

[source.folder]
# include = ["*.md", "*.pdf"]     # only these files; without it, every format that can be read
# exclude = ["drafts/**"]
# recursive = false               # only the files directly in a folder

[index]
# vectors = false                 # words only
"""


@click.command("init", epilog="Examples: watersmeet init | watersmeet init --dir ~/notes --recipe notes")
@click.option(
    "--dir",
    "folder",
    default=".",
    type=click.Path(file_okay=False),
    callback=not_empty,
    metavar="DIR",
    help="The folder for the file; default: this one.",
)
@click.option(
    "--recipe", type=click.Choice(recipes()), default="default", show_default=True, help="How results are ranked."
)
@click.option("--force", is_flag=True, help="Replace a settings file that is there already.")
@common
def init_command(folder: str, recipe: str, force: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Write a settings file to begin with. None is needed: `watersmeet sync PATH` works without.

    Settings of another program are taken over by `watersmeet config import`.
    """
    start = time.perf_counter()
    path = os.path.abspath(os.path.join(folder, FILE))
    if os.path.lexists(path) and not force:
        raise ConfigError(f"{path} exists already", "edit it, or replace it with --force")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, TEXT.format(recipe=recipe).encode(), 0o644)
    if as_json:
        print_json({"file": path, "recipe": recipe, "took_ms": round((time.perf_counter() - start) * 1000, 1)})
    elif not quiet:
        print_line(f"wrote {relative(path)}; next: watersmeet sync PATH")
