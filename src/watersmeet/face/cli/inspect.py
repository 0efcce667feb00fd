"""`watersmeet inspect`."""

from __future__ import annotations

from typing import Any

import click

from watersmeet.engine.sync.inspect import inspect
from watersmeet.face.cli.common import common, loaded, print_json, print_line


@click.command("inspect", epilog="Example: watersmeet inspect notes/today.md --json")
@click.argument("file", type=click.Path())
@common
def inspect_command(file: str, index: str, as_json: bool, quiet: bool) -> None:
    """Show how a file is parsed: headings, links, tags, front matter, chunks. No index is needed."""
    found = inspect(file, loaded(start="."))
    if as_json:
        print_json(found)
        return
    print_line(found["title"])
    for name, lines in _parts(found):
        if lines:
            print(f"\n{name}")
            for line in lines:
                print_line(f"  {line}")


def _parts(found: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [
        ("headings", [f"{h['where']:>6}  {'  ' * (h['level'] - 1)}{h['text']}" for h in found["headings"]]),
        ("links", [f"{link['type']:<9}{_target(link)}" for link in found["links"]]),
        ("tags", [", ".join(found["tags"])] if found["tags"] else []),
        ("front matter", [f"{key}: {_shown(value)}" for key, value in found["front_matter"].items()]),
        ("chunks", [_chunk(chunk) for chunk in found["chunks"]]),
        ("warnings", found["warnings"]),
    ]


def _target(link: dict[str, str]) -> str:
    heading = f"#{link['heading']}" if link["heading"] else ""
    alias = f"  as {link['alias']!r}" if link["alias"] else ""
    return f"{link['target']}{heading}{alias}"


def _shown(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _chunk(chunk: dict[str, Any]) -> str:
    size, path = len(chunk["text"]), " > ".join(chunk["headings"])
    return f"{chunk['id']}  {chunk['where']:<8}{size:>5} characters  {path}".rstrip()
