"""The command `watersmeet`, short `wm`: finds the command's file and loads no other."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from watersmeet.core.errors import WatersmeetError
from watersmeet.face.cli.misuse import check_text, check_values, explained, nearest_command
from watersmeet.face.cli.streams import guard

COMMANDS = {
    "sync": ("sync", "Index folders and files, or bring an index up to date."),
    "deepen": ("sync", "Embed what no model has seen yet."),
    "search": ("search", "Find the passages that answer a query."),
    "find-tools": ("find", "Name the tools to call for a task."),
    "find-entities": ("find", "Find servers, tools, agents and skills of the registry."),
    "classify": ("classify", "Say what sort of query it is."),
    "get": ("documents", "Show a document or a chunk."),
    "related": ("documents", "Show what a document is linked with."),
    "list": ("documents", "List the documents of the index."),
    "remove": ("documents", "Forget documents."),
    "relocate": ("relocate", "Say that a folder of the index lies elsewhere now."),
    "inspect": ("inspect", "Show what is read from a file: headings, links, tags, chunks."),
    "register": ("registry", "Register servers with their tools, agents and skills."),
    "unregister": ("registry", "Forget what is registered under a path."),
    "set-status": ("registry", "Say how far along something is: active, beta, deprecated, draft."),
    "enable": ("registry", "Let searches find something again."),
    "disable": ("registry", "Keep something registered, and out of searches."),
    "status": ("status", "Show what the index holds."),
    "doctor": ("status", "Look for anything wrong with the index."),
    "eval": ("eval", "Measure how good the answers are, and whether a change made them better."),
    "serve": ("serve", "Serve REST, MCP and a page to search with."),
    "install": ("install", "Let an agent's program use it: claude-code, cursor, vscode, codex."),
    "uninstall": ("install", "Take out what install put in."),
    "completion": ("completion", "Print what makes a shell complete commands and flags."),
    "mcp": ("serve", "Serve MCP to an agent over standard input and output."),
    "token": ("token", "Make, list and revoke the tokens that a server asks for."),
    "calibrate": ("calibrate", "Move the weights of an index by evidence."),
    "tune": ("calibrate", "Learn weights from a judged dataset, and say what they are worth."),
    "trust": ("trust", "Let all settings that lie in a folder count."),
    "config": ("config", "Show the settings and where they come from."),
}
COLLECT = 50_000
"""A command is short, with little to collect; a query of a server makes and drops thousands of small things."""
TURN = 0.001
"""After so many seconds a thread lets another go on: a model that is done need not wait for the words."""
ALIASES = {"ingest": "sync", "query": "search"}


class LazyGroup(click.Group):
    """Commands by name; a command's module is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"watersmeet.face.cli.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(
                f"no command called {args[0]!r}; {nearest_command(args[0], [*COMMANDS, *ALIASES])}", ctx
            )
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # which is how a shell completes
            check_text(rest)
            check_values(command, rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # whoever read it had enough; click would call that a failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            listed = [(name, text) for name, (_, text) in COMMANDS.items()]
            formatter.write_dl([*listed, *((alias, f"The same as {name}.") for alias, name in ALIASES.items())])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: watersmeet sync docs && watersmeet search 'how do I sign in?'\n\n"
    "Or, for servers and tools: watersmeet register servers.json && watersmeet find-tools 'take a screenshot'",
)
@click.version_option(package_name="watersmeet", prog_name="watersmeet")
def cli() -> None:
    """Find the few passages that answer a query, by letting several kinds of search vote.

    Exit codes: 0 found or done, 1 nothing found, 2 error.
    """


def be_quick() -> None:
    """What suits a process that only answers; who has the engine in a program of their own decides for themselves."""
    gc.set_threshold(COLLECT)
    sys.setswitchinterval(TURN)


def main() -> None:
    """The command as a process: it ends at once, without taking apart what ends with it anyway."""
    be_quick()
    guard()
    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # whoever read it had enough
    except OSError as error:
        if code != 2:  # else it is said already
            hint = "check where it goes: it may be closed, or its disk full"
            code = _failed(f"the output cannot be written: {error.strerror}", hint, 2)
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; whatever goes wrong is said in a sentence, with what to do."""
    try:
        return int(cli.main(args=arguments, standalone_mode=False) or 0)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(bool(error.code))
    except (click.Abort, KeyboardInterrupt):
        return _failed("stopped; what was committed is kept", "the same command goes on from there", 130)
    except click.UsageError as error:
        return _misused(error)
    except click.ClickException as error:
        return _failed(error.format_message(), "", error.exit_code)
    except WatersmeetError as error:
        return _failed(str(error), error.hint, error.exit_code)
    except OSError as error:
        if error.errno == errno.EBADF:
            return _failed("standard input or output is closed", "connect it with a file, a pipe or /dev/null", 2)
        where = f"{error.filename}: " if error.filename else ""
        hint = "check the path, its permissions and the room on its disk"
        return _failed(f"{where}{error.strerror or error}", hint, 2)
    except Exception as error:  # noqa: BLE001 - the face's boundary: no traceback reaches a user
        from watersmeet.face.cli.crash import keep

        hint = f"this is a defect; the details are in {keep(error)}"
        return _failed(f"unexpected: {type(error).__name__}: {error}", hint, 2)


def _misused(error: click.UsageError) -> int:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return error.exit_code
    return _failed(*explained(error), error.exit_code)


def _failed(message: str, hint: str, code: int) -> int:
    print(f"watersmeet: {message}", file=sys.stderr)
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)
    return code
