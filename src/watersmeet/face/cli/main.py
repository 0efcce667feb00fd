"""The command `watersmeet`, short `wm`: imports only the module of the command that runs, for quick start-up."""

from __future__ import annotations

import errno
import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from watersmeet.core.actor import by_program
from watersmeet.core.errors import WatersmeetError
from watersmeet.face.cli.misuse import check_text, check_values, nearest_command, usage_error, with_numbers
from watersmeet.face.cli.streams import guard

EVERYDAY = "Commands"
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    EVERYDAY: {
        "sync": ("sync", "Index folders, files and websites, or bring an index up to date."),
        "search": ("search", "Find the passages that answer a query."),
        "ask": ("ask", "Answer a question from the documents, with citations."),
        "get": ("documents", "Show a document or a chunk."),
        "status": ("status", "Show what the index contains."),
        "serve": ("serve", "Serve REST, MCP and a web page."),
        "mcp": ("serve", "Serve MCP over standard input and output, for an agent."),
        "install": ("install", "Add it to an agent: claude-code, cursor, vscode, codex."),
    },
    "Index": {
        "list": ("documents", "List the documents of the index."),
        "tags": ("tags", "List the tags of the documents, with counts."),
        "related": ("documents", "List the documents that a document is linked with."),
        "collection": ("collection", "Show the collections of the index, and change who may see one."),
        "inspect": ("inspect", "Show how a file is parsed: headings, links, tags, chunks."),
        "fetch": ("fetch", "Save the pages of a website as Markdown files, without indexing them."),
        "deepen": ("sync", "Make missing vectors now; sync, serve and mcp do it by themselves."),
        "remove": ("documents", "Remove documents from the index."),
        "import": ("import_", "Take over the documents of another program's index."),
        "clear": ("clear", "Delete the index, caches and settings of this user."),
        "watch": ("watch", "Keep the index up to date while files change."),
        "relocate": ("relocate", "Record that an indexed folder has moved."),
        "work": ("work", "Take jobs of an index on servers: read roots, make vectors, tidy up."),
        "export": ("export", "Write a folder that serves the index alone, elsewhere."),
        "push": ("push", "Move the index to PostgreSQL and Qdrant."),
        "rollback": ("rollback", "Take back the index that there was before sync --recreate."),
        "backup": ("backup", "Write the whole index into one file, while it is used."),
        "restore": ("backup", "Make an index from a backup."),
        "doctor": ("status", "Check the index for problems."),
    },
    "Registry": {
        "register": ("registry", "Register servers with their tools, agents and skills."),
        "find-tools": ("find", "Find the tools to call for a task."),
        "find-entities": ("find", "Find servers, tools, agents and skills in the registry."),
        "set-status": ("registry", "Set the status of an entity: active, beta, deprecated, draft."),
        "enable": ("registry", "Show an entity in searches again."),
        "disable": ("registry", "Hide an entity from searches, but keep it registered."),
        "unregister": ("registry", "Remove an entity from the registry."),
        "check-duplicates": ("registry_checks", "Show which registered entities records would repeat."),
        "review": ("registry_checks", "List descriptions that have changed or look like instructions; accept them."),
        "provenance": ("registry_checks", "Show where a registered entity came from, and when."),
        "embeddings": ("registry_checks", "List entities and tools with a missing or stale vector."),
        "reindex": ("registry_checks", "Make the documents and vectors of entities anew."),
        "pull": ("registry", "Bring the index up to date with the registry's database."),
    },
    "Quality": {
        "eval": ("eval", "Measure the quality of search results, and compare two configurations."),
        "calibrate": ("calibrate", "Learn the weights of an index from judgements."),
        "tune": ("calibrate", "Learn weights, or the encoder of queries, from a judged dataset."),
        "classify": ("classify", "Classify a query."),
    },
    "Administration": {
        "init": ("init", "Write a settings file to begin with."),
        "config": ("config", "Show the settings, or take over those of another program."),
        "trust": ("trust", "Trust the settings file of a folder."),
        "token": ("token", "Create, list and revoke access tokens for a server."),
        "audit": ("audit", "Show who changed what, and when."),
        "uninstall": ("install", "Undo what install changed."),
        "completion": ("completion", "Print a shell completion script."),
    },
}
"""All commands by section of the help: module and summary. `--help` shows the first section, `--help --all` all of
them; the reference has the same sections."""
COMMANDS = {name: command for section in SECTIONS.values() for name, command in section.items()}
EXAMPLES = (
    "watersmeet sync docs && watersmeet search 'how do I sign in?'",
    "watersmeet search 'rotate keys' --in ~/notes",
    "watersmeet install claude-code",
)
GLOSSARY = "docs/glossary.md"
SWITCH_SECONDS = 0.001
"""Thread switch interval: a model that has finished need not wait long for the lexical search."""
ALIASES = {"ingest": "sync", "add": "sync", "update": "sync", "query": "search"}
ALL = "watersmeet.all"
"""Whether the help shows every section."""


