"""`watersmeet collection`."""

from __future__ import annotations

import click

from watersmeet.core.errors import ConfigError, NotFound, nearest
from watersmeet.core.visibility import audience_named, audience_text
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index
from watersmeet.face.cli.common import common, loaded, print_json, print_line, table

COLUMNS = ("collection", "audience", "documents", "roots")


@click.command(
    "collection",
    epilog="Examples: watersmeet collection | watersmeet collection hr --audience group:hr,owner:ann | "
    "watersmeet collection hr --audience public",
)
@click.argument("name", default="", metavar="[NAME]")
@click.option(
    "--audience", metavar="WHO", help="Who may see it: public, private, group:NAME[,group:NAME] or owner:NAME."
)
@common
def collection_command(name: str, audience: str | None, index: str, as_json: bool, quiet: bool) -> None:
    """Show the collections of the index with their audiences, or change who may see one.

    The audience is that of a server's callers: `watersmeet token create --user NAME --group NAME` says who they are.
    You, on the command line, always see everything. All documents of a collection change, or none.
    """
    with Engine(find_index(index), loaded()) as engine:
        if audience is not None:
            if not name:
                raise ConfigError("no collection was named", "write `watersmeet collection NAME --audience WHO`")
            wanted = audience_text(audience_named(audience))
            changed = engine.set_audience(name, wanted)
            if not as_json:
                if not quiet:
                    print_line(f"{name} {'is now' if changed else 'is already'} for {wanted}")
                return
        found = engine.collections()
    if name:
        named = [one for one in found if one["collection"] == name]
        if not named and audience is None:
            hint = nearest(name, [one["collection"] for one in found])
            raise NotFound(f"no collection called {name!r}", hint or "`watersmeet collection` lists all")
        # one without documents is no longer there once everyone may see it
        found = named or [{"collection": name, "audience": "public", "documents": 0, "roots": 0}]
    if as_json:
        print_json(found[0] if name else {"collections": found})
    else:
        table(list(COLUMNS), [[str(one[column]) for column in COLUMNS] for one in found])
