"""Exports: do they answer as the index that they were made from, alone, and how soon?

    python benchmarks/export.py [--corpus DIR ...] [--parent DIR=INDEX ...] [--queries 100] [--online]

Each corpus is indexed (or `--parent` names its index), and exported with all wheels. Queries are headings of its
documents, drawn by a seed, and answered here first. Then the export is started by its README's one command with an
empty home, another working folder and no variables, in a mount namespace in which the index, the documents, this
checkout and its environment are hidden (where the system allows it; else the index is moved away). The first start
makes the environment; after it every start is measured to its first answer. `--online` also exports without wheels, to
see how long it takes to ask the package index for hashes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, WATERSMEET, Runner, keep, load, machine, percentiles, size_mb

from watersmeet import Engine
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.settings.settings import load as load_settings

SEED = 22
TOP = 10
STARTS = 3
SETUP_SECONDS, START_SECONDS = 600.0, 60.0
UNDISTURBED = ("chrt", "--rr", "1")
"""A process that does not wait for others: for its time on a machine that others use too."""
Start = dict[str, float]
CORPORA = (ROOT / "examples" / "handbook", SHARED / "data" / "markdown" / "kubernetes_en")


def heading_queries(engine: Engine, count: int) -> list[str]:
    """Headings of the documents, drawn by a seed; if there are too few, two headings of one passage as well."""
    paths = sorted(
        {
            passage.headings
            for document in engine.documents(EVERYONE)
            for passage in engine.passages(document["document"], EVERYONE)
        }
    )
    headings = sorted({heading for path in paths for heading in path if 1 < len(heading) < 200})
    pairs = sorted({f"{first} {second}"[:400] for path in paths for first, second in pairwise(path)} - {*headings})
    chance = random.Random(SEED)  # noqa: S311 - to be repeatable
    chosen = chance.sample(headings, min(count, len(headings)))
    return chosen + chance.sample(pairs, min(count - len(chosen), len(pairs)))


def one_command(readme: str) -> list[str]:
    """The command of the README that starts the server."""
    found = re.search(r"Start it:\n\n    (\S.*)\n", readme)
    if not found:
        raise SystemExit("the README of the export names no command")
    return found[1].split()


class Exported:
    """An export that is started alone."""

    def __init__(self, folder: Path, home: Path, hidden: Sequence[Path]) -> None:
        self.folder, self.home = folder, home
        self.hidden = _outermost(hidden) if _works("unshare", "-m") else []
        self.command = one_command((folder / "README.md").read_text("utf8"))

    @contextmanager
    def started(self, query: str, patience: float, first: bool = False) -> Iterator[tuple[str, Start]]:
        """The server's address, and the time from its start to its first answer. `first`: it need not wait for other
        processes, as on a machine of its own."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        python = Path(getattr(sys, "_base_executable", sys.executable))
        program, script = self.command
        assert (program, script) == ("python3", "run.py")
        inner = [str(python), str(self.folder / script), "--port", str(port)]
        hide = "".join(f"mount -t tmpfs none '{path}' && " for path in self.hidden)
        command = ["unshare", "-m", "sh", "-c", hide + 'exec "$@"', "sh", *inner] if hide else inner
        command = [*UNDISTURBED, *command] if first else command
        environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        begin = time.monotonic()
        process = subprocess.Popen(command, cwd="/", env=environ, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            address = f"http://127.0.0.1:{port}"
            while not answers(address, query):
                if process.poll() is not None or time.monotonic() - begin > patience:
                    raise SystemExit(f"the export did not start: {' '.join(command)}")
                time.sleep(0.02)
            yield address, {"seconds": round(time.monotonic() - begin, 2), "cpu_seconds": cpu_of(process.pid)}
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(30)


def _outermost(folders: Sequence[Path]) -> list[Path]:
    """Those of the folders that exist and lie in none of the others."""
    real = {folder.resolve() for folder in folders if folder.exists()}
    return sorted(one for one in real if not real & set(one.parents))


def _works(*command: str) -> bool:
    return not subprocess.run([*command, "true"], capture_output=True, check=False).returncode


def ask(address: str, path: str, body: dict[str, Any]) -> Any:
    content = json.dumps(body).encode()
    request = urllib.request.Request(address + path, content, {"Content-Type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        return json.load(answer)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process so far: with all that it was before it became the server."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 2)


def answers(address: str, query: str) -> bool:
    try:
        return bool(ask(address, "/search", {"query": query})["results"])
    except OSError:
        return False


def ranked(results: Sequence[Any]) -> list[tuple[str, float]]:
    return [(one["id"], one["score"]) for one in results]


def compare(address: str, expected: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, Any]:
    """How many queries have the same first ten, in the same order, and the largest difference of a score."""
    same, worst, seconds = 0, 0.0, []
    for query, mine in expected.items():
        start = time.perf_counter()
        theirs = ranked(ask(address, "/search", {"query": query, "top_n": TOP})["results"])
        seconds.append(1000 * (time.perf_counter() - start))
        same += [one for one, _ in theirs] == [one for one, _ in mine]
        worst = max([worst, *(abs(a[1] - b[1]) for a, b in zip(mine, theirs, strict=False))])
    return {
        "queries": len(expected),
        "same_top_10": same,
        "largest_score_difference": worst,
        "ms": percentiles(seconds),
    }


def measured(corpus: Path, index: Path, place: Path, args: argparse.Namespace) -> dict[str, Any]:
    with Engine(index, load_settings(start=str(place))) as engine:
        expected = {
            query: [(one.id, one.score) for one in engine.search(query, top_n=TOP, viewer=EVERYONE).results]
            for query in heading_queries(engine, args.queries)
        }
        found = engine.status()
    home = place / "home"
    home.mkdir()
    run = Runner(home)
    out = place / "out"
    report = json.loads(
        run(*WATERSMEET, "export", str(out), "--wheels", "--json", "--index", str(index), good=(0,)).out
    )
    figures: dict[str, Any] = {
        "documents": found["documents"],
        "chunks": found["chunks"],
        "signals": {name: round(one["coverage"], 3) for name, one in found["signals"].items()},
        "export_seconds": round(report["took_ms"] / 1000, 1),
        "size_mb": {
            "index": size_mb(out / "content-1" / "index"),
            "all": round(report["size_bytes"] / 1e6, 1),
            "own_wheels": round(
                sum(one.stat().st_size for one in (out / "content-1" / "wheels").glob("watersmeet*")) / 1e6, 1
            ),
        },
        "warnings": report["warnings"],
    }
    if args.online:
        again = run(*WATERSMEET, "export", str(place / "online"), "--json", "--index", str(index), good=(0,))
        figures["online"] = {"export_seconds": round(json.loads(again.out)["took_ms"] / 1000, 1)}
        figures["online"]["size_mb"] = round(json.loads(again.out)["size_bytes"] / 1e6, 1)
    away = index.with_name("moved-away")
    os.rename(index, away)
    alone = Exported(out, home, [ROOT, Path(sys.prefix), corpus, away])
    query = next(iter(expected))
    try:
        with alone.started(query, SETUP_SECONDS) as (_, start):
            figures["first_start_seconds"] = start["seconds"]
        figures["installed_mb"] = size_mb(next(out.glob(".venv-*")))
        for name, first in (("as_it_is", False), *((("undisturbed", True),) if _works(*UNDISTURBED) else ())):
            figures.setdefault("start_to_first_answer", {})[name] = starts = []
            for _ in range(STARTS):
                with alone.started(query, START_SECONDS, first) as (_, start):
                    starts.append({**start, "load": load()[0]})
        with alone.started(query, START_SECONDS) as (address, _):
            figures |= compare(address, expected)
            chat = ask(address, "/chat", {"question": query})
            figures["chat"] = {"model": chat["model"], "citations": len(chat["citations"])}
    finally:
        os.rename(away, index)
    figures["hidden"] = len(alone.hidden)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--corpus", type=Path, action="append", help="a folder of documents; may be repeated")
    parser.add_argument("--parent", action="append", default=[], metavar="DIR=INDEX", help="the index of a corpus")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--online", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    before, corpora = machine(), {}
    indexes = {Path(corpus): Path(index) for corpus, _, index in (one.partition("=") for one in args.parent)}
    for corpus in [one.resolve() for one in args.corpus or CORPORA]:
        with tempfile.TemporaryDirectory(prefix="watersmeet-") as folder:
            place = Path(folder)
            index = place / "parent" / ".watersmeet"
            if corpus in indexes:
                shutil.copytree(indexes[corpus], index)
            else:
                sync_home = place / "sync"
                sync_home.mkdir()
                Runner(sync_home)(*WATERSMEET, "sync", str(corpus), "--quiet", "--index", str(index), good=(0,))
            corpora[corpus.name] = measured(corpus, index, place, args)
            print(json.dumps(corpora[corpus.name]), file=sys.stderr)
    before["load_after"] = load()
    keep("export", {"machine": before, "seed": SEED, "corpora": corpora}, args.out)
    for name, figures in corpora.items():
        if figures["same_top_10"] < figures["queries"]:
            raise SystemExit(f"{name}: the export answers other than its index")


if __name__ == "__main__":
    main()
