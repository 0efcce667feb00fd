"""An option that there is not, or that lacks its value, is never taken for something else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from watersmeet.face.cli.main import COMMANDS, cli, run
from watersmeet.face.cli.misuse import EXAMPLES, FOREIGN_NAMES, example

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]


def commands() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {below}", command.commands[below]) for below in command.commands)
        else:
            yield name, command


OPTIONS = [
    (name, option)
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag and not isinstance(option.flag_value, int)
]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [name for name, _ in commands()])
def test_an_unknown_option_is_refused_by_every_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "--jsno"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("watersmeet: unknown option --jsno\n  hint: did you mean --json?")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda given: getattr(given, "name", given))
def test_an_option_without_its_value_is_refused(
    name: str, option: click.Option, capsys: pytest.CaptureFixture[str]
) -> None:
    for written in option.opts:
        for rest in ([], ["--json"], ["--help"]):
            assert run([*name.split(), written, *rest]) == 2
            said = capsys.readouterr()
            assert said.out == ""
            assert f"option {option.opts[0]} needs a value\n  hint: for example {example(option)}\n" in said.err


@pytest.mark.slow
@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=lambda given: getattr(given, "name", given))
def test_the_example_of_an_option_is_one(name: str, option: click.Option) -> None:
    value = example(option).split(" ", 1)[1].strip("'")
    option.type.convert(value, option, None)
    assert value not in ("VALUE", option.metavar)


def test_examples_are_of_options_that_there_are() -> None:
    known = {flag for _, option in OPTIONS for flag in option.opts}
    assert set(EXAMPLES) <= known


@pytest.mark.slow
def test_the_nearest_option_is_named_and_how_to_look_for_the_text(run: Run) -> None:
    done = run("search", "--foo", "bar")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("watersmeet: unknown option --foo\n  hint: did you mean --format?")
    assert "`watersmeet search -- --foo`" in done.stderr
    assert run("search", "-7").returncode == 2


@pytest.mark.slow
def test_a_query_may_begin_with_a_dash(ask: Ask) -> None:
    assert ask("search", "--", "--no-telemetry")["results"][0]["document"] == "guides/setup.md"
    assert ask("search", "-n", "1", "--", "--json", "keys")["query"] == "--json keys"
    assert ask("find-tools", "--", "-x", code=1)["task"] == "-x"


def test_an_option_before_the_command_is_told_where_it_goes(run: Run) -> None:
    done = run("--json", "search", "keys")
    assert done.returncode == 2
    assert "unknown option --json" in done.stderr
    assert "after the command" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (["ls"], "did you mean 'list'?"),
        (["index", "."], "did you mean 'sync'?"),
        (["help"], "did you mean '--help'?"),
        (["serach", "keys"], "did you mean 'search'?"),
        (["--hlep"], "did you mean --help?"),
        (["--help", "--al"], "did you mean --all?"),
        (["--versoin"], "did you mean --version?"),
        (["search", "keys", "-k", "3"], "did you mean --top-n?"),
        (["search", "keys", "--type", "document"], "did you mean --kind?"),
        (["find-entities", "keys", "-k", "3"], "did you mean --top-n?"),
        (["sync", ".", "--includ", "*.md"], "did you mean --include?"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_what_other_programs_call_it_is_understood(run: Run, written: list[str], meant: str) -> None:
    done = run(*written)
    assert (done.returncode, done.stdout) == (2, "")
    assert meant in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["-n", "--limit", "--max-results", "--top-k", "--topK"])
def test_how_many_results_goes_by_other_names_too(ask: Ask, flag: str) -> None:
    assert len(ask("search", "keys setup")["results"]) > 1
    assert len(ask("search", "keys setup", flag, "1")["results"]) == 1
    takes = {name for name, option in OPTIONS if flag in option.opts and "--top-n" in option.opts}
    assert takes == {"search", "related", "find-tools", "find-entities", "list", "audit"}


@pytest.mark.slow
def test_nothing_unlike_is_suggested(run: Run) -> None:
    assert "did you mean" not in run("find-tools", "keys", "--filter", "a=b").stderr


def test_other_programs_words_stand_for_what_there_is() -> None:
    flags = {flag for _, command in commands() for option in command.params for flag in option.opts}
    for written, meant in FOREIGN_NAMES.items():
        assert meant in (flags if written.startswith("-") else {*COMMANDS, "--help"})
        assert written not in COMMANDS


@pytest.mark.slow
def test_the_example_of_a_document_is_one(run: Run) -> None:
    """`--exclude` takes a document in a search, and a pattern in a sync."""
    assert "for example --exclude guides/setup.md" in run("search", "keys", "--exclude").stderr
    assert "for example --exclude 'drafts/**'" in run("sync", ".", "--exclude").stderr
