"""A million chunks of made-up text, or fewer: what a query costs warm, first, filtered; what a sync costs.

    python benchmarks/million.py make FOLDER [RECORDS]               records and an index of their words
    python benchmarks/_synthetic.py FOLDER/index VECTORS static      vectors mixed from real ones (see _real.py)
    python benchmarks/_synthetic.py FOLDER/index VECTORS dense
    python benchmarks/million.py measure FOLDER

Each adds a result to benchmarks/results. CPU milliseconds of one process under an RLIMIT_DATA of 8 GB. *First*: the
first query of an engine that was opened anew in this process, with its opening; with a path glob that was not asked
before; after another process has edited one file, whose cost is *edit*. Tiers whose vectors are not nearly complete are
switched off.
"""

from __future__ import annotations

import json
import math
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
from _common import WATERSMEET, keep, machine

from watersmeet import Engine
from watersmeet.engine.settings.settings import load

RECORDS, WORDS, LENGTH = 1_000_000, 40_000, 40
FIRST_DAY, DAYS = date(2023, 1, 1), 1000
TAGS = {"half": 2, "tenth": 10, "hundredth": 100, "rare": 10_000}
ENVIRON = {f"WATERSMEET__INDEX__{name}": "" for name in ("STATIC", "DENSE", "SPARSE")}
NEARLY = 0.95
"""Tiers with a smaller share of the chunks are not measured."""
MEMORY = 8 << 30
QUERIES, FILTERED, FIRST = 200, 60, 8
"""Queries without a filter and with each; first queries of each kind."""
FILTERS: dict[str, dict[str, Any]] = {
    "none": {},
    "50 %, tag": {"filters": {"tag": "half"}},
    "50 %, not a tag": {"filters": {"tag!": "half"}},
    "50 %, date": {"since": (FIRST_DAY + timedelta(DAYS // 2)).isoformat()},
    "50 %, path": {"filters": {"path": "*[02468]"}},
    "10 %, tag": {"filters": {"tag": "tenth"}},
    "10 %, date": {"since": (FIRST_DAY + timedelta(DAYS * 9 // 10)).isoformat()},
    "10 %, path": {"filters": {"path": "*7"}},
    "11 %, path with a beginning": {"filters": {"path": "f1*/**"}},
    "1 %, tag": {"filters": {"tag": "hundredth"}},
    "1 %, date": {"since": (FIRST_DAY + timedelta(DAYS * 99 // 100)).isoformat()},
    "1 %, path": {"filters": {"path": "*77"}},
    "1 %, path with a beginning": {"filters": {"path": "f?/**"}},
    "0.1 %, path": {"filters": {"path": "*777"}},
    "0.01 %, tag": {"filters": {"tag": "rare"}},
}
NEW_GLOBS = ("*1{}", "*{}[02468]", "f{}*/**", "**/{}*", "*{}??")
"""Path globs of many and of few records; each number makes a new one."""


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


def questions(many: int, of: str = "") -> list[str]:
    """Questions of five words, others for each name: vectors of those that were asked are cached."""
    chance, vocabulary = np.random.default_rng([5, *of.encode()]), words()
    return [" ".join(vocabulary[n] for n in chance.integers(50, WORDS, 5)) for _ in range(many)]


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


EDIT = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from million import engine
folder = Path(sys.argv[1])
(folder / "more").mkdir(exist_ok=True)
(folder / "more" / "edited.md").write_text(f"# New\\n\\nsomething quite new {{sys.argv[2]}}\\n")
with engine(folder, {{}}) as made:
    made.sync([folder / "more"], deepen=False)
"""


def measure(folder: Path) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    tiers = complete_tiers(folder)
    off = {f"WATERSMEET__INDEX__{name.upper()}": "" for name in ("static", "dense", "sparse") if name not in tiers}
    modes = ("lexical", *tiers, "hybrid")
    found: dict[str, Any] = {"chunks": 0, "tiers": tiers, "cpu_ms": {}, "first": {}}
    with engine(folder, off) as made:
        found["chunks"] = made.status()["chunks"]
        for mode in modes:
            for query in questions(5, f"{mode} warming"):
                made.search(query, mode=mode)
            found["cpu_ms"][mode] = {
                name: summary(costs(made, questions(FILTERED if how else QUERIES, f"{mode} {name}"), mode, how))
                for name, how in FILTERS.items()
            }
        found["first"]["glob"] = {mode: summary(_globs(made, mode)) for mode in ("lexical", "hybrid")}
        found["first_edit_cpu_s"] = round(_edit(folder, "first"), 2)  # collects the vocabulary of the whole index
        edits: list[float] = []
        found["first"]["after a commit"] = {
            mode: summary(_after_edits(folder, made, mode, edits)) for mode in ("lexical", "hybrid")
        }
        found["edit_cpu_s"] = summary(edits)
        found["private_mb"] = memory_mb("RssAnon")
        found["resident_mb"] = memory_mb("VmHWM")
    found["shell"] = {mode: summary(_from_a_shell(folder, mode)) for mode in ("lexical", "hybrid")}
    found["first"]["after opening"] = {mode: summary(_opened(folder, off, mode)) for mode in modes}
    return found


def summary(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50": round(statistics.median(ordered), 2),
        "p99": round(ordered[math.ceil(0.99 * len(ordered)) - 1], 2),
        "of": len(ordered),
    }


def costs(made: Engine, asked: Sequence[str], mode: str, how: dict[str, Any]) -> list[float]:
    return [cpu(partial(made.search, query, mode=mode, **how)) for query in asked]


def _globs(made: Engine, mode: str) -> list[float]:
    """First queries with a new glob each."""
    globs = [glob.format(number) for number in range(2, 4) for glob in NEW_GLOBS]
    if mode == "hybrid":
        globs = [glob.format(number) for number in range(5, 7) for glob in NEW_GLOBS]
    return [
        costs(made, [query], mode, {"filters": {"path": glob}})[0]
        for query, glob in zip(questions(len(globs), f"{mode} globs"), globs, strict=True)
    ]


def _after_edits(folder: Path, made: Engine, mode: str, edits: list[float]) -> list[float]:
    first = []
    for query in questions(FIRST, f"{mode} edits"):
        edits.append(_edit(folder, mode))
        first += costs(made, [query], mode, {})
    return first


def _edit(folder: Path, what: str) -> float:
    """CPU seconds of a process that syncs one changed file."""
    script = EDIT.format(here=str(Path(__file__).resolve().parent))
    return _spent([sys.executable, "-c", script, str(folder), f"{what}-{time.time_ns()}"])


def _from_a_shell(folder: Path, mode: str) -> list[float]:
    """CPU milliseconds of a search in a process of its own."""
    command = [*WATERSMEET, "search", "--index", str(folder / "index"), "--mode", mode, "--json", "--"]
    return [1000 * _spent([*command, query]) for query in questions(FIRST, f"{mode} shell")]


def _spent(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _opened(folder: Path, environ: dict[str, str], mode: str) -> list[float]:
    def ask(query: str) -> None:
        with engine(folder, environ) as made:
            made.search(query, mode=mode)

    return [cpu(partial(ask, query)) for query in questions(FIRST, f"{mode} opened")]


def memory_mb(kind: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(kind))


if __name__ == "__main__":
    place = Path(sys.argv[2])
    if sys.argv[1] == "make":
        size = int(sys.argv[3]) if len(sys.argv) > 3 else RECORDS
        print(json.dumps(keep(f"million_made_{size}", {"machine": machine(), **make(place, size)}), indent=1))
    else:
        figures = {"machine": machine(), **measure(place)}
        print(json.dumps(keep(f"million_asked_{figures['chunks']}", figures), indent=1))
