"""Embedding rates of the static model and the transformer, against a bare loop. Vector search is in speed.py.

python benchmarks/embedding.py [FOLDER OF MARKDOWN] [--texts 300]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped] # it has no types
from _common import RESULTS, keep, load, machine
from _corpus import source
from tokenizers import Tokenizer

from watersmeet.embed._locate import locate
from watersmeet.embed.onnx import Onnx
from watersmeet.embed.static import Static


def chunks(folder: Path, count: int) -> list[str]:
    """Pieces of 100 words from all over the folder."""
    pieces = []
    for path in sorted(folder.rglob("*.md")):
        words = path.read_text(errors="replace").split()
        pieces += [" ".join(words[n : n + 100]) for n in range(0, len(words) - 99, 100)]
    if not pieces:
        raise SystemExit(f"{folder} has no Markdown of 100 words")
    np.random.default_rng(1).shuffle(pieces)
    return [pieces[n % len(pieces)] for n in range(count)]


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


class Bare:
    """The loop that the embedder is held against: length-sorted padded batches, as onnxruntime likes to thread."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(512)
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"))

    def embed(self, texts: list[str], budget: int) -> None:
        tokens = sorted((one.ids for one in self.tokenizer.encode_batch(texts)), key=len, reverse=True)
        while tokens:
            longest = len(tokens[0])
            batch, tokens = tokens[: max(1, budget // longest)], tokens[max(1, budget // longest) :]
            ids = np.array([[*one, *[1] * (longest - len(one))] for one in batch])
            mask = np.array([[1] * len(one) + [0] * (longest - len(one)) for one in batch])
            self.session.run(None, {"input_ids": ids, "attention_mask": mask})


def embedding(texts: list[str]) -> dict[str, Any]:
    static, dense, bare = Static(), Onnx(), Bare(locate("granite-30m", "", False))
    static.embed(texts[:100])
    dense.embed(texts[:4])
    bare.embed(texts[:4], 512)
    many = [texts[n % len(texts)] for n in range(3000)]
    wall, processor = timed(lambda: static.embed(many))
    ours: list[float] = []
    loops: dict[int, list[float]] = {512: [], 2048: [], 8192: []}
    for _ in range(3):
        ours.append(len(texts) / timed(lambda: dense.embed(texts))[0])
        for budget, rates in loops.items():
            rates.append(len(texts) / timed(lambda budget=budget: bare.embed(texts, budget))[0])  # type: ignore[misc] # bound now
    best = max(statistics.median(rates) for rates in loops.values())
    return {
        "static_per_cpu_second": round(len(many) / processor),
        "static_per_second": round(len(many) / wall),
        "granite_per_second": round(statistics.median(ours), 1),
        "bare_loop_per_second": {n: round(statistics.median(rates), 1) for n, rates in loops.items()},
        "granite_to_best_bare_loop": round(statistics.median(ours) / best, 3),
        "granite_query_ms": round(
            1000 * timed(lambda: [dense.embed_query("how do I log on?") for _ in range(50)])[0] / 50, 2
        ),
        "static_query_ms": round(
            1000 * timed(lambda: [static.embed_query("how do I log on?") for _ in range(50)])[0] / 50, 3
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=source())
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    facts = machine()
    figures = embedding(chunks(args.folder, args.texts))
    facts["load_after"] = load()
    print(json.dumps(keep("embedding", {"machine": facts, **figures}, args.out), indent=1))


if __name__ == "__main__":
    main()
