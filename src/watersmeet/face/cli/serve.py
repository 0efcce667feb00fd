"""`watersmeet serve` and `watersmeet mcp`."""

from __future__ import annotations

import os
import shlex
import socket
import sys

import click

from watersmeet.core.errors import ConfigError, NoIndex, SourceProblem
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import absolute, find_index, index_in, index_to_make
from watersmeet.face.cli.common import KEPT, common, inside, loaded
from watersmeet.face.cli.streams import one_line

inside_flag = inside(f"Serve this folder; it is indexed first. {KEPT}")
write_flag = click.option("--allow-write", is_flag=True, help="Let callers change the index.")
deepen_flag = click.option(
    "--no-deepen", is_flag=True, help="Embed nothing in the background; serve.deepen = false says the same."
)


@click.command("serve", epilog="Example: watersmeet serve --in docs")
@inside_flag
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="Where to listen.")
@click.option("--port", default=7878, show_default=True, type=click.IntRange(0, 65535), metavar="N", help="Which port.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A further name that it goes by.")
@write_flag
@deepen_flag
@common
def serve_command(
    inside: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    allow_write: bool,
    no_deepen: bool,
    index: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Serve REST, MCP over HTTP and a page to search with.

    Without a token it listens on this machine only; see `watersmeet token`. There must be an index, unless callers
    may make one with --allow-write. What no model has read yet is embedded in the background, while nobody asks.
    """
    from watersmeet.face.tokens import Tokens, is_loopback

    tokens = Tokens()
    if not is_loopback(host) and not tokens.all():
        raise ConfigError(
            f"{host} can be reached from elsewhere, and there is no token",
            "make one with `watersmeet token create --scope read`, or leave out --host",
        )
    engine = _engine(inside, index, allow_write, no_deepen, quiet)
    listening = listen(host, port)
    from watersmeet.face.rest.app import make  # only now: it takes a while
    from watersmeet.face.rest.process import run
    from watersmeet.face.service import Service

    service = Service(engine, inside=inside, allow_write=allow_write, say=_say)
    try:
        service.start()
        run(make(service, host, hosts, tokens), host, listening, as_json, quiet)
    finally:
        service.close()


@click.command("mcp", epilog="Example: watersmeet mcp --in docs")
@inside_flag
@write_flag
@deepen_flag
@common
def mcp_command(inside: str, allow_write: bool, no_deepen: bool, index: str, as_json: bool, quiet: bool) -> None:
    """Serve MCP over standard input and output, for an agent that starts this command.

    Where there is no index yet, the tools say so; with --allow-write the agent can make one. What no model has read
    yet is embedded in the background, while nobody asks.
    """
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise ConfigError(
            "standard input or output is closed, and an agent would talk over them",
            "let the agent's program start this command: `watersmeet install CLIENT` tells it how",
        )
    from watersmeet.face.mcp.process import run
    from watersmeet.face.service import Service

    engine = _engine(inside, index, True, no_deepen, quiet)
    service = Service(engine, inside=inside, allow_write=allow_write, say=_say)
    try:
        service.start()
        run(service)
    finally:
        service.close()


def listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, it is sent without delay
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}:{port}: {error.strerror}", "choose another --port") from error
    return listening


def _say(text: str) -> None:
    """For whoever runs the server."""
    print(f"watersmeet: {one_line(text)}", file=sys.stderr, flush=True)


def _engine(inside: str, index: str, may_be_new: bool, no_deepen: bool, quiet: bool) -> Engine:
    flags = {"serve": {"deepen": False}} if no_deepen else {}
    if inside and index:
        raise ConfigError("--in and --index exclude each other", "--in keeps its index in the cache folder")
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
                f"there is no index yet: it is expected in {place}; `watersmeet sync PATH --index {shlex.quote(place)}`"
                " makes it, and from then on it is served",
                file=sys.stderr,
                flush=True,
            )
    return Engine(place, loaded(flags=flags))
