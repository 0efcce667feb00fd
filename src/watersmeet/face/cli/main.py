"""The command `watersmeet`, short `wm`: finds the command's file and loads no other."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from watersmeet.core.errors import WatersmeetError, nearest

COMMANDS = {
    "sync": ("sync", "Index folders and files, or bring an index up to date."),
    "search": ("search", "Find the passages that answer a query."),
    "get": ("documents", "Show a document or a chunk."),
    "related": ("documents", "Show what a document is linked with."),
    "list": ("documents", "List the documents of the index."),
    "remove": ("documents", "Forget documents."),
    "inspect": ("inspect", "Show what is read from a file: headings, links, tags, chunks."),
    "status": ("status", "Show what the index holds."),
    "doctor": ("status", "Look for anything wrong with the index."),
    "config": ("config", "Show the settings and where they come from."),
}
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
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"no command called {args[0]!r}; {nearest(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with: watersmeet sync docs && watersmeet search 'how do I sign in?'",
)
@click.version_option(package_name="watersmeet", prog_name="watersmeet")
def cli() -> None:
    """Find the few passages that answer a query, by letting several kinds of search vote.

    Exit codes: 0 found or done, 1 nothing found, 2 error.
    """


def main() -> None:
    """Run a command; whatever goes wrong is said in a sentence, with what to do."""
    try:
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        _fail("stopped; what was committed is kept", "", 130)
    except KeyboardInterrupt:
        _fail("stopped; what was committed is kept", "", 130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except WatersmeetError as error:
        _fail(str(error), error.hint, error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the face's boundary: no traceback reaches a user
        from watersmeet.face.cli.crash import keep

        _fail(f"unexpected: {type(error).__name__}: {error}", f"this is a defect; the details are in {keep(error)}", 2)


def _fail(message: str, hint: str, code: int) -> None:
    print(f"watersmeet: {message}", file=sys.stderr)
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)
    sys.exit(code)
