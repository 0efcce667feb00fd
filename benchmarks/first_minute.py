"""From `git clone` to the first answer: the README's one command, part by part, with every package at hand.

    python benchmarks/first_minute.py [--runs 3] [--folders 0]

Each run clones this repository's HEAD and works with an empty home. The packages are fetched once beforehand, and then
taken from a folder, without the network. Then two folders of other people, as a newcomer's own: how long until they can
be searched, and until the transformer has read them (or would have: of a large one it reads for a minute).
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import RESULTS, ROOT, SHARED, CommandFailed, Runner, keep, load, machine, size_mb

FOLDERS = ("obsidian_help_en", "kubernetes_en")
READ = 60


def parts(readme: str) -> dict[str, str]:
    """The steps of the README's command by their short names, in order."""
    block = re.search(r"^## Try it\n.*?^```sh\n(.*?)\n```", readme, re.MULTILINE | re.DOTALL)
    if not block:
        raise SystemExit("README.md has no command under `Try it`")
    steps = block[1].split(" && ")
    names = ("venv", "pip", "sync", "search")
    if len(steps) != len(names) or not all(name in step for name, step in zip(names, steps, strict=True)):
        raise SystemExit(f"README.md's command is not {', '.join(names)}: {steps}")
    return dict(zip(names, steps, strict=True))


def fetch(wheels: Path) -> None:
    """All that pip will ask for, in one folder."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", str(wheels)]
    Runner(wheels.parent)(*pip, "hatchling", f"{ROOT}[pdf,web]", str(ROOT / "models" / "granite-30m"), good=(0,))
    for own in wheels.glob("watersmeet*"):
        own.unlink()


def minute(folder: Path, wheels: Path) -> dict[str, Any]:
    """One newcomer: seconds of each part, CPU seconds beside them, and what was answered."""
    home, place = folder / "home", folder / "watersmeet"
    home.mkdir()
    own = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    cost = {"clone": Runner(folder)("git", "clone", "-q", str(ROOT), str(place), good=(0,))}
    run = Runner(place, own | pip)
    for name, step in parts((place / "README.md").read_text("utf8")).items():
        cost[name] = run("bash", "-euo", "pipefail", "-c", step, good=(0,))
    return {
        "seconds": {name: each.wall for name, each in cost.items()},
        "cpu_seconds": {name: each.cpu for name, each in cost.items()},
        "installed_mb": size_mb(place / ".venv"),
        "first_answer": cost["search"].out.splitlines()[0],
    }


def own_folder(watersmeet: str, docs: Path, place: Path) -> dict[str, Any]:
    """Somebody's folder: until it can be searched, and until it is read by the transformer."""
    place.mkdir()
    run = Runner(place)
    quick = run(watersmeet, "sync", str(docs), "--no-deepen", "--quiet")
    deep = run("timeout", "--signal=INT", str(READ), watersmeet, "deepen", "--quiet", good=(0, 2, 124))
    status = json.loads(run(watersmeet, "status", "--json").out)
    dense = status["signals"]["dense"]
    return {
        "documents": status["documents"],
        "chunks": status["chunks"],
        "searchable_seconds": round(quick.wall, 1),
        "deep_seconds": round(deep.wall / dense["coverage"], 1),
        "deep_share_measured": round(dense["coverage"], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folders", type=int, default=len(FOLDERS), help="how many folders of others")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    before, found, folders = machine(), [], {}
    with tempfile.TemporaryDirectory() as place:
        wheels = Path(place) / "wheels"
        fetch(wheels)
        for number in range(args.runs):
            folder = Path(place) / str(number)
            folder.mkdir()
            found.append(minute(folder, wheels))
            print(json.dumps(found[-1]), file=sys.stderr)
        installed = str(folder / "watersmeet" / ".venv" / "bin" / "watersmeet")
        for name in FOLDERS[: args.folders]:
            folders[name] = own_folder(installed, SHARED / "data" / "markdown" / name, Path(place) / name)
            print(name, json.dumps(folders[name]), file=sys.stderr)
    figures = {
        unit: {part: round(statistics.median(run[unit][part] for run in found), 2) for part in found[0][unit]}
        for unit in ("seconds", "cpu_seconds")
    }
    total = round(statistics.median(sum(run["seconds"].values()) for run in found), 1)
    last = {key: found[-1][key] for key in ("installed_mb", "first_answer")}
    before["load_after"] = load()
    result = {"machine": before, "runs": args.runs, **figures, "total_seconds": total, **last, "folders": folders}
    print(json.dumps(keep("first_minute", result, args.out), indent=1))


if __name__ == "__main__":
    try:
        main()
    except CommandFailed as failed:
        sys.exit(str(failed))
