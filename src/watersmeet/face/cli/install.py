"""`watersmeet install` and `uninstall`."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Any

import click

from watersmeet.core.errors import ConfigError, NoIndex
from watersmeet.engine.index.location import absolute, find_index, index_to_make
from watersmeet.face.cli.common import common, inside, print_json
from watersmeet.face.clients.changes import Change, entering, leaving, write
from watersmeet.face.clients.places import CLIENTS, SCOPES, client
from watersmeet.face.clients.skill import skill

_client = click.argument("name", metavar="CLIENT", type=click.Choice(list(CLIENTS)))
_scope = click.option(
    "--scope", type=click.Choice(SCOPES), help="For this project or for you; default: project, for codex user."
)


def _plain(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """It becomes part of a path and of a settings file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise click.BadParameter("letters, digits, - and _ only", ctx, param)
    return name


_as = click.option(
    "--as",
    "entry_name",
    default="watersmeet",
    show_default=True,
    metavar="NAME",
    callback=_plain,
    help="Its name there.",
)
_dry = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask.")


@click.command("install", epilog="Examples: watersmeet install claude-code | wm install codex --in ~/notes --as notes")
@_client
@inside("Search this folder, kept in step.")
@_scope
@_as
@click.option(
    "--command", "program", default="", metavar="TEXT", help="What starts watersmeet; default: its full path."
)
@click.option("--no-skill", is_flag=True, help="The MCP entry only.")
@_dry
@_yes
@common
def install_command(
    name: str,
    inside: str,
    scope: str | None,
    entry_name: str,
    program: str,
    no_skill: bool,
    dry_run: bool,
    yes: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let the agents of CLIENT search: claude-code, cursor, vscode or codex.

    It enters `watersmeet mcp` into the client's settings, and a short skill, after showing what would change; on a
    terminal it asks first. What else is in a file stays as it is, and a copy of it is kept beside it. Again: nothing
    changes.
    """
    of = client(name)
    flags, about, missing = _what(inside, index)
    entry: dict[str, Any] = {"type": "stdio"} if of.typed else {}
    entry |= {"command": program or _program(), "args": ["mcp", *flags]}
    text = "" if no_skill else skill(entry_name, entry_name, " ".join(map(_quoted, flags)), about)
    changes = entering(of, scope or of.usual, ".", entry_name, entry, text)
    done = _carry_out(changes, dry_run, yes, quiet or as_json)
    _report(changes, done, name, scope or of.usual, as_json, quiet, "nothing to do: it is as it should be")
    if done and not as_json and not quiet:
        print(f"start {of.title} anew to use it; `watersmeet uninstall {name}` takes it out again")
    if missing and not quiet:
        print(missing, file=sys.stderr)


@click.command("uninstall", epilog="Example: watersmeet uninstall cursor")
@_client
@_scope
@_as
@_dry
@_yes
@common
def uninstall_command(
    name: str,
    scope: str | None,
    entry_name: str,
    dry_run: bool,
    yes: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Take out of CLIENT's settings what `install` put in, and nothing else. The index stays."""
    of = client(name)
    changes = leaving(of, scope or of.usual, ".", entry_name)
    done = _carry_out(changes, dry_run, yes, quiet or as_json)
    _report(changes, done, name, scope or of.usual, as_json, quiet, "nothing to remove: it is not there")


def _what(inside: str, index: str) -> tuple[list[str], str, str]:
    """The flags that name what is searched, it in words, and what is missing there."""
    if inside:
        path = os.path.realpath(inside)
        if not os.path.isdir(path):
            raise ConfigError(f"there is no folder {inside}", "name the folder that is to be searched")
        return ["--in", path], f"the documents in {path}", ""
    missing = ""
    try:
        place = absolute(find_index(index))
    except NoIndex:
        place = absolute(index_to_make(index))
        missing = f"there is no index yet in {place}: `watersmeet sync PATH --index {_quoted(place)}` makes it"
    folder = os.path.dirname(place) if os.path.basename(place) == ".watersmeet" else place
    return ["--index", place], f"the documents indexed in {folder}", missing


def _program() -> str:
    """The command by its full path: a client started from a menu has another search path than a shell."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) in ("watersmeet", "wm") and os.access(started, os.X_OK):
        return started
    beside = os.path.join(os.path.dirname(sys.executable), "watersmeet")
    return beside if os.access(beside, os.X_OK) else shutil.which("watersmeet") or "watersmeet"


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _carry_out(changes: list[Change], dry_run: bool, yes: bool, silent: bool) -> bool:
    """Show, ask where somebody can be asked, write; whether it was written."""
    if all(change.action == "none" for change in changes):
        return False
    asks = not dry_run and not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and silent:
        raise ConfigError("nothing was changed: it would have to ask", "--yes goes ahead, --dry-run only shows")
    shown = "" if silent else "\n".join(change.diff() for change in changes if change.action != "none")
    if not asks and not dry_run:
        write(changes, ".")  # first: whoever reads what is shown may stop reading
    if shown:
        print(shown)
    if asks:
        if not click.confirm("Make this change?"):
            return False
        write(changes, ".")
    return not dry_run


def _report(changes: list[Change], done: bool, name: str, scope: str, as_json: bool, quiet: bool, nothing: str) -> None:
    if as_json:
        shown = [change.to_json() for change in changes]
        print_json({"client": name, "scope": scope, "done": done, "changes": shown})
        return
    if quiet:
        return
    if all(change.action == "none" for change in changes):
        print(nothing)
    said = {"create": "wrote", "change": "changed", "remove": "removed"}
    for change in changes:
        if done and change.action != "none":
            kept = f"; what there was is in {change.backup}" if change.backup else ""
            print(f"{said[change.action]} {change.path}{kept}")
