"""Usage errors of the command line: what is wrong, and a hint with the right form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import click

from watersmeet.core.errors import nearest
from watersmeet.core.names import is_text, printable

EXAMPLES = {
    "--accept": "/weather#forecast=5f1c0a9b3d2e",
    "--access-log": "access.log",
    "--against": "notes",
    "--against-run": "other.run",
    "--allow-host": "search.example.org",
    "--as": "notes",
    "--audience": "group:staff",
    "--before": "2026-01-31",
    "--budget": "2000",
    "--collection": "work",
    "--command": "'uvx watersmeet'",
    "--config": "watersmeet.toml",
    "--csv": "queries.csv",
    "--dir": "notes",
    "--exclude": "'drafts/**'",
    "--expand": "section",
    "--expires": "30d",
    "--export": "judgements.jsonl",
    "--filter": "tag=setup",
    "--foreign": "data/med",
    "--format": "pdf,docx",
    "--gate": "gate.json",
    "--group": "research",
    "--history": "talk.json",
    "--host": "0.0.0.0",  # noqa: S104 - an example
    "--in": "docs",
    "--include": "'*.md'",
    "--index": ".watersmeet",
    "--intent": "'a report for the board'",
    "--judgements": "judgements.jsonl",
    "--kind": "document",
    "--meta": "sdk=python",
    "--metadata-field": "team.name",
    "--min-confidence": "0.5",
    "--min-score": "0.5",
    "--minutes": "5",
    "--mode": "hybrid",
    "--name": "laptop",
    "--out": "recipe.toml",
    "--output": "docs",
    "--pin": "forecast",
    "--recipe": "default",
    "--report": "report.html",
    "--root": "~/notes",
    "--run-out": "mine.run",
    "--save": "result.json",
    "--server": "/context7",
    "--since": "7d",
    "--sort": "modified",
    "--tag": "setup",
    "--texts": "imported",
    "--to": "'postgresql://search@db.example.org/search?index=docs'",
    "--type": "skill",
    "--user": "ann",
    "--version": "18.x",
}
"""An example value for each option whose type does not imply one."""

DOCUMENT = "guides/setup.md"
"""The example for options that take a document: `--exclude` takes one in a search, and a pattern in a sync."""

FOREIGN_NAMES = {
    "--collection": "--filter",
    "--path": "--filter",
    "--type": "--kind",
    "-k": "--top-n",
    "add": "sync",
    "answer": "ask",
    "chat": "ask",
    "cat": "get",
    "delete": "remove",
    "find": "search",
    "help": "--help",
    "index": "sync",
    "info": "status",
    "ls": "list",
    "open": "get",
    "rm": "remove",
    "show": "get",
    "update": "sync",
}
"""Names that other programs use, and ours for the same."""


def nearest_command(written: str, commands: Iterable[str]) -> str:
    """The hint for an unknown command."""
    return f"did you mean {FOREIGN_NAMES[written]!r}?" if written in FOREIGN_NAMES else nearest(written, commands)


def example(option: click.Parameter) -> str:
    """An option with an example value."""
    name = next((name for name in option.opts if name.startswith("--")), option.opts[0])
    if isinstance(option.type, click.Choice):
        return f"{name} {option.type.choices[0]}"
    if name not in EXAMPLES and option.type.name.startswith("integer"):
        return f"{name} {option.default if isinstance(option.default, int) else 10}"
    if option.metavar == "DOC":
        return f"{name} {DOCUMENT}"
    return f"{name} {EXAMPLES.get(name, option.metavar or 'VALUE')}"


def check_values(command: click.Command, arguments: Sequence[str]) -> None:
    """Check that every option that needs a value has one: not the end of the line, and not another option."""
    rest = list(arguments)
    while isinstance(command, click.Group) and rest:
        command, rest = command.commands.get(rest[0], click.Command("")), rest[1:]
    options = {name: option for option in command.params for name in option.opts if isinstance(option, click.Option)}
    while rest and rest[0] != "--":
        option = options.get(rest.pop(0))
        if option is not None and not option.is_flag and (not rest or rest.pop(0) in (*options, "--help")):
            raise MissingValue(option)


def with_numbers(command: click.Command, arguments: Sequence[str]) -> list[str]:
    """The arguments with the number of an option that may be written without one: `--open` is `--open=1`."""
    numbers = {
        name: option.flag_value
        for option in command.params
        for name in option.opts
        if isinstance(option, click.Option) and not option.is_flag and isinstance(option.flag_value, int)
    }
    return [
        f"{word}={numbers[word]}" if word in numbers and not after.isdecimal() else word
        for word, after in pairwise([*arguments, ""])
    ]


def check_text(arguments: Sequence[str]) -> None:
    """Check that all arguments are UTF-8: an index cannot store other names."""
    for argument in arguments:
        if not is_text(argument):
            raise Unreadable(f"not valid UTF-8: {printable(argument)}")


class Unreadable(click.UsageError):
    """An argument that is not UTF-8."""

    hint = "write it in UTF-8; rename a file or folder with such a name first"


class MissingValue(click.UsageError):
    """An option without its value."""

    def __init__(self, option: click.Parameter) -> None:
        super().__init__(f"option {option.opts[0]} needs a value")
        self.hint = f"for example {example(option)}"


def usage_error(error: click.UsageError) -> tuple[str, str]:
    """The message and the hint for a usage error."""
    if isinstance(error, MissingValue | Unreadable):
        return error.message, error.hint
    path = error.ctx.command_path if error.ctx else "watersmeet"
    usual = f"`{path} --help` shows what it takes"
    if isinstance(error, click.NoSuchOption) and error.ctx:
        return f"unknown option {error.option_name}", _option_hint(error.option_name, error.ctx) or usual
    return error.format_message().rstrip("."), usual


def _option_hint(written: str, context: click.Context) -> str:
    import difflib

    valid = [name for option in context.command.params for name in option.opts if name.startswith("-")]
    if isinstance(context.command, click.Group):
        valid = ["--help", *valid]
        close = difflib.get_close_matches(written, valid, 1, 0.7)
        after = f"options come after the command: `{context.command_path} COMMAND {written}`"
        return f"did you mean {close[0]}? Or, {after}" if close else after
    plain = {name.lstrip("-"): name for name in valid}
    alike = difflib.get_close_matches(written.lstrip("-"), plain, 1)
    begins = [name for name in difflib.get_close_matches(written, valid, 5) if name[:3] == written[:3]]
    usual = [name for name in [FOREIGN_NAMES.get(written, "")] if name in valid]
    close = usual or [plain[name] for name in alike] or begins
    parts = [f"did you mean {close[0]}?"] if close else []
    if any(isinstance(param, click.Argument) and param.nargs == -1 for param in context.command.params):
        parts.append(f"if it is not an option, write -- before it: `{context.command_path} -- {written}`")
    return " Or, ".join(parts)
