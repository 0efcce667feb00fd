"""Whatever is wrong is said on stderr in a sentence, with what to do; the exit code is 2, or 1 for an unknown id."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def fails(done: subprocess.CompletedProcess[str], *said: str, code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    message, hint, *rest = done.stderr.splitlines()
    assert message.startswith("watersmeet: ")
    assert hint.startswith("  hint: ")
    assert rest == []
    assert "unexpected:" not in message
    for part in said:
        assert part in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch", "keys"], ["'serch'", "did you mean 'search'?"]),
        (["config", "shwo"], ["shwo"]),
        (["search", "keys", "--mdoe", "lexical"], ["unknown option --mdoe", "did you mean --mode?"]),
        (["search"], ["QUERY", "watersmeet search --help"]),
        (["search", "keys", "--mode", "lexcal"], ["'lexcal'", "'lexical'"]),
        (["search", "keys", "--recipe", "defualt"], ["'defualt'", "'default'"]),
        (["search", "keys", "--filter", "tag"], ["'tag'", "key=value"]),
        (["search", "keys", "--filter", "=x"], ["key=value"]),
        (["search", "keys", "--since", "yesterday"], ["'yesterday'", "7d"]),
        (["search", "keys", "--before", "2026-13-01"], ["'2026-13-01'"]),
        (["search", "keys", "--since", "99999y"], ["'99999y'"]),
        (["search", "keys", "--top-n", "0"], ["--top-n", "1<=x<=1000"]),
        (["search", "keys", "--top-n", "many"], ["--top-n", "many"]),
        (["search", "keys", "--index", "nowhere"], ["nowhere", "watersmeet sync PATH"]),
        (["search", "keys", "--in", "nowhere"], ["nowhere", "spelling"]),
        (["search", "keys", "--in", ".", "--index", "nowhere"], ["--in and --index cannot be combined"]),
        (["sync", ""], ["an empty path"]),
        (["sync", "guides", ""], ["an empty path"]),
        (["sync", "nowhere"], ["nowhere", "spelling"]),
        (["sync", "guides", "nowhere"], ["nowhere"]),
        (["sync", ".", "--meta", "sdk"], ["'sdk'", "--meta sdk=python"]),
        (["sync", ".", "--include", "["], ["'['", "cannot match any file"]),
        (["sync", ".", "--index", "ideas.txt"], ["ideas.txt"]),
        (["related"], ["ID"]),
        (["related", "index.md", "-n", "0"], ["--top-n"]),
        (["remove"], ["DOC"]),
        (["list", "keys", "more"], ["more"]),
        (["inspect"], ["FILE"]),
        (["inspect", "nowhere.md"], ["nowhere.md"]),
        (["inspect", "."], ["not a file"]),
        (["status", "--index", "guides"], ["guides", "watersmeet sync PATH"]),
        (["doctor", "--index", "nowhere"], ["nowhere"]),
        (["config", "show", "--recipe", "nots"], ["'nots'"]),
    ],
    ids=" ".join,
)
def test_a_mistake_is_named_with_a_hint(run: Run, arguments: list[str], said: list[str]) -> None:
    fails(run(*arguments), *said)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["get", "related", "remove"])
def test_an_unknown_id_is_not_found(run: Run, command: str) -> None:
    fails(run(command, "guides/kyes.md"), "'guides/kyes.md'", code=1)
    fails(run(command, "0123456789abcdef"), "watersmeet list", code=1)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["kyes", "guides/key", "guides/kyes.md", "/guides/keyz.md", "Kes"])
def test_an_id_that_was_meant_is_suggested(run: Run, written: str) -> None:
    fails(run("get", written), "did you mean 'guides/keys.md'", code=1)


@pytest.mark.slow
def test_no_index(run: Run, tmp_path: Path) -> None:
    for command in (
        ["search", "keys"],
        ["get", "x"],
        ["related", "x"],
        ["list"],
        ["remove", "x"],
        ["status"],
        ["doctor"],
    ):
        fails(run(*command, cwd=tmp_path), "there is no index", "watersmeet sync PATH")


@pytest.mark.slow
def test_no_command_shows_the_help(run: Run) -> None:
    done = run()
    assert done.returncode == 2
    assert "Commands:" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fusion = \n", ["watersmeet.toml", "line 1"]),
        ("[fusoin.rrf]\nk = 1\n", ["watersmeet.toml", "'fusoin'", "'fusion'"]),
        ("[fusion.rff]\nk = 1\n", ["'rff'", "'rrf'"]),
        ("[fusion.rrf]\nkk = 1\n", ["watersmeet.toml", "'kk'", "'k'"]),
        ("[fusion.rrf]\nk = 'many'\n", ["watersmeet.toml", "fusion.rrf.k", "a whole number", "'many'"]),
        ("[pipeline]\nsignals = ['lexicl']\n", ["watersmeet.toml", "pipeline.signals", "'lexicl'", "'lexical'"]),
        ("[pipeline]\nsignals = 'lexical'\n", ["pipeline.signals", "a list"]),
        ("[index]\ntext = 'fts'\n", ["index.text", "'fts'", "'fts5'"]),
        ("[writer]\nbatch_chunk = 5\n", ["'batch_chunk'", "'batch_chunks'"]),
        ("recipe = 3\n", ["recipe must be text"]),
        ("recipe = 'defualt'\n", ["'defualt'", "'default'"]),
        ("fusion = 'rrf'\n", ["'fusion' is a table"]),
        ("[fusion]\nrrf = 1\n", ["[fusion.rrf]"]),
    ],
)
def test_a_broken_settings_file(run: Run, synced: Path, tmp_path: Path, text: str, said: list[str]) -> None:
    (tmp_path / "watersmeet.toml").write_text(text)
    fails(run("search", "keys", "--index", str(synced / ".watersmeet"), cwd=tmp_path), *said)


@pytest.mark.slow
def test_a_broken_environment(run: Run) -> None:
    fails(run("search", "keys", WATERSMEET__FUSION__RRF__KK="3"), "environment", "'kk'", "'k'")
    fails(run("status", WATERSMEET__FUSOIN__RRF__K="3"), "environment", "'fusoin'", "'fusion'")
    fails(run("search", "keys", WATERSMEET__FUSION__RRF__K="many"), "environment", "fusion.rrf.k")
    fails(run("config", "show", WATERSMEET__RECIPE="x"), "no recipe called 'x'")


def test_a_settings_file_that_is_no_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "watersmeet.toml").write_bytes(b"\xff\xfe\x00")
    fails(run("config", "show", cwd=tmp_path), "cannot be read", "UTF-8")


@pytest.mark.slow
def test_an_index_that_is_damaged(run: Run, fresh: Path) -> None:
    run("sync", ".", "--quiet", cwd=fresh)
    for name in os.listdir(fresh / ".watersmeet"):
        if name.startswith("catalogue.db"):
            (fresh / ".watersmeet" / name).write_bytes(b"not a database" * 500)
    fails(run("search", "keys", cwd=fresh), "--recreate")
    ill = run("doctor", cwd=fresh)
    assert ill.returncode == 2
    assert "PROBLEM" in ill.stdout
    assert "--recreate" in ill.stdout


@pytest.mark.kill
def test_a_reader_that_goes_away_is_no_error(synced: Path) -> None:
    script = (
        "import sys, os; from watersmeet.face.cli.main import run; sys.argv[0] = 'watersmeet';"
        "sys.stdout = open(1, 'w', buffering=1); os._exit(run(['list']))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=synced, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_a_full_disk_is_said(synced: Path) -> None:
    script = "from watersmeet.face.cli.main import main; main()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "list"], cwd=synced, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_filter_that_no_document_can_satisfy_is_explained(run: Run) -> None:
    done = run("search", "keys", "--filter", "tagg=security")
    assert done.returncode == 1
    assert "no document has the field 'tagg'; did you mean 'tag'?" in done.stderr


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_no_part_of_the_index(run: Run, fresh: Path) -> None:
    picture = fresh / "picture.png"
    picture.write_bytes(b"\x89PNG")
    fails(run("sync", str(picture), cwd=fresh.parent), "picture.png", "not a kind of file that can be read", "markdown")
    fails(run("sync", str(picture), "--include", "*.png", cwd=fresh.parent), "no parser reads this ending", "markdown")
    assert not (fresh.parent / ".watersmeet").exists()
    assert run("sync", "guides", "--quiet", cwd=fresh).returncode == 0
    fails(run("sync", "picture.png", "--json", cwd=fresh), "picture.png")
    assert run("list", cwd=fresh).stdout.startswith("keys.md\t")  # no second root, so no name in front
    mixed = run("sync", "guides", "picture.png", "--json", cwd=fresh)
    assert mixed.returncode == 0
    assert [item["path"] for item in json.loads(mixed.stdout)["skipped"]] == [str(picture)]
    assert run("list", cwd=fresh).stdout.startswith("keys.md\t")


@pytest.mark.slow
def test_a_folder_of_which_nothing_can_be_read(run: Run, fresh: Path) -> None:
    folder = fresh / "broken"
    folder.mkdir()
    empty = run("sync", "broken", cwd=fresh)
    assert (
        empty.returncode,
        "no file that can be read; formats that can be read: asciidoc, code, csv" in empty.stdout,
    ) == (0, True)
    (folder / "a.md").symlink_to("nowhere")
    done = run("sync", "broken", cwd=fresh)
    assert done.returncode == 0
    assert "dangling symlink" in done.stdout
    assert "nothing was indexed" in done.stderr
    told = run("sync", "broken", "--json", cwd=fresh)
    assert (told.returncode, len(json.loads(told.stdout)["skipped"])) == (0, 1)
