"""Vectors of real passages of ../shared/data and of real questions, kept as arrays in a folder.

    python benchmarks/_real.py FOLDER TIER [PASSAGES] [WORDS]

TIER is static or dense. WORDS: so many of each passage are read, all by default; the transformer reads 80,000 short
ones in minutes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from _common import SHARED
from numpy.typing import NDArray

from watersmeet.engine.index.tiers import embedder_name
from watersmeet.engine.models import embedder
from watersmeet.engine.settings.settings import load

QUESTIONS = 300
BLOCK = 4096
Matrix = NDArray[np.float32]


def questions() -> list[str]:
    """As many of each judged corpus, in a fixed order."""
    from words_at_scale import JUDGED

    found = []
    for name in JUDGED:
        lines = (SHARED / "data" / "eval" / name / "queries.jsonl").read_text("utf8").splitlines()
        texts = [str(json.loads(line)["text"]) for line in lines]
        found += texts[:: max(1, len(texts) * len(JUDGED) // QUESTIONS)]
    return found


def real(folder: Path, tier: str) -> tuple[Matrix, Matrix]:
    """Vectors of passages and of questions."""
    rows: Matrix = np.load(folder / f"{tier}.npy").astype(np.float32)
    asked: Matrix = np.load(folder / f"{tier}-questions.npy").astype(np.float32)
    return rows, asked


def keep(folder: Path, tier: str, most: int, words: int | None) -> None:
    from words_at_scale import passages  # with what it compares: too much where vectors are only read

    folder.mkdir(parents=True, exist_ok=True)
    settings = load(start=str(folder), environ={})
    model = embedder(settings, embedder_name(settings, tier))
    texts = [f"{title}\n{' '.join(text.split()[:words])}" for title, text in passages()]
    texts = [texts[n] for n in np.random.default_rng(1).permutation(len(texts))[:most]]
    np.save(folder / f"{tier}-questions.npy", np.array([model.embed_query(one) for one in questions()], np.float16))
    made: list[NDArray[np.float16]] = []
    for start in range(0, len(texts), BLOCK):
        made += [vectors.astype(np.float16) for _, vectors in model.embed_stream(texts[start : start + BLOCK])]
        np.save(folder / f"{tier}.npy", np.concatenate(made))
        print(f"{min(start + BLOCK, len(texts))} of {len(texts)}, {time.process_time():.0f} CPU-s", flush=True)


if __name__ == "__main__":
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 30
    keep(Path(sys.argv[1]), sys.argv[2], count, int(sys.argv[4]) if len(sys.argv) > 4 else None)