class LazyGroup(click.Group):
    """Command group that imports a command's module only when it is called."""

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
            rest = with_numbers(command, rest)
            check_values(command, rest)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader closed the pipe; click would call that a failure
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        before = itertools.takewhile(lambda word: word.startswith("-"), args)
        ctx.meta[ALL] = "--all" in before  # here, because --help prints before a later option is parsed
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
            formatter.write_text("`watersmeet COMMAND --help` shows the options of a command.")
            if not ctx.meta.get(ALL):
                formatter.write_text("`watersmeet --help --all` lists every command.")
            formatter.write_text(f"Terms are explained in {GLOSSARY}.")


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print(ctx.get_help())
        ctx.exit()


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="With --help: list every command.",
)
@click.version_option(package_name="watersmeet", prog_name="watersmeet")
def cli() -> None:
    """Find the passages that answer a query, by fusing several kinds of search.

    Exit codes: 0 found or done, 1 nothing found, 2 error.
    """


def tune_interpreter() -> None:
    """Settings for a process of our own; a program that embeds the engine chooses its own.

    numpy's BLAS starts a thread for each core when it is imported, and these spin for longer than the import takes.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.setswitchinterval(SWITCH_SECONDS)


def main() -> None:
    """The process entry point. It exits at once, without the interpreter's shutdown."""
    tune_interpreter()
    guard()
    code = run()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        pass  # the reader closed the pipe
    except OSError as error:
        if code != 2:  # else it is reported already
            hint = "check its destination: it may be closed, or its disk full"
            code = _failed(f"the output cannot be written: {error.strerror}", hint, 2)
    os._exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; every error is printed as a message with a hint."""
    by_program("cli")
    try:
        return int(cli.main(args=arguments, standalone_mode=False) or 0)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(bool(error.code))
    except (click.Abort, KeyboardInterrupt):
        return _failed("stopped; committed work is kept", "run the same command to continue", 130)
    except click.UsageError as error:
        return _usage_failed(error)
    except click.ClickException as error:
        return _failed(error.format_message(), "", error.exit_code)
    except WatersmeetError as error:
        return _failed(str(error), error.hint, error.exit_code)
    except OSError as error:
        if error.errno == errno.EBADF:
            return _failed("standard input or output is closed", "connect it to a file, a pipe or /dev/null", 2)
        where = f"{error.filename}: " if error.filename else ""
        hint = "check the path, its permissions and the free space on its disk"
        return _failed(f"{where}{error.strerror or error}", hint, 2)
    except Exception as error:  # noqa: BLE001 - the face's boundary: no traceback reaches a user
        from watersmeet.face.crash_log import log_crash

        return _failed(f"unexpected: {type(error).__name__}: {error}", log_crash(error), 2)


def _usage_failed(error: click.UsageError) -> int:
    if isinstance(error, getattr(click.exceptions, "NoArgsIsHelpError", ())):
        error.show()
        return error.exit_code
    return _failed(*usage_error(error), error.exit_code)


def _failed(message: str, hint: str, code: int) -> int:
    print(f"watersmeet: {message}", file=sys.stderr)
    if hint:
        print(f"  hint: {hint}", file=sys.stderr)
    return code
