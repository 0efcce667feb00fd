"""What embedding in the background costs whoever asks: `serve` beside `serve --no-deepen`, in turns, on one index.

    python benchmarks/background.py [--folder FOLDER] [--rounds 3] [--questions 30]

The deep model votes from the first vector on, so that each question is embedded by the model that is at work in the
background. Questions come one behind the other, and with a pause that is longer than the background waits: then each of
them meets a model at work, which is the worst case.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _common import SHARED, WATERSMEET, keep, load, machine

PAUSES = {"one behind the other": 0.0, "every 2 s": 2.0}
FLAGS = {"background": (), "idle": ("--no-deepen",)}
WARM = 5
WORDS = "how do I {} a {}?"
VERBS = "scale drain expose configure debug upgrade secure schedule restart delete patch monitor".split()
NOUNS = "deployment node service pod volume secret cluster job container namespace gateway role probe quota".split()


@contextmanager
def serving(place: Path, environ: dict[str, str], *flags: str) -> Iterator[int]:
    start = [*WATERSMEET, "serve", "--json", "--port", "0", *flags]
    with subprocess.Popen(start, cwd=place, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        try:
            yield int(url.rstrip("/").rpartition(":")[2])
        finally:
            process.terminate()


def ask(port: int, path: str, body: Any = None) -> tuple[float, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    start = time.perf_counter()
    headers = {"Content-Type": "application/json"}
    connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
    found = json.loads(connection.getresponse().read())
    took = (time.perf_counter() - start) * 1000
    connection.close()
    return took, found


def read(port: int) -> float:
    coverage: float = ask(port, "/api/status")[1]["signals"]["dense"]["coverage"]
    return coverage


def asked(port: int, questions: list[str], pause: float) -> list[float]:
    took = []
    for question in questions:
        time.sleep(pause)
        took.append(ask(port, "/api/search", {"query": question})[0])
    return took


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=SHARED / "data" / "markdown" / "kubernetes_en" / "files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=30)
    given = parser.parse_args()
    took: dict[str, dict[str, list[float]]] = {name: {pause: [] for pause in PAUSES} for name in FLAGS}
    chunks = dict.fromkeys(FLAGS, 0.0)
    questions = iter([f"{WORDS.format(verb, noun)} {n}" for n in range(20) for verb in VERBS for noun in NOUNS])
    facts = machine()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        environ = {**os.environ, "HOME": folder, "XDG_CACHE_HOME": f"{folder}/cache", "XDG_CONFIG_HOME": folder}
        environ["WATERSMEET__INDEX__MIN_COVERAGE"] = "0"
        sync = [*WATERSMEET, "sync", str(given.folder), "--no-deepen", "--json"]
        done = subprocess.run(sync, cwd=place, env=environ, capture_output=True, text=True, check=True)
        report = json.loads(done.stdout)
        for _ in range(given.rounds):
            for name, flags in FLAGS.items():
                with serving(place, environ, *flags) as port:
                    first = read(port)
                    while name == "background" and read(port) == first:
                        time.sleep(1.5)
                    first = read(port)
                    asked(port, [next(questions) for _ in range(WARM)], 0.0)
                    for label, pause in PAUSES.items():
                        took[name][label] += asked(port, [next(questions) for _ in range(given.questions)], pause)
                    chunks[name] += (read(port) - first) * report["chunks"]
    medians = {name: {label: statistics.median(ms) for label, ms in each.items()} for name, each in took.items()}
    result = {
        "documents": report["documents"],
        "chunks": report["chunks"],
        "questions_each": given.rounds * given.questions,
        "p50_ms": {name: {label: round(ms, 2) for label, ms in each.items()} for name, each in medians.items()},
        "p90_ms": {
            name: {label: round(statistics.quantiles(ms, n=10)[-1], 2) for label, ms in each.items()}
            for name, each in took.items()
        },
        "ratio_of_p50": {label: round(medians["background"][label] / medians["idle"][label], 2) for label in PAUSES},
        "embedded_meanwhile": {name: round(many) for name, many in chunks.items()},
        **facts,
        "load_after": load(),
    }
    print(json.dumps(result, indent=2))
    keep("background", result)


if __name__ == "__main__":
    main()
