"""Dense search beside numpy: the store's scan against a float32 product and argpartition, one thread each.

OPENBLAS_NUM_THREADS=1 python benchmarks/_dense.py ROWS CACHE         (run by speed.py)

Rows and queries are real: vectors of the transformer that the embedding cache remembers, and queries of the dev sets.
Where there are too few rows for the timing they are repeated with a little noise; recall is also given on the real
ones alone.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import _corpus
import numpy as np
from _common import SHARED
from numpy.typing import NDArray

from watersmeet.core.model import Row
from watersmeet.embed.onnx import Onnx
from watersmeet.store.local.vectors import Reader, Vectors

NEAREST = 20
RUNS = 5
QUERIES = 60
FEW = 1000
"""With fewer cached vectors than this, random ones are added."""
SETS = ("scifact_train", "k8s_anchor", "cosqa")
Matrix = NDArray[np.float32]


def remembered(cache: Path, fingerprint: str) -> Matrix:
    """The vectors of this model in an embedding cache; none if there is no such cache."""
    file = cache / "embeddings.sqlite"
    if not file.is_file():
        return np.zeros((0, 0), dtype=np.float32)
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
        sql = "SELECT data FROM vector JOIN model ON model.id = vector.model WHERE fingerprint = ? ORDER BY key"
        found = [np.frombuffer(data, dtype="<f2") for (data,) in db.execute(sql, (fingerprint,))]
    rows = np.array(found, dtype=np.float32)
    return rows[np.linalg.norm(rows, axis=1) > 0] if len(rows) else rows


def material(cache: Path) -> tuple[Matrix, Matrix, str]:
    """Rows, queries, and a description of the rows' origin."""
    model = Onnx()
    rows, source = remembered(cache, model.fingerprint), "the embedding cache"
    if len(rows) < FEW:
        texts = [text for _, text in _corpus.notes(_corpus.source())[:FEW]]
        rows, source = model.embed(texts), "notes embedded for this"
    texts = []
    for name in SETS:
        file = SHARED / "data" / "eval" / name / "queries.jsonl"
        if file.is_file():
            lines = file.read_text("utf8").splitlines()[: QUERIES // len(SETS)]
            texts += [json.loads(line)["text"] for line in lines]
    if not texts:
        return rows[QUERIES:], rows[:QUERIES], source
    return rows, np.array([model.embed_query(text) for text in texts]), source


def enlarged(rows: Matrix, count: int) -> Matrix:
    """As many rows as needed: first the real ones, then copies with noise."""
    chance = np.random.default_rng(2)
    made = [rows[:count]]
    while (have := sum(map(len, made))) < count:
        some = rows[: count - have]
        some = some + 0.01 * chance.standard_normal(some.shape, dtype=np.float32)
        made.append(some / np.linalg.norm(some, axis=1, keepdims=True))
    return np.concatenate(made)


def plain(rows: Matrix, query: Matrix) -> NDArray[np.int64]:
    return np.argpartition(-(rows @ query), NEAREST)[:NEAREST]


def timed(work: Callable[[], Any]) -> float:
    """CPU milliseconds."""
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def recall(reader: Reader, rows: Matrix, queries: Matrix) -> float:
    both = [len({row for row, _ in reader.search(q, NEAREST)} & set(plain(rows, q).tolist())) for q in queries]
    return round(sum(both) / (NEAREST * len(queries)), 4)


def stored(folder: Path, rows: Matrix) -> Vectors:
    writer = Vectors(str(folder), rows.shape[1]).writer()
    writer.add([Row(n) for n in range(len(rows))], rows)
    writer.commit()
    return Vectors(str(folder), rows.shape[1])


def opening_ms(folder: Path, dimension: int) -> float:
    """Milliseconds until a store that another process has written can be searched; the median."""
    took = []
    for _ in range(RUNS):
        start = time.perf_counter()
        Vectors(str(folder), dimension).reader()
        took.append(1000 * (time.perf_counter() - start))
    return round(statistics.median(took), 2)


def measure(count: int, cache: Path) -> dict[str, Any]:
    real, queries, source = material(cache)
    real = real[:count]
    with tempfile.TemporaryDirectory() as place:
        agreed = recall(stored(Path(place) / "real", real).reader(), real, queries)
        rows = enlarged(real, count)
        folder = Path(place) / "rows"
        reader = stored(folder, rows).reader()
        agreed_all = recall(reader, rows, queries)
        ours, theirs = [], []
        for _ in range(RUNS):
            ours.append(statistics.median(timed(lambda q=q: reader.search(q, NEAREST)) for q in queries))  # type: ignore[misc] # bound now
            theirs.append(statistics.median(timed(lambda q=q: plain(rows, q)) for q in queries))  # type: ignore[misc] # bound now
        opened = opening_ms(folder, rows.shape[1])
    return {
        "rows": count,
        "dimension": int(rows.shape[1]),
        "queries": len(queries),
        "source": source,
        "real_rows": len(real),
        "recall_at_20_real": agreed,
        "recall_at_20": agreed_all,
        "search_cpu_ms": round(statistics.median(ours), 2),
        "numpy_cpu_ms": round(statistics.median(theirs), 2),
        "search_to_numpy": round(statistics.median(ours) / statistics.median(theirs), 3),
        "open_ms": opened,
    }


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), Path(sys.argv[2]))))
