"""A stranger's folder: links that lead out of it, files that stop or slow a sync, an index that others read."""

from __future__ import annotations

import importlib
import json
import os
import resource
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attacks.probe import command, probe, require

WORDS_ONLY = {"WATERSMEET__INDEX__VECTORS": "false"}
BOMB = "0: &b0 [x]\n" + "".join(f"{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]\n" for n in range(1, 10))
SECONDS = 10.0
"""Limit of CPU time for what takes two or three; independent of other load on the machine."""
PATIENCE = 600.0


def spent() -> float:
    """CPU seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def vault(folder: Path, files: dict[str, str]) -> Path:
    top = folder / "vault"
    for name, text in {"good.md": "# Good\n\nkingfisher\n", **files}.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return top


def synced(folder: Path, top: Path, **environment: str) -> dict[str, Any]:
    done = command(
        folder, "sync", str(top), "--index", "index", "--json", timeout=PATIENCE, environment=WORDS_ONLY | environment
    )
    require(done.returncode == 0, f"sync ended with {done.returncode}: {done.stderr[-200:]}")
    report: dict[str, Any] = json.loads(done.stdout)
    found = command(
        folder, "search", "kingfisher", "--index", "index", "--json", timeout=PATIENCE, environment=WORDS_ONLY
    )
    require("good.md" in found.stdout, "the other file is not found")
    return report


def skip_reasons(report: dict[str, Any]) -> str:
    every = [*report["skipped"], *report["warnings"]]
    return every[-1]["reason"] if every else "read as it is"


def poison(tried: str, name: str, text: Callable[[], str], reason: str = "", slow: bool = False) -> None:
    """A file beside a good one: the sync ends soon, and the good one is found."""

    @probe(tried, slow=slow)
    def run(folder: Path) -> str:
        top = vault(folder, {name: text()})
        before = spent()
        report = synced(folder, top)
        took = spent() - before
        require(took < SECONDS, f"it took {took:.0f} s of CPU")
        require(reason in skip_reasons(report), f"said: {skip_reasons(report)}")
        return skip_reasons(report)

    run.__module__ = __name__


poison("TOML front matter with an integer of 5,000 digits", "x.md", lambda: f"+++\na = {'1' * 5000}\n+++\n", "TOML")
poison("TOML key of 30,000 dotted parts", "x.md", lambda: f"+++\n{'a.' * 30_000}b = 1\n+++\n", "dots")
poison("YAML front matter whose aliases stand for millions of values", "x.md", lambda: f"---\n{BOMB}---\n", "values")
poison("YAML front matter nested 30,000 deep", "x.md", lambda: f"---\na: {'[' * 30_000}\n---\n", "deep")
poison("heading with an open brace and 99,000 spaces", "x.md", lambda: f"# a{{{' ' * 99_000}x\n")
poison("a million headings", "x.md", lambda: "# a\n" * 1_000_000, "plain text", slow=True)
poison("100,000 tags in one note", "x.md", lambda: " ".join(f"#t{n}" for n in range(100_000)), "tags", slow=True)
poison("200,000 JSON lines with one id", "x.jsonl", lambda: '{"_id": "a", "text": "x"}\n' * 200_000, "more lines")
poison(
    "one JSON record of 9.5 MB, all headings",
    "x.jsonl",
    lambda: json.dumps({"_id": "a", "text": "# h\n\nword\n\n" * 800_000}),
    "plain text",
    slow=True,
)
poison("JSON nested 100,000 deep", "x.jsonl", lambda: '{"_id": "a", "metadata": ' + "[" * 100_000, "not JSON")
poison("an id of 100,000 parts", "x.jsonl", lambda: json.dumps({"_id": "a/" * 100_000 + "b", "text": "x"}))
poison("binary data called .md", "x.md", lambda: "\0\x01\x02" * 9000, "binary")


@probe("YAML record of half a kilobyte that stands for 387 million values, registered")
def bomb(folder: Path) -> str:
    (folder / "bomb.yaml").write_text(BOMB)
    done = command(
        folder, "register", "bomb.yaml", "--index", "index", "--json", timeout=PATIENCE, environment=WORDS_ONLY
    )
    require("more than 100,000 values" in done.stdout + done.stderr, done.stdout[-200:] + done.stderr[-200:])
    return "more than 100,000 values: not loaded"


@probe("a record's tags with 40,000 spaces in the middle")
def spaces(folder: Path) -> str:
    record = {"path": "/a", "server_name": "a", "description": "b", "tags": "x" + " " * 40_000 + "y"}
    (folder / "a.json").write_text(json.dumps(record))
    before = spent()
    done = command(folder, "register", "a.json", "--index", "index", "--json", timeout=PATIENCE, environment=WORDS_ONLY)
    require(done.returncode == 0 and spent() - before < SECONDS, f"{spent() - before:.0f} s of CPU")
    return "registered at once"


@probe("such records sent to a server while its health is asked for")
def health(folder: Path) -> str:
    sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))
    served = importlib.import_module("serving").served
    from watersmeet import Engine
    from watersmeet.engine.settings.settings import load
    from watersmeet.face.tokens import Tokens

    tokens = Tokens(str(folder / "tokens.json"))
    _, secret = tokens.create("write")
    spaced = {"tags": "x" + " " * 200_000 + "y", "description": "# a{" + " " * 200_000 + "x", "kind": "a" * 200_000}
    records = [{"path": f"/{key}", "server_name": key, "description": "b", key: text} for key, text in spaced.items()]
    done: list[int] = []
    with (
        Engine(folder / "index", load(start=str(folder), environ=WORDS_ONLY)) as engine,
        served(engine, allow_write=True, tokens=tokens) as server,
    ):
        engine.sync([vault(folder, {})])
        before = time.process_time()
        sender = threading.Thread(target=lambda: done.append(server.ask("/api/entities", records, token=secret).status))
        sender.start()
        requests_sent = 0
        while sender.is_alive() or not requests_sent:
            require(server.ask("/health").status == 200, "the server says nothing of its health")
            requests_sent += 1
            time.sleep(0.05)
        spent = time.process_time() - before
    require(done == [200] or done == [201], f"the answer was {done}")
    require(spent < SECONDS, f"it took {spent:.0f} s of CPU")
    return f"/health answered {requests_sent} times meanwhile"


@probe("symbolic links to a file and a folder outside, also in two steps")
def links(folder: Path) -> str:
    top = vault(folder, {})
    (folder / "secret").mkdir()
    (folder / "secret" / "diary.md").write_text("# Diary\n\nnightingale\n")
    (top / "notes").symlink_to(folder / "secret")
    (top / "diary.md").symlink_to(folder / "secret" / "diary.md")
    (top / "hop.md").symlink_to("diary.md")
    report = synced(folder, top)
    found = command(
        folder, "search", "nightingale", "--mode", "lexical", "--index", "index", "--json", environment=WORDS_ONLY
    )
    require("nightingale" not in json.dumps(json.loads(found.stdout)["results"]), "the text outside was indexed")
    require(sum("leads out" in item["reason"] for item in report["skipped"]) == 3, skip_reasons(report))
    return skip_reasons(report)


@probe("links in loops, dangling, to devices")
def loops(folder: Path) -> str:
    top = vault(folder, {"a/a.md": "x", "b/b.md": "y"})
    for name, target in {
        "loop": ".",
        "self.md": "self.md",
        "gone.md": "gone",
        "a/b": "../b",
        "zero.md": "/dev/zero",
    }.items():
        (top / name).symlink_to(target)
    os.mkfifo(top / "pipe.md")
    report = synced(folder, top)
    return f"{len(report['skipped'])} named, each file read once: {report['documents']} documents"


@probe("another user reads the index, the cache or the tokens (umask 022)")
def others(folder: Path) -> str:
    before = os.umask(0o022)
    try:
        top = vault(folder, {})
        command(
            folder, "sync", str(top), "--index", "index", timeout=PATIENCE, environment={"WATERSMEET__INDEX__DENSE": ""}
        )
        command(
            folder,
            "search",
            "kingfisher",
            "--in",
            str(top),
            timeout=PATIENCE,
            environment={"WATERSMEET__INDEX__DENSE": ""},
        )
        command(folder, "token", "create", "--scope", "read", timeout=PATIENCE)
    finally:
        os.umask(before)
    ours = [folder / "index", folder / "home" / "cache" / "watersmeet", folder / "home" / "config" / "watersmeet"]
    every = [path for one in ours for path in (one, *one.rglob("*"))]
    loose = [path.name for path in every if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    require(not loose, f"open to others: {', '.join(loose[:5])}")
    return f"{len(every)} files and folders, none open to others"


@probe("an index that cannot be written is searched, and asked to change")
def read_only(folder: Path) -> str:
    top = vault(folder, {})
    synced(folder, top)
    index = folder / "index"
    for path in (*index.rglob("*"), index):
        path.chmod(0o555 if path.is_dir() else 0o444)
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    for path in (folder, folder / "home"):
        path.chmod(0o755)
    try:
        from subprocess import run

        from attacks.probe import COMMAND

        env = {**os.environ, **WORDS_ONLY, "HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent/cache"}
        ask = [*as_nobody, *COMMAND]
        found = run(
            [*ask, "search", "kingfisher", "--index", str(index)],
            cwd="/",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        require(found.returncode == 0 and "kingfisher" in found.stdout, f"not searched: {found.stderr[-200:]}")
        change = run(
            [*ask, "remove", "good.md", "--index", str(index)],
            cwd="/",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        require(change.returncode == 2 and "is read-only" in change.stderr, f"said: {change.stderr[-200:]}")
    finally:
        for path in (index, *index.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
    return "answers; " + change.stderr.splitlines()[0].rpartition("/")[2]


@probe("a note written now that says it was begun in 2020, asked for with --since 7d")
def dates(folder: Path) -> str:
    top = vault(
        folder, {"a.md": "---\ncreated: 2020-01-01\n---\n# Diary\n\nI planted leeks.\n", "2019-01-01.md": "leeks\n"}
    )
    synced(folder, top)
    done = command(
        folder,
        "search",
        "leeks",
        "--since",
        "7d",
        "--index",
        "index",
        "--json",
        timeout=PATIENCE,
        environment=WORDS_ONLY,
    )
    found = {one["document"]: one.get("created", "")[:10] for one in json.loads(done.stdout)["results"]}
    require(found == {"a.md": "2020-01-01", "2019-01-01.md": "2019-01-01"}, f"found {found}")
    return "found; `created` is said beside it"
