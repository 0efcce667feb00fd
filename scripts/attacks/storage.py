"""Damaged files, index folders with other files, killed processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from attacks.probe import command, probe, require

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # what the tests do to an index is done here more often

from tests.helpers.damage import Index, flips, problems, shown  # noqa: E402

FLIPS = 300
KILLS = 8


def flipped(folder: Path, text: str, count: int, *, silent: bool = False) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    index = Index(folder, text)
    files: Counter[str] = Counter()
    for file, at, mask in flips(index, count, 1):
        index.fresh()
        index.flip(file, at, mask, silent=silent)
        wrong = list(problems(index, silent=silent))
        require(not wrong, f"{file} byte {at} ^ {mask:#x}: {wrong[:1]}")
        files[file.suffix] += 1
    return (
        f"{count} flips in {len(files)} sorts of files: the same answer or damage that is named, and a sync repairs it"
    )


@probe("bytes of any file of an index are flipped")
def some_flips(folder: Path) -> str:
    return flipped(folder, "tantivy", 10)


@probe("bytes of any file of an index are flipped, 300 times", slow=True)
def many_flips(folder: Path) -> str:
    return flipped(folder, "tantivy", FLIPS)


@probe("the same with FTS5 for the words", slow=True)
def many_flips_fts5(folder: Path) -> str:
    return flipped(folder, "fts5", FLIPS // 3)


@probe("the disk flips bytes in silence: sizes and times stay", slow=True)
def silent_flips(folder: Path) -> str:
    return flipped(folder, "tantivy", FLIPS // 3, silent=True)


@probe("one byte of a chunk's text is another")
def text(folder: Path) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    index = Index(folder)
    index.flip_text(b"See D7 ")
    with index.opened(index.copy) as engine:
        answer = engine.search("rotate keys D7")
        require(not any("E7" in result.text for result in answer.results), "the damaged text was returned")
        require(any("page7.md" in failure.reason for failure in answer.failures), "nothing was said of it")
        engine.sync([index.vault])
        healed = engine.search("rotate keys D7", top_n=8)
        require(shown(healed) == shown(index.right["rotate keys D7", "hybrid"]), "a sync did not repair it")
    return "it is left out and named; a sync reads its file again"


@probe("garbage in vectors, postings and words; then `doctor`")
def garbage(folder: Path) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    index = Index(folder)
    tried = ("*.codes", "*.scales", "*.exact", "*.postings", "*.idx", "*.pos", "*.term")
    for pattern in tried:
        path = next(path for path in sorted(index.fresh().rglob(pattern)))
        path.write_bytes(path.read_bytes()[:-40] + os.urandom(40))
        with index.opened(index.copy) as engine:
            ill = [check for check in engine.doctor() if not check.ok]
        require(
            any(path.name in check.detail and "sync" in check.hint for check in ill), f"doctor is silent on {pattern}"
        )
    return f"{len(tried)} sorts of files: each is named, with what to run"


@probe("files of an index are cut short, emptied or gone")
def cut(folder: Path) -> str:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    index = Index(folder)
    done = 0
    for file in index.files():
        for size in (None, 0, (index.whole / file).stat().st_size // 2):
            path = index.fresh() / file
            path.unlink() if size is None else os.truncate(path, size)
            if file.name == "catalogue.db" and not size:
                continue  # that is no index, or an empty one
            wrong = list(problems(index))
            require(not wrong, f"{file} cut to {size}: {wrong[:1]}")
            done += 1
    return f"{done} times: named, and repaired by a sync"


@probe("an index is edited, moved and deleted from, then compacted: are its scores those of a fresh one?")
def history(folder: Path) -> str:
    test = str(ROOT / "tests/engine/query/test_edit_history.py")
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    require(done.returncode == 0, done.stdout[-300:])
    return "all scores, levels and terms are equal to a millionth, with tantivy and with FTS5"


@probe("sync, deepen, compaction and register are killed while files change", slow=True)
def kills(folder: Path) -> str:
    argv = [sys.executable, str(ROOT / "scripts/kills.py"), "--kills", str(KILLS), "--every", str(KILLS)]
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    require(done.returncode == 0, done.stdout[-300:] + done.stderr[-300:])
    found = json.loads(done.stdout)
    return f"{found['kills']} kills: nothing acknowledged is lost, the end is that of a fresh index"


@probe("garbage in place of the whole catalogue")
def no_catalogue(folder: Path) -> str:
    (folder / "notes").mkdir()
    (folder / "notes/a.md").write_text("# Heron\n\nIt stands still.\n")
    command(folder, "sync", "notes", "--index", "i", "--no-vectors")
    (folder / "i/catalogue.db").write_bytes(os.urandom(50_000))
    for words in (["search", "heron"], ["get", "a.md"], ["doctor"], ["status"], ["sync", "notes", "--no-vectors"]):
        done = command(folder, *words, "--index", "i")
        require(done.returncode == 2, f"{words[0]} ended with {done.returncode}")
    done = command(folder, "sync", "notes", "--index", "i", "--no-vectors", "--recreate")
    require(done.returncode == 0, f"not even --recreate helped: {done.stderr}")
    require("Heron" in command(folder, "search", "heron", "--index", "i").stdout, "it is not found again")
    return "every command says so and what to run; --recreate builds it anew"
