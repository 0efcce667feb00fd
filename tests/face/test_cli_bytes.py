"""Arguments that are no text, for every command: an error in a sentence, whatever they stand for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.core.model import Request
from watersmeet.face.cli.main import COMMANDS, cli, run

BAD = os.fsdecode(b"caf\xff")
HALF = "\ud800 half a pair"


def calls() -> Iterator[list[str]]:
    """Every command with such an argument, and with each option that takes a value."""
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        below = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for inner, found in below:
            start = [name, inner] if inner else [name]
            yield [*start, BAD]
            yield [*start, "x", BAD]
            options = [one for one in found.params if isinstance(one, click.Option) and not one.is_flag]
            yield from ([*start, "x", option.opts[0], BAD] for option in options)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", list(calls()), ids=ascii)
def test_every_command_says_that_it_is_no_text(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("watersmeet: not valid UTF-8: caf\\xff\n  hint: ")
    assert os.listdir(tmp_path) == ["home"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [BAD, HALF, "a\0b"], ids=ascii)
def test_nothing_in_an_index_is_called_so(engine: Engine, vault: Path, name: str) -> None:
    """Through Python, and so through every server: nothing is found, and no codec complains."""
    engine.sync([vault])
    engine.registry.register(b'{"path": "/clock", "server_name": "clock", "description": "Tells the time"}')
    registry = engine.registry
    for ask in (
        engine.get,
        engine.related,
        engine.remove,
        registry.unregister,
        registry.enable,
        registry.disable,
        registry.get,
        lambda path: registry.set_status(path, "beta"),
        lambda path: engine.sync([path]),
    ):
        with pytest.raises(WatersmeetError):
            ask(name)
    assert engine.why_not(Request("keys"), name).reason == "the index has no such document"
    assert engine.search(name).query == name
    assert len(engine.documents()) == 5


def test_folders_of_such_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / BAD
    folder.mkdir()
    (folder / "a.md").write_text("# A\n")
    monkeypatch.chdir(folder)
    for arguments in (["sync", "."], ["search", "a", "--in", "."], ["sync", ".", "--index", str(tmp_path / "index")]):
        assert run(arguments) == 2
        assert "name is not valid UTF-8\n  hint: rename" in capsys.readouterr().err
