"""Recall of the vector store on real vectors, with its sketch and without, against comparing all in float32.

    python benchmarks/_real.py FOLDER static
    python benchmarks/_real.py FOLDER dense 80000 40
    python benchmarks/recall.py FOLDER

Of each question's best 20 rows by float32, the share that is found: of all rows, and of a tenth and a hundredth of them
as a filter would allow. CPU milliseconds of a search are medians. The sketch begins at the rows of the smaller store
here; without it all codes are compared.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from _common import keep, load, machine
from _real import Matrix, real

from watersmeet.core.model import Row
from watersmeet.store.local import _sketch
from watersmeet.store.local.vectors import Reader, Vectors

BEST = 20
BLOCK = 8192
EQUAL = 1e-6
NEVER = 1 << 40
"""Rows that no store has: none gets a sketch."""
SHARES = {"all rows": 1, "a tenth of the rows": 10, "a hundredth": 100}


def unit(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Matrix = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found


def filled(folder: Path, rows: Matrix, least: int) -> Reader:
    _sketch.LEAST_ROWS = least
    writer = Vectors(str(folder), rows.shape[1]).writer()
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        writer.add([Row(start + n) for n in range(len(block))], block)
    writer.commit()
    return Vectors(str(folder), rows.shape[1]).reader()


def recall(reader: Reader, rows: Matrix, questions: Iterable[Matrix], each: int) -> dict[str, Any]:
    """Equal scores count as found, whichever of them stands among the best."""
    allowed = np.arange(0, len(rows), each) if each > 1 else None
    shares, first, took = [], [], []
    for question in questions:
        scores = rows[::each] @ question
        bound, best = np.sort(scores)[-BEST] - EQUAL, scores.max() - EQUAL
        start = time.process_time()
        found = reader.search(question, BEST, allowed)
        took.append(1000 * (time.process_time() - start))
        exact = [float(rows[row] @ question) for row, _ in found]
        shares.append(float(sum(score >= bound for score in exact)) / BEST)
        first.append(float(exact[0] >= best))
    return {
        f"recall_{BEST}": round(statistics.mean(shares), 4),
        "worst": min(shares),
        "first": round(statistics.mean(first), 4),
        "cpu_ms": round(statistics.median(took), 2),
    }


def measured(folder: Path, tier: str) -> dict[str, Any]:
    rows, questions = map(unit, real(folder, tier))
    rows = rows[np.abs(rows).max(axis=1) > 0]
    figures: dict[str, Any] = {"rows": len(rows), "dimension": rows.shape[1], "questions": len(questions)}
    for name, least in {"codes": NEVER, "sketch": len(rows)}.items():
        with tempfile.TemporaryDirectory() as place:
            reader = filled(Path(place), rows, least)
            if (reader.sketch is None) != (name == "codes"):
                raise SystemExit(f"{tier}: the store of {len(rows)} rows has the other form")
            recall(reader, rows, questions[:5], 1)  # maps the files
            figures[name] = {what: recall(reader, rows, questions, each) for what, each in SHARES.items()}
    return figures


if __name__ == "__main__":
    where = machine()
    figures = {tier: measured(Path(sys.argv[1]), tier) for tier in ("static", "dense")}
    print(json.dumps(keep("recall", {"machine": where, **figures, "load_after": load()}), indent=1))
