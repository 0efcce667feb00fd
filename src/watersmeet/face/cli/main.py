"""The command `watersmeet`, short `wm`: finds the command's file and loads no other."""

from __future__ import annotations

import errno
import gc
import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from watersmeet.core.errors import WatersmeetError
from watersmeet.face.cli.misuse import check_text, check_values, explained, nearest_command
from watersmeet.face.cli.streams import guard

EVERYDAY = "Commands"
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    EVERYDAY: {
        "sync": ("sync", "Index folders and files, or bring an index up to date."),
        "search": ("search", "Find the passages that answer a query."),
        "get": ("documents", "Show a document or a chunk."),
        "status": ("status", "Show what the index holds."),
        "serve": ("serve", "Serve REST, MCP and a page to search with."),
        "mcp": ("serve", "Serve MCP to an agent over standard input and output."),
        "install": ("install", "Let an agent's program use it: claude-code, cursor, vscode, codex."),
    },
    "Index": {
        "list": ("documents", "List the documents of the index."),
        "related": ("documents", "Show what a document is linked with."),
        "inspect": ("inspect", "Show what is read from a file: headings, links, tags, chunks."),
        "deepen": ("sync", "Embed now what no model has seen yet; sync, serve and mcp do it by themselves."),
        "remove": ("documents", "Forget documents."),
        "relocate": ("relocate", "Say that a folder of the index lies elsewhere now."),
        "doctor": ("status", "Look for anything wrong with the index."),
    },
    "Registry": {
        "register": ("registry", "Register servers with their tools, agents and skills."),
        "find-tools": ("find", "Name the tools to call for a task."),
        "find-entities": ("find", "Find servers, tools, agents and skills of the registry."),
        "set-status": ("registry", "Say how far along something is: active, beta, deprecated, draft."),
        "enable": ("registry", "Let searches find something again."),
        "disable": ("registry", "Keep something registered, and out of searches."),
        "unregister": ("registry", "Forget what is registered under a path."),
    },
    "Quality": {
        "eval": ("eval", "Measure how good the answers are, and whether a change made them better."),
        "calibrate": ("calibrate", "Move the weights of an index by evidence."),
        "tune": ("calibrate", "Learn weights from a judged dataset, and say what they are worth."),
        "classify": ("classify", "Say what sort of query it is."),
    },
    "Administration": {
        "config": ("config", "Show the settings and where they come from."),
        "trust": ("trust", "Let all settings that lie in a folder count."),
        "token": ("token", "Make, list and revoke the tokens that a server asks for."),
        "uninstall": ("install", "Take out what install put in."),
        "completion": ("completion", "Print what makes a shell complete commands and flags."),
    },
}
"""Every command, once, in the section of the help that shows it: its module and one line. `--help` shows the first
section, `--help --all` all of them; the reference has the same sections."""
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
EXAMPLES = (
    "watersmeet sync docs && watersmeet search 'how do I sign in?'",
    "watersmeet search 'rotate keys' --in ~/notes",
    "watersmeet install claude-code",
)
GLOSSARY = "docs/glossary.md"
COLLECT = 50_000
"""A command is short, with little to collect; a query of a server makes and drops thousands of small things."""
TURN = 0.001
"""After so many seconds a thread lets another go on: a model that is done need not wait for the words."""
ALIASES = {"ingest": "sync", "query": "search"}
ALL = "watersmeet.all"
"""Whether the help shows every section."""


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

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = itertools.takewhile(lambda word: word.startswith("-"), args)
        ctx.meta[ALL] = "--all" in before  # here, for --help prints before an option behind it is read
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            if title == EVERYDAY or ctx.meta.get(ALL):
                with formatter.section(title):
                    formatter.write_dl([(name, text) for name, (_, text) in commands.items()])
        if ctx.meta.get(ALL):
            with formatter.section("Aliases"):
                formatter.write_dl([(alias, f"The same as {name}.") for alias, name in ALIASES.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in EXAMPLES:
                formatter.write_text(example)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text("`watersmeet COMMAND --help` shows what a command takes.")
            if not ctx.meta.get(ALL):
                formatter.write_text("`watersmeet --help --all` lists every command.")
            formatter.write_text(f"The words that it uses are explained in {GLOSSARY}.")


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print(ctx.get_help())
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--all", is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help="With --help: every command."
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
        from watersmeet.face.cli.crash_log import keep

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
