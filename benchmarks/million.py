"""A million chunks of made-up text: what a query costs warm, after a commit, and filtered.

    python benchmarks/million.py make FOLDER      records, words and static vectors, about half an hour of CPU
    python benchmarks/_synthetic.py FOLDER/index REAL     dense vectors, mixed from those of the index REAL
    python benchmarks/million.py measure FOLDER   adds a result to benchmarks/results

CPU milliseconds of one process under an RLIMIT_DATA of 8 GB, medians. *After a commit*: another process has changed a
document in between, and the same engine is asked its next question. *Half*: a filter that every second record passes.
Tiers whose vectors are not nearly complete are switched off.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _common import keep, machine

from watersmeet import Engine
from watersmeet.engine.settings.settings import load

RECORDS, WORDS, LENGTH = 1_000_000, 40_000, 40
FIRST_DAY, DAYS = date(2023, 1, 1), 1000
TAGS = {"half": 2, "tenth": 10, "hundredth": 100, "rare": 10_000}
ENVIRON = {f"WATERSMEET__INDEX__{name}": "" for name in ("STATIC", "DENSE", "SPARSE")}
NEARLY = 0.95
"""Tiers with a smaller share of the chunks are not measured."""
MEMORY = 8 << 30
QUERIES, COMMITS = 40, 8
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "half (tag)": {"filters": {"tag": "half"}},
    "half (not a tag)": {"filters": {"tag!": "half"}},
    "half (path)": {"filters": {"path": "*[02468]"}},
    "half (date)": {"since": "2025-01-01"},
    "one in a hundred (tag)": {"filters": {"tag": "hundredth"}},
    "one in ten thousand (tag)": {"filters": {"tag": "rare"}},
    "a folder of a thousandth (path)": {"filters": {"path": "f7/**"}},
    "one in a thousand (path without a beginning)": {"filters": {"path": "*777"}},
}


def words() -> list[str]:
    chance = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return ["".join(letters[chance.integers(0, 26, size)]) for size in chance.integers(4, 10, WORDS)]


def make(folder: Path, records: int = RECORDS) -> dict[str, Any]:
    """Records and an index of their words; what it cost under the limit of memory."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    folder.mkdir(parents=True, exist_ok=True)
    chance, vocabulary = np.random.default_rng(2), np.array(words())
    rank = 1 / np.arange(1, WORDS + 1) ** 0.9
    share = rank / rank.sum()
    with open(folder / "records.jsonl", "w", encoding="utf8") as file:
        for start in range(0, records, 10_000):
            chosen = vocabulary[chance.choice(WORDS, (10_000, LENGTH), p=share)]
            for number, words_of_text in enumerate(chosen, start):
                file.write(json.dumps(_record(number, words_of_text)) + "\n")
    with Peak() as peak, engine(folder) as made:
        spent = cpu(lambda: made.sync([folder / "records.jsonl"]))
    return {"records": records, "cpu_s": round(spent / 1000, 1), "peak_private_mb": peak.mb}


class Peak:
    """The most private memory of this process, looked at ten times a second by a thread."""

    def __init__(self) -> None:
        self.mb = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.1):
            self.mb = max(self.mb, memory_mb("RssAnon"))


def _record(number: int, words_of_text: Any) -> dict[str, Any]:
    tags = [name for name, each in TAGS.items() if number % each == 0]
    day = (FIRST_DAY + timedelta(number * 7919 % DAYS)).isoformat()
    return {
        "_id": f"f{number % 1000}/{number}",
        "title": " ".join(words_of_text[:3]),
        "text": " ".join(words_of_text[3:]),
        "metadata": {"tags": tags, "modified": day},
    }


def engine(folder: Path, environ: dict[str, str] | None = None) -> Engine:
    return Engine(folder / "index", load(start=str(folder), environ=ENVIRON if environ is None else environ))


def complete_tiers(folder: Path) -> list[str]:
    with engine(folder) as made:
        signals = made.status()["signals"]
    return [name for name in ("static", "dense") if signals.get(name, {}).get("coverage", 0.0) >= NEARLY]


def questions(many: int) -> list[str]:
    chance, vocabulary = np.random.default_rng(5), words()
    return [" ".join(vocabulary[n] for n in chance.integers(50, WORDS, 5)) for _ in range(many)]


def cpu(work: Callable[[], object]) -> float:
    start = resource.getrusage(resource.RUSAGE_SELF)
    work()
    end = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime)


COMMIT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from million import engine
folder = Path(sys.argv[1])
(folder / "more").mkdir(exist_ok=True)
text = f"# New {{sys.argv[2]}}\\n\\nsomething quite new {{sys.argv[2]}}\\n"
(folder / "more" / f"{{sys.argv[2]}}.md").write_text(text)
engine(folder, {{"WATERSMEET__INDEX__VECTORS": "false"}}).sync([folder / "more"])
"""


def measure(folder: Path) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    tiers = complete_tiers(folder)
    off = {f"WATERSMEET__INDEX__{name.upper()}": "" for name in ("static", "dense", "sparse") if name not in tiers}
    found: dict[str, Any] = {"chunks": 0, "tiers": tiers, "cpu_ms": {}, "after_commit": {}}
    with engine(folder, off) as made:
        found["chunks"] = made.status()["chunks"]
        for mode in ("lexical", *tiers, "hybrid"):
            for query in questions(5):
                made.search(query, mode=mode)
            found["cpu_ms"][mode] = {
                name: _median(made, questions(QUERIES), mode, how) for name, how in FILTERS.items()
            }
        for mode in ("lexical", "hybrid"):
            first = []
            for number, query in enumerate(questions(COMMITS)):
                _commit(folder, f"{mode}{number}-{time.time_ns()}")
                first.append(_median(made, [query], mode, {}))
            found["after_commit"][mode] = {"median": round(statistics.median(first), 2), "all": first}
    found["private_mb"] = memory_mb("RssAnon")
    found["resident_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def memory_mb(kind: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(kind))


def _median(made: Engine, queries_asked: Sequence[str], mode: str, how: dict[str, Any]) -> float:
    return round(statistics.median(cpu(partial(made.search, query, mode=mode, **how)) for query in queries_asked), 2)


def _commit(folder: Path, name: str) -> None:
    script = COMMIT.format(here=str(Path(__file__).resolve().parent))
    subprocess.run([sys.executable, "-c", script, str(folder), name], check=True)


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "make":
        size = int(sys.argv[3]) if len(sys.argv) > 3 else RECORDS
        print(json.dumps(keep(f"million_made_{size}", {"machine": machine(), **make(place, size)}), indent=1))
    else:
        print(json.dumps(keep("million", {"machine": machine(), **measure(place)}), indent=1))
