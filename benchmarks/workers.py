"""Workers that share a sync: files a second and CPU with 1, 2 and 4 of them, and what a killed one costs.

    python benchmarks/workers.py [--notes 4000] [--keep]

Notes of real Markdown, repeated with variation (`_corpus.py`), each time into an empty index over PostgreSQL and
Qdrant, words only: by a sync alone, and by a sync with 1 and 3 processes of `watersmeet work` beside it. Then with 3 of
which one is killed that has taken a slice, once a quarter is read. At last dense vectors of `hashed`, by one process
and by four. CPU seconds are of all processes from the beginning of the work until they have ended, those of the servers
apart.

Every job has to be done once: each run stores as many documents, chunks and vectors as there are, dead ones included,
no slice is finished by two processes, and no job is left. If not, the end is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, WATERSMEET, keep, load, machine

sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import _corpus
from _cluster_cpu import used

from cluster_indexes import cluster_environment, cluster_index, cluster_settings
from watersmeet import Engine
from watersmeet.engine.sync.report import Progress
from watersmeet.engine.sync.work import queue_of

ENVIRON = {"WATERSMEET__INDEX__VECTORS": "false"}
STORED = ("documents", "chunks", "vectors")
DENSE = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""}


@contextmanager
def workers(
    engine: Engine, count: int, environ: dict[str, str], outputs: list[str]
) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of `watersmeet work` that have begun to take jobs, and end with the block. `outputs`: where what they
    have written goes."""
    address: str = engine.index._address  # type: ignore[attr-defined]
    command = [*WATERSMEET, "work", "--no-offer", "--json", "--index", address]
    environment = {**os.environ, **cluster_environment(), **environ}
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd="/") for _ in range(count)
    ]
    try:
        for number, one in enumerate(started):  # each has done something
            queue_of(engine).offer("tidy", f"index {number}")
            assert one.stdout is not None
        end = time.monotonic() + 60
        while any(queue_of(engine).counts().values()) and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(3.0 if count else 0.0)  # the others have been imported too
        yield started
    finally:
        for one in started:
            one.terminate()
        for one in started:
            outputs.append(one.communicate(timeout=60)[0])


def cpu_of(pid: int) -> float:
    """CPU seconds of a process that runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def slices_done(outputs: Sequence[str]) -> list[str]:
    """Keys of the slices that workers have finished."""
    done = [json.loads(line) for output in outputs for line in output.splitlines() if '"read@' in line]
    return [one["key"] for one in done if "problem" not in one]


def slices_of(engine: Engine, pid: int) -> int:
    """How many slices a process has taken and not finished."""
    sql = "SELECT count(*) FROM jobs WHERE starts_with(kind, 'read@') AND strpos(holder, %s) > 0"
    return int(engine.index.lasting.ask(sql, [f" {pid} "])[0][0])  # type: ignore[attr-defined]


def stored(engine: Engine) -> dict[str, int]:
    """Rows of tables, dead ones included."""
    reading = engine.index._o.generation().reading  # type: ignore[attr-defined]
    return {table: int(reading.ask(f"SELECT count(*) FROM {table}")[0][0]) for table in STORED}


def cpu() -> float:
    """CPU seconds of this process and of the children that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(
    folder: Path, others: int, environ: dict[str, str], work: Callable[[Engine, list[subprocess.Popen[str]]], int]
) -> dict[str, Any]:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=folder.parent)  # vectors of one run are not known to the next
    with cluster_index(environ) as filling:
        settings = cluster_settings(environ)
        with Engine(filling.index._address, settings) as engine:
            (folder.parent / "first").mkdir(exist_ok=True)
            (folder.parent / "first" / "a.md").write_text("# First\n")
            engine.sync([folder.parent / "first"], vectors=False)
            if "WATERSMEET__INDEX__DENSE" in environ:
                engine.sync([folder], vectors=False)
            before, outputs = load(), list[str]()
            with workers(engine, others, environ, outputs) as started:
                client, servers = cpu() + sum(cpu_of(one.pid) for one in started), used()
                done = work(engine, started)
                seconds = used().since(servers).seconds
            took, status, slices = used().since(servers), engine.status(), slices_done(outputs)
            return {
                "workers": others + 1,
                "done": done,
                "seconds": round(seconds, 2),
                "a_second": round(done / seconds, 1),
                "client_cpu": round(cpu() - client, 2),
                "postgres_cpu": round(took.postgres, 2),
                "qdrant_cpu": round(took.qdrant, 2),
                "load": before,
                "documents": status["documents"],
                "chunks": status["chunks"],
                "stored": stored(engine),
                "jobs": status["jobs"],
                "slices_of_workers": [len(slices_done([output])) for output in outputs],
                "slices_done_twice": len(slices) - len(set(slices)),
            }


def once(report: dict[str, Any]) -> bool:
    """Whether every job of all runs was done once."""
    reading, embedding = [*report["read"], report["killed"]], report["embedded"]
    first = reading[0]
    return (
        all(run["done"] == report["notes"] for run in reading)
        and all(run["stored"]["vectors"] == run["chunks"] for run in embedding)
        and all(
            (run["documents"], run["chunks"]) == (first["documents"], first["chunks"])
            and (run["stored"]["documents"], run["stored"]["chunks"]) == (run["documents"], run["chunks"])
            and not run["slices_done_twice"]
            and not any(run["jobs"].values())
            for run in (*reading, *embedding)
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notes", type=int, default=4000)
    parser.add_argument("--keep", action="store_true", help="in benchmarks/results")
    wanted = parser.parse_args()
    report: dict[str, Any] = {"machine": machine(), "notes": wanted.notes}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "notes"
        _corpus.write(folder, 0, wanted.notes)

        def read(engine: Engine, _: list[subprocess.Popen[str]]) -> int:
            return engine.sync([folder]).added

        def killed(engine: Engine, started: list[subprocess.Popen[str]]) -> int:
            def kill(step: Progress) -> None:
                if step.doing == "committed" and step.done > step.total / 4 and started[0].poll() is None:
                    started[0].send_signal(signal.SIGSTOP)
                    if slices_of(engine, started[0].pid):
                        started[0].kill()
                        started[0].wait()
                    else:
                        started[0].send_signal(signal.SIGCONT)

            added = engine.sync([folder], progress=kill).added
            assert started[0].poll() == -signal.SIGKILL, "it had no slice whenever it was looked at"
            return added

        def embedded(engine: Engine, _: list[subprocess.Popen[str]]) -> int:
            report = engine.deepen(tiers=["dense"], strict=True)
            return report.embedded + report.cached

        report["read"] = [measured(folder, others, ENVIRON, read) for others in (0, 1, 3)]
        report["killed"] = measured(folder, 3, ENVIRON, killed)
        report["embedded"] = [measured(folder, others, DENSE, embedded) for others in (0, 3)]
    report["load_after"], report["every job once"] = load(), once(report)
    print(json.dumps(keep("workers", report, RESULTS if wanted.keep else None), indent=1))
    return int(not report["every job once"])


if __name__ == "__main__":
    sys.exit(main())
