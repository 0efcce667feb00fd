"""`watersmeet serve` and `watersmeet mcp`."""

from __future__ import annotations

import os
import shlex
import socket
import sys
from typing import TYPE_CHECKING, Any

import click

from watersmeet.core.errors import ConfigError, NoIndex, SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import absolute, find_index, index_in, index_to_make
from watersmeet.engine.settings.settings import PREDECESSORS, RARE_TOOLS
from watersmeet.face.cli.common import CACHE_NOTE, common, inside, loaded, not_empty
from watersmeet.face.cli.streams import one_line

if TYPE_CHECKING:
    from watersmeet.face.export_service import ExportService
    from watersmeet.face.service import Service

inside_flag = inside(f"Serve this folder; it is indexed first. {CACHE_NOTE}")
write_flag = click.option("--allow-write", is_flag=True, help="Let clients change the index.")
deepen_flag = click.option(
    "--no-deepen", is_flag=True, help="Make no vectors in the background, as serve.deepen = false does."
)

tool_flag = click.option(
    "--tool",
    "tools",
    multiple=True,
    type=click.Choice(RARE_TOOLS),
    help="List this MCP tool too, as serve.tools does; the others are always listed.",
)
tools_of_flag = click.option(
    "--tools-of",
    "programs",
    multiple=True,
    type=click.Choice(PREDECESSORS),
    help="Offer the MCP tools of this program too, by their names and parameters, as serve.tools_of does.",
)
watch_flag = click.option(
    "--no-watch", is_flag=True, help="Do not keep up with changes of the folders, as serve.watch = false does."
)


log_flag = click.option(
    "--log-level",
    type=click.Choice(("info", "debug")),
    callback=lambda ctx, param, level: _log(level),
    expose_value=False,
    help="Log searches to standard error: info has counts, debug also the score of each result; never a query.",
)


@click.command("serve", epilog="Example: watersmeet serve --in docs")
@inside_flag
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="The address to listen on.")
@click.option(
    "--port", default=7878, show_default=True, type=click.IntRange(0, 65535), metavar="N", help="The port to listen on."
)
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="Another host name of this server.")
@click.option(
    "--export",
    metavar="DIR",
    default="",
    type=click.Path(),
    callback=not_empty,
    help="Serve a folder that `watersmeet export` wrote: read-only, with its own settings and short routes.",
)
@click.option(
    "--access-log",
    metavar="FILE|-",
    default="",
    type=click.Path(),
    callback=not_empty,
    help="Append a JSON line for each request to this file, or print it: its route, never a query or an id.",
)
@write_flag
@deepen_flag
@watch_flag
@tool_flag
@log_flag
@tools_of_flag
@common
def serve_command(
    inside: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    export: str,
    access_log: str,
    allow_write: bool,
    no_deepen: bool,
    no_watch: bool,
    tools: tuple[str, ...],
    programs: tuple[str, ...],
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Serve REST, MCP over HTTP and a web page to search with.

    Without a token it listens on this machine only; see `watersmeet token`. There must be an index, unless
    --allow-write lets clients make one. Missing vectors are made in the background, while there are no requests.
    """
    from watersmeet.face.tokens import Tokens, is_loopback

    tokens = Tokens()
    if not is_loopback(host) and not tokens.all():
        raise ConfigError(
            f"other machines can reach {host}, and there is no token",
            "create one with `watersmeet token create --scope read`, or leave out --host",
        )
    service: Service
    if export:
        service = _export_service(export, inside, index, allow_write)
        listening = listen(host, port)
    else:
        engine = _engine(inside, index, allow_write, _flags(no_deepen, no_watch, tools, programs), quiet)
        listening = listen(host, port)
        from watersmeet.face.service import Service

        service = Service(engine, inside=inside, allow_write=allow_write, say=_say)
    from watersmeet.face.access_log import AccessLog
    from watersmeet.face.rest.app import make  # only now: it takes a while
    from watersmeet.face.rest.process import run

    log = AccessLog(access_log, _say) if access_log else None
    if log is not None:
        log.survive_hangup()

    try:
        service.start()
        run(make(service, host, hosts, tokens, log), host, listening, as_json, quiet)
    finally:
        service.close()


@click.command("mcp", epilog="Example: watersmeet mcp --in docs")
@inside_flag
@write_flag
@deepen_flag
@watch_flag
@tool_flag
@log_flag
@tools_of_flag
@common
def mcp_command(
    inside: str,
    allow_write: bool,
    no_deepen: bool,
    no_watch: bool,
    tools: tuple[str, ...],
    programs: tuple[str, ...],
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Serve MCP over standard input and output, for an agent that starts this command.

    Without an index the tools report that; with --allow-write the agent can make one. Missing vectors are made in the
    background, while there are no requests.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise ConfigError(
            "standard input or output is closed, but MCP needs both",
            "let the agent's program start this command: `watersmeet install CLIENT` sets that up",
        )
    from watersmeet.face.mcp.process import run
    from watersmeet.face.service import Service

    engine = _engine(inside, index, True, _flags(no_deepen, no_watch, tools, programs), quiet)
    service = Service(engine, inside=inside, allow_write=allow_write, say=_say)
    try:
        service.start()
        run(service)
    finally:
        service.close()


def _log(level: str | None) -> None:
    if level:
        from watersmeet.engine.query.diagnostics import enable_log

        enable_log(level)


def _export_service(export: str, inside: str, index: str, allow_write: bool) -> ExportService:
    if inside or index or allow_write:
        raise ConfigError(
            "--export cannot be combined with --in, --index or --allow-write", "an export is a read-only index itself"
        )
    from watersmeet.face.export_service import ExportService

    service = ExportService(export, say=_say)
    for one in service.engine.settings.ignored:
        _say(one.what)
    return service


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(
            family, socket.SOCK_STREAM, socket.IPPROTO_TCP
        )  # with the protocol named, asyncio sets TCP_NODELAY
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}", "choose another --port") from error
    return listening


def _say(text: str) -> None:
    """Print a message for whoever runs the server."""
    print(f"watersmeet: {one_line(text)}", file=sys.stderr, flush=True)


def _flags(no_deepen: bool, no_watch: bool, tools: tuple[str, ...], programs: tuple[str, ...]) -> dict[str, Any]:
    """Settings of the flags that switch background work off, and list further tools."""
    given: dict[str, Any] = {name: False for name, off in (("deepen", no_deepen), ("watch", no_watch)) if off}
    given |= {name: list(chosen) for name, chosen in (("tools", tools), ("tools_of", programs)) if chosen}
    return {"serve": given} if given else {}


def _engine(inside: str, index: str, may_be_new: bool, flags: dict[str, Any], quiet: bool) -> Engine:
    if inside and index:
        raise ConfigError("--in and --index cannot be combined", "--in has its own index in the cache folder")
    if inside:
        if not os.path.exists(inside):
            raise SourceProblem(f"{inside} does not exist", "check the spelling of the path")
        return Engine(index_in(inside), loaded(start=inside, flags=flags))
    try:
        place = find_index(index)
    except NoIndex:
        if not may_be_new:
            raise
        place = absolute(index_to_make(index))
        if not quiet:
            print(
                f"there is no index in {place} yet: run `watersmeet sync PATH --index {shlex.quote(place)}`;"
                " it is served as soon as it exists",
                file=sys.stderr,
                flush=True,
            )
    return Engine(place, loaded(flags=flags))
