"""`watersmeet token`."""

from __future__ import annotations

import sys

import click

from watersmeet.face.cli.common import common, print_json, table
from watersmeet.face.tokens import SCOPES, Tokens


@click.group("token", epilog="Example: watersmeet token create --scope read")
def token_command() -> None:
    """Create, list and revoke access tokens for a server."""


@token_command.command("create", epilog="Example: watersmeet token create --scope read --name grafana --expires 30d")
@click.option("--scope", type=click.Choice(SCOPES), default="read", show_default=True, help="What its holder may do.")
@click.option("--name", default="", metavar="N", help="Its name in lists and in the access log, to revoke it by.")
@click.option(
    "--expires", default="", metavar="D", help="When it becomes invalid: 12h, 30d, 1y, or a date. Default: never."
)
@click.option(
    "--user", default="", metavar="U", help="The user it belongs to, who sees entities and collections of that owner."
)
@click.option("--group", "groups", multiple=True, metavar="G", help="A group that its holder belongs to.")
@common
def create_command(
    scope: str,
    name: str,
    expires: str,
    user: str,
    groups: tuple[str, ...],
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Create a token and print it, once: only its hash is stored.

    Tokens belong to the user who creates them, not to an index: each is valid for every index that this user serves.
    """
    tokens = Tokens()
    token, sent = tokens.create(scope, user, groups, name, expires)
    if as_json:
        print_json({"token": sent, **token.to_json()})
        return
    print(sent)
    if not quiet:
        until = f"it expires on {token.expires}; " if token.expires else ""
        print(f"{until}send it as `Authorization: Bearer TOKEN`; it is not shown again", file=sys.stderr)
        print(f"it is valid for every index that you serve; its hash is stored in {tokens.path}", file=sys.stderr)


@token_command.command("list", epilog="Example: watersmeet token list")
@common
def list_command(index: str, as_json: bool, quiet: bool) -> None:
    """List the tokens, without their secrets; the last use to about ten minutes."""
    tokens = Tokens()
    used = tokens.last_used()
    found = [{**token.to_json(), "last_used": used.get(token.id)} for token in tokens.all().values()]
    if as_json:
        print_json({"tokens": found})
        return
    rows = [
        [
            *(t["name"], t["scope"], t["user"], ", ".join(t["groups"]), t["created"]),
            *("expired" if t["expired"] else t["expires"] or "never", t["last_used"] or ""),
        ]
        for t in found
    ]
    table(["name", "scope", "user", "groups", "created", "expires", "last used"], rows)
    if not found and not quiet:
        print("there are no tokens; `watersmeet token create` creates one", file=sys.stderr)


@token_command.command("revoke", epilog="Example: watersmeet token revoke grafana")
@click.argument("name", metavar="NAME")
@common
def revoke_command(name: str, index: str, as_json: bool, quiet: bool) -> None:
    """Revoke the token with this name or id, at once and permanently."""
    token = Tokens().revoke(name)
    if as_json:
        print_json({"revoked": token.label})
    elif not quiet:
        print(f"revoked {token.label}")
