"""`watersmeet inspect`."""

from __future__ import annotations

import click

from watersmeet.engine.inspect import inspect
from watersmeet.engine.settings import load
from watersmeet.face.cli.common import common, print_json


@click.command("inspect", epilog="Example: watersmeet inspect notes/today.md --json")
@click.argument("file")
@common
def inspect_command(file: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show what is read from a file: headings, links, tags, front matter, chunks. No index is needed."""
    found = inspect(file, load(start="."))
    if as_json:
        print_json(found)
        return
    print(found["title"])
    for heading in found["headings"]:
        print(f"{heading['line']:>6}  {'  ' * (heading['level'] - 1)}{heading['text']}")
    for link in found["links"]:
        print(f"  link ({link['type']}): {link['target']}" + (f"#{link['heading']}" if link["heading"] else ""))
    if found["tags"]:
        print(f"  tags: {', '.join(found['tags'])}")
    for key, value in found["front_matter"].items():
        print(f"  {key}: {value}")
    for chunk in found["chunks"]:
        first, last = chunk["lines"]
        print(f"  chunk {chunk['id']}  lines {first}-{last}  {len(chunk['text'])} characters")
    for warning in found["warnings"]:
        print(f"  warning: {warning}")
