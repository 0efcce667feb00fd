"""Speed and its growth: indexing, warm queries, cold starts, memory and size; dense against numpy.

    python benchmarks/speed.py [--sizes 1000,10000,100000] [--real-up-to 1000] [--quick]

CPU time (user and system, all threads) is the measure: it depends least on what else the machine is doing. Notes of
about a hundred words are made from ../shared/data/markdown, repeated with variation where that is too little. Dense
vectors are made by the transformer up to `--real-up-to` documents and are random beyond: the search is exact, so its
cost does not depend on them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, WATERSMEET, Runner, cold, exponent, keep, load, machine, queries, size_mb

from watersmeet.engine.settings.settings import cache_folder

HERE = ROOT / "benchmarks"
WARMING = 60
QUERY_COUNT = 260
COLD = 10


def indexing(run: Runner, corpus: Path, index: Path, real: bool) -> dict[str, Any]:
    """Words first, then static vectors, then dense ones: the cost of each step, and what is on disk after it."""
    sync = [*WATERSMEET, "sync", str(corpus), "--index", str(index), "--json"]
    words = run(*sync, "--no-vectors")
    report = json.loads(words.out)
    figures: dict[str, Any] = {
        "documents": report["documents"],
        "chunks": report["chunks"],
        "words_cpu_s": round(words.cpu, 2),
        "words_wall_s": round(words.wall, 2),
        "words_peak_mb": round(words.peak),
        "words_index_mb": size_mb(index),
    }
    figures["unchanged_cpu_s"] = round(run(*sync, "--no-vectors").cpu, 2)
    static = run(*sync, "--no-deepen")
    figures |= {"static_cpu_s": round(static.cpu, 2), "static_peak_mb": round(static.peak)}
    if real:
        dense = run(*sync)
        figures |= {"dense": "embedded", "dense_cpu_s": round(dense.cpu, 2), "dense_peak_mb": round(dense.peak)}
    else:
        run(sys.executable, str(HERE / "_synthetic.py"), str(index))
        figures["dense"] = "synthetic"
    figures["index_mb"] = size_mb(index)
    return figures


def at_size(run: Runner, corpus: Path, index: Path, query_file: Path, real: bool) -> dict[str, Any]:
    figures = indexing(run, corpus, index, real)
    texts = json.loads(query_file.read_text("utf8"))
    for mode in ("lexical", "hybrid"):
        command = (sys.executable, str(HERE / "_asking.py"), str(index), mode, str(query_file), str(WARMING))
        figures[mode] = json.loads(run(*command).out)
        search = [*WATERSMEET, "search", "--mode", mode, "--index", str(index), "--"]
        figures[mode] |= cold(run, search, texts[:COLD])
    return figures


def growth(sizes: dict[str, dict[str, Any]]) -> dict[str, float | None]:
    """The exponents: of everything measured, and of the last step, in which constant costs count least."""
    entries = list(sizes.values())
    documents = [entry["documents"] for entry in entries]
    series = {
        "words_cpu_s": [entry["words_cpu_s"] for entry in entries],
        "static_cpu_s": [entry["static_cpu_s"] for entry in entries],
        "lexical_cpu_p50": [entry["lexical"]["cpu_ms"]["p50"] for entry in entries],
        "hybrid_cpu_p50": [entry["hybrid"]["cpu_ms"]["p50"] for entry in entries],
    }
    found: dict[str, float | None] = {}
    for name, values in series.items():
        found[name] = exponent(documents, values)
        found[f"{name}_last"] = exponent(documents[-2:], values[-2:])
    return found


def sizes_of(text: str) -> list[int]:
    sizes = sorted(int(part) for part in text.split(","))
    if sizes[0] < 100:
        raise argparse.ArgumentTypeError("at least 100 documents")
    return sizes


def everything(folder: Path, sizes: list[int], real_up_to: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each size includes the smaller ones, and all get the same queries."""
    corpus, query_file, have = folder / "notes", folder / "queries.json", 0
    run = Runner(folder)
    for size in sizes:
        run(sys.executable, str(HERE / "_corpus.py"), str(corpus), str(have), str(size))
        have = size
        if not query_file.exists():
            query_file.write_text(json.dumps(queries(corpus, QUERY_COUNT, step=max(1, size // 1000))), "utf8")
        figures = at_size(run, corpus, folder / f"index-{size}", query_file, size <= real_up_to)
        yield size, {**figures, "text_mb": size_mb(corpus)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=sizes_of, default=[1_000, 10_000, 100_000])
    parser.add_argument("--real-up-to", type=int, default=1_000, help="documents that the transformer embeds")
    parser.add_argument("--rows", type=int, default=100_000, help="of the dense search beside numpy")
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing kept: to see that it works")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    if args.quick:
        args.sizes, args.rows, args.real_up_to = [200, 1000], 20_000, 200
    facts = machine()
    sizes: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        cache = os.path.join(cache_folder(), "embeddings")
        script = (sys.executable, str(HERE / "_dense.py"), str(args.rows), cache)
        dense = json.loads(Runner(folder, single)(*script).out)
        print(f"dense: {dense}", file=sys.stderr)
        for size, figures in everything(folder, args.sizes, args.real_up_to):
            sizes[str(size)] = figures
            print(f"{size}: {figures}", file=sys.stderr, flush=True)
    facts["load_after"] = load()
    result = {"machine": facts, "quick": args.quick, "sizes": sizes, "growth": growth(sizes), "dense": dense}
    print(json.dumps(keep("speed", result, None if args.quick else args.out), indent=1))


if __name__ == "__main__":
    main()
