"""`watersmeet token`."""

from __future__ import annotations

import sys

import click

from watersmeet.face.cli.common import common, print_json, table
from watersmeet.face.tokens import SCOPES, Tokens


@click.group("token", epilog="Example: watersmeet token create --scope read")
def token_command() -> None:
    """Create, list and revoke access tokens for a server."""


@token_command.command("create", epilog="Example: watersmeet token create --scope read --user ann --group research")
@click.option("--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="What its holder may do.")
@click.option(
    "--user", default="", metavar="U", help="The user it belongs to, who sees entities and collections of that owner."
)
@click.option("--group", "groups", multiple=True, metavar="G", help="A group that its holder belongs to.")
@common
def create_command(scope: str, user: str, groups: tuple[str, ...], index: str, as_json: bool, quiet: bool) -> None:
    """Create a token and print it, once: only its hash is stored.

    Tokens belong to the user who creates them, not to an index: each is valid for every index that this user serves.
    """
    tokens = Tokens()
    token, sent = tokens.create(scope, user, groups)
    if as_json:
        print_json({"token": sent, **token.to_json()})
        return
    print(sent)
    if not quiet:
        print("send it as `Authorization: Bearer TOKEN`; it is not shown again", file=sys.stderr)
        print(f"it is valid for every index that you serve; its hash is stored in {tokens.path}", file=sys.stderr)


@token_command.command("list", epilog="Example: watersmeet token list")
@common
def list_command(index: str, as_json: bool, quiet: bool) -> None:
    """List the tokens, without their secrets."""
    found = [token.to_json() for token in Tokens().all().values()]
    if as_json:
        print_json({"tokens": found})
        return
    rows = [[t["id"], t["scope"], t["user"], ", ".join(t["groups"]), t["created"]] for t in found]
    table(["id", "scope", "user", "groups", "created"], rows)
    if not found and not quiet:
        print("there are no tokens; `watersmeet token create` creates one", file=sys.stderr)


@token_command.command("revoke", epilog="Example: watersmeet token revoke 1f0c2b3a")
@click.argument("name", metavar="ID")
@common
def revoke_command(name: str, index: str, as_json: bool, quiet: bool) -> None:
    """Revoke a token, at once and permanently."""
    Tokens().revoke(name)
    if as_json:
        print_json({"revoked": name})
    elif not quiet:
        print(f"revoked {name}")
