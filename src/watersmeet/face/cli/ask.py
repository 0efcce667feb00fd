"""`watersmeet ask`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.files import replace_file
from watersmeet.core.place import located
from watersmeet.engine.ask.model import AnswerText, Turn, last_turns
from watersmeet.engine.engine import Engine
from watersmeet.engine.index.location import find_index, index_in
from watersmeet.face.ask import AskParams, run_ask
from watersmeet.face.cli.common import CACHE_NOTE, common, inside, loaded, not_empty, print_json, print_line
from watersmeet.face.cli.params import flags, from_flags
from watersmeet.face.search import filters_of

MAX_HISTORY_BYTES = 1_000_000


@click.command(
    "ask",
    epilog="Examples: watersmeet ask 'how do I rotate keys?' | wm ask 'how often?' --history talk.json --stream",
)
@click.argument("question", nargs=-1, required=True, metavar="QUESTION")
@inside(f"Ask about this folder; it is indexed first, or brought up to date. {CACHE_NOTE}")
@click.option("--stream", is_flag=True, help="Print the answer as it grows, a statement at a time.")
@click.option(
    "--history",
    default="",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    callback=not_empty,
    help="The turns before, as JSON; this one is added. The last ten count, and the file is made if it is missing.",
)
@flags(AskParams, without=("question",))
@common
def ask_command(
    question: tuple[str, ...],
    inside: str,
    stream: bool,
    history: str,
    filters: tuple[str, ...],
    index: str,
    as_json: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Answer QUESTION from the documents, with citations.

    Without a chat model in the settings, the best sentences are quoted. [1] is a citation that was checked: passage 1
    supports the statement; [1?] is one that was not confirmed. If the documents do not answer the question, the
    answer says so, and the exit code is 1.
    """
    params = from_flags(AskParams, values, question=" ".join(question), filters=filters_of(filters) if filters else {})
    turns = read_history(history) if history else ()
    streaming = stream and not as_json
    with Engine(_place(inside, index, quiet or as_json), loaded(start=inside or ".")) as engine:
        found = run_ask(engine, params, turns, on_text=_print_part if streaming else None)
    if history:
        write_history(history, [*turns, found.turn])
    if as_json:
        print_json(found.to_json())
    else:
        print(file=sys.stdout) if streaming else print(found.answer)
        _print_sources(found, quiet)
    if found.no_good_match:
        sys.exit(1)


def _place(inside: str, index: str, quiet: bool) -> str:
    if not inside:
        return find_index(index)
    if index:
        raise ConfigError("--in and --index cannot be combined", "--in has its own index in the cache folder")
    from watersmeet.face.cli.search import sync_first

    indexing = sync_first(inside, loaded(start=inside), quiet)
    if indexing is not None and not quiet:
        print(f"note: {indexing.note}", file=sys.stderr)
    return index_in(inside)


def _print_part(text: str) -> None:
    print(text, end="", flush=True)


def _print_sources(found: AnswerText, quiet: bool) -> None:
    """The cited passages below the answer, and what is not supported."""
    if found.citations:
        print()
    for one in found.citations:
        place = located(one.document, one.place.where) if one.id else "not among the passages"
        print_line(f"[{one.n}] {place}" if one.checked else f"[{one.n}?] {place} (unchecked)")
    if quiet or found.no_good_match or not found.statements:
        return
    unsupported = sum(not one.checked for one in found.statements)
    if unsupported:
        total = len(found.statements)
        print(f"note: {unsupported} of {total} statements are not supported by what they cite", file=sys.stderr)


# ---------------------------------------------------------------- history


def read_history(path: str) -> tuple[Turn, ...]:
    """The last turns of a history file; none if there is no such file."""
    if not os.path.exists(path):
        return ()
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_HISTORY_BYTES + 1)
        if len(content) > MAX_HISTORY_BYTES:
            raise SourceProblem(f"{path} is larger than {MAX_HISTORY_BYTES} bytes", "begin another history")
        return last_turns([_turn(one) for one in _list(json.loads(content))])
    except OSError as error:
        raise SourceProblem(f"{path} cannot be read: {error.strerror}", "check the path and its permissions") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        hint = 'it is a list of {"question": ..., "answer": ...}; name another file to begin anew'
        raise SourceProblem(f"{path} is no history of questions", hint) from error


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _turn(value: Any) -> Turn:
    fields = [value["question"], value.get("answer", ""), value.get("query", "")]
    if not all(isinstance(one, str) for one in fields) or not fields[0]:
        raise TypeError("not text")
    return Turn(*fields)


def write_history(path: str, turns: Sequence[Turn]) -> None:
    content = json.dumps([turn.to_json() for turn in last_turns(turns)], ensure_ascii=False, indent=1)
    try:
        replace_file(os.path.realpath(path), f"{content}\n".encode())
    except OSError as error:
        raise SourceProblem(f"{path} cannot be written: {error.strerror}", "check the path and its folder") from error
