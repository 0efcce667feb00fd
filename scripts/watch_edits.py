"""Edits, moves, deletes, renamed folders and bursts while `watersmeet watch` runs; the index must equal a fresh one.

    python scripts/watch_edits.py [--seconds 600] [--seed 1] [--burst 300] [--text tantivy] [--save FILE]

A process watches a folder with its index inside it. This one changes files, as programs do: in place, by a temporary
file that is renamed, in bursts, by moving folders within, into and out of the folder, by ignore rules, by deleting the
whole folder and making it again. Now and then another process syncs the same index at the same time. Some saves hold a
word of their own, and are timed until a search by words finds it. In the end, documents, chunk ids and texts must be
those of an index that is made anew. Prints JSON; exit code 1 on any problem.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from watersmeet import Engine
from watersmeet.core.errors import WatersmeetError
from watersmeet.engine.settings.settings import load

COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
WORDS = "tide reed silt bank delta marsh gate mark song line".split()
SETTLE_SECONDS = 60.0
FOUND_SECONDS = 60.0
FOLDERS, FILES = 12, 80


class Ground:
    """The folder, and the changes to it; all of them are repeatable but for their moments."""

    def __init__(self, place: Path, seed: int, burst: int) -> None:
        self.folder, self.outside = place / "notes", place / "outside"
        self.chance = random.Random(seed)  # noqa: S311 - to be repeatable
        self.burst = burst
        self.number = 0
        self.done: Counter[str] = Counter()
        self.outside.mkdir(parents=True)
        for _ in range(FOLDERS):
            self._new_folder()
        for _ in range(FILES):
            self.create()
        self.done.clear()

    def change(self) -> None:
        """One change of a kind by chance."""
        kinds: list[tuple[Callable[[], None], int]] = [
            (self.create, 10),
            (self.edit, 25),
            (self.replace, 15),
            (self.delete, 8),
            (self.move, 10),
            (self.rename_folder, 6),
            (self.move_folder, 4),
            (self.move_out, 2),
            (self.move_in, 3),
            (self.delete_folder, 1),
            (self.useless, 6),
            (self.ignore, 2),
            (self.many, 1),
        ]
        act = self.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        self.done[act.__name__] += 1
        act()

    def create(self) -> None:
        self.text_to(self._folder() / f"page-{self._next()}.{self.chance.choice(['md', 'md', 'md', 'txt'])}")

    def edit(self) -> None:
        if file := self._file():
            with file.open("a") as stream:
                stream.write(f"\n## Part {self._next()}\n\n{self._words()}\n")

    def replace(self) -> None:
        """As editors save: a temporary file, renamed."""
        if file := self._file():
            temporary = file.with_name(f".{file.name}.{self._next()}.tmp")
            self.text_to(temporary)
            os.replace(temporary, file)

    def delete(self) -> None:
        if file := self._file():
            file.unlink()

    def move(self) -> None:
        if file := self._file():
            os.rename(file, self._folder() / f"moved-{self._next()}{file.suffix}")

    def rename_folder(self) -> None:
        if folder := self._below():
            os.rename(folder, folder.with_name(f"folder-{self._next()}"))

    def move_folder(self) -> None:
        folder, into = self._below(), self._folder()
        if folder and folder != into and folder not in into.parents:
            os.rename(folder, into / f"folder-{self._next()}")

    def move_out(self) -> None:
        if folder := self._below():
            os.rename(folder, self.outside / f"out-{self._next()}")

    def move_in(self) -> None:
        folders = sorted(self.outside.iterdir())
        if folders:
            os.rename(self.chance.choice(folders), self._folder() / f"in-{self._next()}")

    def delete_folder(self) -> None:
        if folder := self._below():
            shutil.rmtree(folder)

    def useless(self) -> None:
        """Files that are never read."""
        folder = self._folder() / self.chance.choice(["node_modules/pack", ".hidden", "__pycache__", "ignored"])
        folder.mkdir(parents=True, exist_ok=True)
        self.text_to(folder / f"useless-{self._next()}.md")
        (self._folder() / f"data-{self.number}.bin").write_bytes(b"\0" * 10)

    def ignore(self) -> None:
        """Other ignore rules in some folder."""
        rules = ["ignored/", *(["page-*3.md"] if self.chance.random() < 0.5 else [])]
        (self._folder() / ".gitignore").write_text("\n".join(rules) + "\n")

    def many(self) -> None:
        """A burst, as a checkout or an unpacked archive makes it."""
        top = self._folder() / f"burst-{self._next()}"
        for number in range(self.burst):
            file = top / f"{number % 7}" / f"file-{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            self.text_to(file)

    def recreate(self) -> None:
        """The whole folder is deleted and made again, with the index in it kept."""
        self.done["recreate"] += 1
        away = self.folder.with_name("away")
        os.rename(self.folder, away)
        time.sleep(self.chance.uniform(0, 3))
        if self.chance.random() < 0.5:
            shutil.copytree(away, self.folder, symlinks=True)
            shutil.rmtree(away)
        else:
            os.rename(away, self.folder)

    def probe(self) -> str:
        """Save a file with a word of its own; returns the word."""
        word = f"probe{self._next()}x{self.chance.randrange(10**9)}"
        (self.folder / "probes").mkdir(exist_ok=True)
        (self.folder / "probes" / f"probe-{self.chance.randrange(5)}.md").write_text(f"# Probe\n\n{word}\n")
        return word

    def text_to(self, file: Path) -> None:
        parts = [f"## Part {n}\n\n{self._words()}" for n in range(self.chance.randrange(1, 4))]
        file.write_text(f"# Page {self.number}\n\n" + "\n\n".join(parts) + "\n")

    def _words(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=40)) + f" number{self._next()}"

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _new_folder(self) -> None:
        (self._folder() / f"folder-{self._next()}").mkdir(parents=True)

    def _folder(self) -> Path:
        """The folder, or one below it."""
        return self.chance.choice([self.folder, *self._folders()])

    def _below(self) -> Path | None:
        folders = self._folders()
        if len(folders) < FOLDERS // 2:
            self._new_folder()
        return self.chance.choice(folders) if folders else None

    def _folders(self) -> list[Path]:
        never = ("node_modules", "__pycache__", "probes")
        found: list[Path] = []
        for top, names, _ in os.walk(self.folder):
            names[:] = sorted(name for name in names if name[0] != "." and name not in never)
            found += [Path(top, name) for name in names]
        return found

    def _file(self) -> Path | None:
        folders = [self.folder, *self._folders()]
        files = [file for folder in folders for file in sorted(folder.glob("*.*")) if file.is_file()]
        files = [file for file in files if file.suffix in (".md", ".txt") and file.name[0] != "."]
        return self.chance.choice(files) if files else None


def content(index: str) -> dict[str, list[tuple[str, tuple[str, ...], str]]]:
    """Documents with ids, headings and texts of their chunks."""
    with Engine(index, load()) as engine:
        return {
            one["document"]: [(p.id, p.headings, p.text) for p in engine.passages(one["document"])]
            for one in engine.documents()
        }


def differences(index: str, fresh: str) -> list[str]:
    watched, anew = content(index), content(fresh)
    return [
        f"{name}: {'only watched' if name not in anew else 'only fresh' if name not in watched else 'differs'}"
        for name in sorted({*watched, *anew})
        if watched.get(name) != anew.get(name)
    ]


def found_after(engine: Engine, word: str) -> float | None:
    """Seconds until a search by words finds a word."""
    start = time.monotonic()
    while time.monotonic() < start + FOUND_SECONDS:
        try:
            found = engine.search(word, mode="lexical").results
            if any(word in one.text for one in found):  # not only what is spelled like it
                return time.monotonic() - start
        except WatersmeetError:
            pass
        time.sleep(0.02)
    return None


def run(place: Path, seconds: float, seed: int, burst: int) -> dict[str, Any]:
    ground = Ground(place, seed, burst)
    index = str(ground.folder / ".watersmeet") if seed % 2 else str(place / "index")
    with (place / "lines.jsonl").open("w") as lines, (place / "errors.txt").open("w") as errors:
        argv = [*COMMAND, "watch", str(ground.folder), "--index", index, "--json"]
        watching = subprocess.Popen(argv, stdout=lines, stderr=errors, cwd=place)
        try:
            delays, lost, syncs = _changes(ground, index, seconds, watching)
            settled, left = _settle(ground, index, place)
            status = watching.poll()
        finally:
            watching.send_signal(signal.SIGTERM)
            code = watching.wait(60)
    batches = [json.loads(line) for line in (place / "lines.jsonl").read_text().splitlines()]
    return {
        "seed": seed,
        "seconds": seconds,
        "index_inside": bool(seed % 2),
        "changes": dict(sorted(ground.done.items())),
        "other_syncs": syncs,
        "batches": len(batches) - 1,
        "summary": batches[-1] if batches else {},
        "documents": len(content(index)),
        "save_to_found_s": {
            "saves": len(delays),
            "median": round(statistics.median(delays), 2) if delays else None,
            "max": round(max(delays), 2) if delays else None,
        },
        "settled_s": settled,
        "problems": [
            *left[:20],
            *(f"never found: {word}" for word in lost),
            *([] if status is None else [f"watch ended with {status}"]),
            *([] if code == 0 else [f"exit code {code}"]),
        ],
        "messages": (place / "errors.txt").read_text().splitlines()[-10:],
        "load": [round(one, 1) for one in os.getloadavg()],
    }


def _changes(
    ground: Ground, index: str, seconds: float, watching: subprocess.Popen[bytes]
) -> tuple[list[float], list[str], int]:
    """Make changes for so long; returns delays of saves, words that were not found, and syncs by another process."""
    delays: list[float] = []
    lost: list[str] = []
    syncs = 0
    with Engine(index, load()) as engine:
        found_after(engine, "tide")  # until the first sync is over
        end = time.monotonic() + seconds
        recreate = time.monotonic() + seconds / 2
        while time.monotonic() < end and watching.poll() is None:
            for _ in range(ground.chance.choice([1, 1, 1, 2, 5, 20])):
                ground.change()
            if time.monotonic() > recreate and str(ground.folder) not in index:
                recreate = end
                ground.recreate()
            if ground.chance.random() < 0.05:
                subprocess.run([*COMMAND, "sync", "--index", index, "--no-deepen", "-q"], check=False)
                syncs += 1
            if ground.chance.random() < 0.3:
                time.sleep(ground.chance.uniform(0, 1.5))
                word = ground.probe()
                took = found_after(engine, word)
                delays, lost = (delays, [*lost, word]) if took is None else ([*delays, took], lost)
            time.sleep(ground.chance.choice([0, 0.05, 0.3, 1.0]))
    return delays, lost, syncs


def _settle(ground: Ground, index: str, place: Path) -> tuple[float, list[str]]:
    """Wait until the index equals a fresh one; returns the seconds, and the differences that stay."""
    fresh = str(place / "fresh")
    start = time.monotonic()
    with Engine(fresh, load(flags={"index": {"vectors": False}})) as engine:
        engine.sync([ground.folder])
    left = differences(index, fresh)
    while left and time.monotonic() < start + SETTLE_SECONDS:
        time.sleep(0.5)
        left = differences(index, fresh)
    return round(time.monotonic() - start, 1), left


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--burst", type=int, default=300)
    parser.add_argument("--text", default="tantivy")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    os.environ["WATERSMEET__INDEX__TEXT"] = options.text
    os.environ.setdefault("WATERSMEET__INDEX__DENSE", "hashed")
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CONFIG_HOME"] = os.environ["XDG_CACHE_HOME"] = f"{place}/home"
        outcome = run(Path(os.path.realpath(place)), options.seconds, options.seed, options.burst)
    text = json.dumps(outcome, indent=1)
    print(text)
    if options.save:
        options.save.write_text(text + "\n")
    return 1 if outcome["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
