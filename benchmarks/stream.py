"""The memory that one large file takes: JSON lines of made-up records, read by `watersmeet sync FILE --no-vectors`.

    python benchmarks/stream.py [--mb 536] [--before COMMIT] [--save FOLDER|none]

The file is made in a temporary folder and removed again. Then a second sync, of the file as it is, and a third, of the
file with one record more. `--before` measures the package of another commit the same way, beside this one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, WATERSMEET, Runner, keep, load, machine, size_mb

WORDS = 30_000
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]


def make(file: Path, mb: float) -> int:
    """Records of about 500 bytes until the file is so large; how many there are."""
    chance = random.Random(1)  # noqa: S311 - to be repeatable
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 5))) for _ in range(WORDS)]
    weights = [1 / (rank + 10) for rank in range(WORDS)]
    pool = chance.choices(words, weights, k=2_000_000)
    count = size = 0
    with file.open("w", encoding="utf8") as out:
        while size < mb * 1e6:
            start = chance.randrange(len(pool) - 60)
            record = {"_id": f"r{count}", "title": " ".join(pool[start : start + 4]), "text": ""}
            record["text"] = " ".join(pool[start + 4 : start + 56])[:430]
            size += out.write(json.dumps(record) + "\n")
            count += 1
    return count


def measured(file: Path, home: Path, package: Path) -> dict[str, Any]:
    """A first sync, one of the file as it is, and one after a record was added."""
    home.mkdir()
    run = Runner(home, {"PYTHONPATH": str(package)})
    figures: dict[str, Any] = {}
    for name in ("first", "unchanged", "one_more"):
        if name == "one_more":
            with file.open("a", encoding="utf8") as out:
                out.write(json.dumps({"_id": f"more {home.name}", "text": "one record more"}) + "\n")
        cost = run(*WATERSMEET, "sync", str(file), "--no-vectors", "--json", "--index", str(home / "index"), good=(0,))
        report = json.loads(cost.out)
        figures[name] = {
            "peak_mb": round(cost.peak),
            "seconds": round(cost.wall, 1),
            "cpu_seconds": round(cost.cpu, 1),
            **{key: report[key] for key in ("added", "changed", "unchanged", "documents", "chunks")},
        }
        print(package, name, figures[name], file=sys.stderr)
    figures["index_mb"] = size_mb(home / "index")
    return figures


def package_of(commit: str, place: Path) -> Path:
    """The package as it was at a commit."""
    place.mkdir()
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(place)], input=packed, check=True)
    return place / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mb", type=float, default=536)
    parser.add_argument("--before", default="", metavar="COMMIT")
    parser.add_argument("--save", default=str(RESULTS), metavar="FOLDER|none")
    options = parser.parse_args()
    figures: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        file = place / "records.jsonl"
        figures["records"] = make(file, options.mb)
        figures["file_mb"] = round(os.path.getsize(file) / 1e6, 1)
        figures["now"] = measured(file, place / "now", ROOT / "src")
        if options.before:
            before = package_of(options.before, place / "package")
            figures["before"] = {"commit": options.before, **measured(file, place / "before", before)}
    figures["machine"]["load_after"] = load()
    print(json.dumps(keep("stream", figures, None if options.save == "none" else Path(options.save)), indent=1))


if __name__ == "__main__":
    main()
