"""`watersmeet install` and `uninstall`."""

from __future__ import annotations

import os
import re
import shutil
import sys

import click

from watersmeet.core.errors import ConfigError, NoIndex
from watersmeet.engine.index.location import absolute, find_index, index_to_make
from watersmeet.face.cli.common import common, inside, print_json
from watersmeet.face.clients.changes import Change, install_changes, uninstall_changes, write
from watersmeet.face.clients.places import CLIENTS, SCOPES, client
from watersmeet.face.clients.skill import skill

_client = click.argument("name", metavar="CLIENT", type=click.Choice(list(CLIENTS)))
_scope = click.option(
    "--scope",
    type=click.Choice(SCOPES),
    help="Where to install: in this project or for you. Default: project where the client has settings for one.",
)


def _plain(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """Check the name: it becomes part of a path and of a settings file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", name):
        raise click.BadParameter("use letters, digits, - and _ only", ctx, param)
    return name


_as = click.option(
    "--as",
    "entry_name",
    default="watersmeet",
    show_default=True,
    metavar="NAME",
    callback=_plain,
    help="Name of the entry in the client's settings.",
)
_dry = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
_yes = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")


@click.command("install", epilog="Examples: watersmeet install claude-code | wm install codex --in ~/notes --as notes")
@_client
@inside("Search this folder; its index is brought up to date automatically.")
@_scope
@_as
@click.option(
    "--command",
    "program",
    default="",
    metavar="TEXT",
    help="The command that starts watersmeet; default: its full path.",
)
@click.option("--no-skill", is_flag=True, help="Install the MCP entry only.")
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
    """Let the agents of CLIENT search. Clients: claude-code, claude-desktop, cursor, vscode, codex, windsurf, zed,
    gemini, cline and opencode.

    It adds `watersmeet mcp` to the client's settings, and a short skill where the client reads skills. It shows the
    changes first, and on a terminal asks for confirmation. The rest of each file stays as it is, comments included, and
    a backup is kept beside it. Running it again changes nothing.
    """
    of = client(name)
    flags, about, missing = _search_target(inside, index)
    entry = of.entry(program or _program(), ["mcp", *flags])
    text = "" if no_skill else skill(entry_name, entry_name, " ".join(map(_quoted, flags)), about)
    changes = install_changes(of, scope or of.usual, ".", entry_name, entry, text)
    done = _carry_out(changes, dry_run, yes, quiet or as_json)
    _report(changes, done, name, scope or of.usual, as_json, quiet, "nothing to do: already installed")
    if done and not as_json and not quiet:
        print(f"restart {of.title} to use it; `watersmeet uninstall {name}` removes it")
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
    """Remove from CLIENT's settings what `install` added, and nothing else. The index stays."""
    of = client(name)
    changes = uninstall_changes(of, scope or of.usual, ".", entry_name)
    done = _carry_out(changes, dry_run, yes, quiet or as_json)
    _report(changes, done, name, scope or of.usual, as_json, quiet, "nothing to remove: it is not installed")


def _search_target(inside: str, index: str) -> tuple[list[str], str, str]:
    """The flags that name what is searched, a description of it, and a warning if there is no index yet."""
    if inside:
        path = os.path.realpath(inside)
        if not os.path.isdir(path):
            raise ConfigError(f"there is no folder {inside}", "name an existing folder to search")
        return ["--in", path], f"the documents in {path}", ""
    missing = ""
    try:
        place = absolute(find_index(index))
    except NoIndex:
        place = absolute(index_to_make(index))
        missing = f"there is no index in {place} yet: run `watersmeet sync PATH --index {_quoted(place)}`"
    folder = os.path.dirname(place) if os.path.basename(place) == ".watersmeet" else place
    return ["--index", place], f"the documents indexed in {folder}", missing


def _program() -> str:
    """The full path of the command: a client started from a menu has another PATH than a shell."""
    started = os.path.abspath(sys.argv[0])
    if os.path.basename(started) in ("watersmeet", "wm") and os.access(started, os.X_OK):
        return started
    beside = os.path.join(os.path.dirname(sys.executable), "watersmeet")
    return beside if os.access(beside, os.X_OK) else shutil.which("watersmeet") or "watersmeet"


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _carry_out(changes: list[Change], dry_run: bool, yes: bool, silent: bool) -> bool:
    """Show the changes, ask for confirmation on a terminal, and write them; returns whether they were written."""
    if all(change.action == "none" for change in changes):
        return False
    asks = not dry_run and not yes and sys.stdin.isatty() and sys.stdout.isatty()
    if asks and silent:
        raise ConfigError(
            "nothing was changed: it needs confirmation", "use --yes to go ahead, or --dry-run to see the changes"
        )
    shown = "" if silent else "\n".join(change.diff() for change in changes if change.action != "none")
    if not asks and not dry_run:
        write(changes, ".")  # before printing: the reader may close the pipe
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
    verbs = {"create": "wrote", "change": "changed", "remove": "removed"}
    for change in changes:
        if done and change.action != "none":
            backup = f"; the old version is in {change.backup}" if change.backup else ""
            print(f"{verbs[change.action]} {change.path}{backup}")
