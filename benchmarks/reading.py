"""Reading by the transformer: one thread and two, each text alone and in batches, on chunks of real Markdown.

    python benchmarks/reading.py [FOLDER OF MARKDOWN] [--chunks 160] [--rounds 2]

CPU seconds per 1,000 chunks are the least of the rounds, in turns; chunks a second by the clock are the most. Batches
have texts of similar length; their vectors are compared with those of the texts alone.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import RESULTS, keep, load, machine
from _corpus import source

from watersmeet import Engine
from watersmeet.core.model import ANY
from watersmeet.core.text_fields import embedded_text
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.settings.settings import load as load_settings

WAYS = {
    "one thread": Onnx(threads=1),
    "two threads": Onnx(threads=2),
    "one thread, batches of 512 tokens": Onnx(threads=1, batch_tokens=512),
    "one thread, batches of 2048 tokens": Onnx(threads=1, batch_tokens=2048),
}
SHORT = 48
"""Tokens of a short text, of which batches are tried too."""


def chunks(folder: Path, count: int) -> list[str]:
    """What the transformer reads of some chunks, from all over the folder."""
    with tempfile.TemporaryDirectory(prefix="reading-") as scratch:
        settings = load_settings(start=scratch, environ={}, flags={"index": {"vectors": False}})
        pages = sorted(folder.rglob("*.md"))
        random.Random(1).shuffle(pages)  # noqa: S311 - a sample
        with Engine(Path(scratch) / "index", settings) as engine:
            engine.sync(pages[: max(1, count // 4)])
            with engine.snapshot() as snapshot:
                found = snapshot.passages(snapshot.sample(count, ANY)).values()
    return [embedded_text(one.title, one.headings, one.text) for one in found]


def measured(texts: list[str], rounds: int) -> dict[str, Any]:
    cpu, wall = ({name: float("inf") for name in WAYS} for _ in range(2))
    vectors = {}
    for way in WAYS.values():
        way.embed(texts[:4])
    for _ in range(rounds):
        for name, way in WAYS.items():
            clock, processor = time.perf_counter(), time.process_time()
            vectors[name] = way.embed(texts)
            cpu[name] = min(cpu[name], time.process_time() - processor)
            wall[name] = min(wall[name], time.perf_counter() - clock)
    alone = vectors["one thread"]
    return {
        name: {
            "cpu_seconds_per_1000": round(1000 * cpu[name] / len(texts), 2),
            "chunks_a_second": round(len(texts) / wall[name], 1),
            "identical": bool(np.array_equal(found, alone)),
            "least_cosine_to_alone": round(float((found * alone).sum(axis=1).min()), 5),
        }
        for name, found in vectors.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=source() / "kubernetes_en")
    parser.add_argument("--chunks", type=int, default=160)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    where = machine()
    texts = chunks(options.folder, options.chunks)
    model = Onnx()._encoder()
    lengths = [len(one) for one in model.tokens(texts)]
    short = [" ".join(text.split()[: SHORT // 2]) for text in texts]
    figures = {
        "chunks": len(texts),
        "mean_tokens": round(float(np.mean(lengths))),
        "whole": measured(texts, options.rounds),
        "short_mean_tokens": round(float(np.mean([len(one) for one in model.tokens(short)]))),
        "short": measured(short, options.rounds),
        "load_after": load(),
    }
    print(json.dumps(keep("reading", {"machine": where, **figures}, options.out), indent=1))


if __name__ == "__main__":
    main()
