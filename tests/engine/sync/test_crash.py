"""kill -9 at any moment leaves an index that opens, answers and can be completed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import ANY
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.snapshot import LocalSnapshot
from watersmeet.store.local.view import CatalogueView

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]


def test_kills_at_random_moments(tmp_path: Path) -> None:
    """A short run of the script; `python scripts/killing.py` is the long one."""
    argv = [sys.executable, str(ROOT / "scripts" / "killing.py")]
    argv += ["--kills", "6", "--files", "40", "--records", "60", "--batch", "40"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["kills"], summary["failures"]) == (6, [])


@pytest.mark.model
def test_kills_while_the_folder_changes(tmp_path: Path) -> None:
    """One kill of each sort, and the comparison with a fresh index; CI runs 30."""
    argv = [sys.executable, str(ROOT / "scripts" / "kills.py"), "--kills", "4", "--every", "4", "--pages", "24"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["kills"], summary["failures"], summary["compared_with_fresh"]) == (4, [], 1)


class Stopped(RuntimeError):
    """Stands in for a kill that comes exactly between two commits."""


def records(path: Path, numbers: range) -> None:
    path.write_text("".join(json.dumps({"_id": f"r{n}", "text": f"only_{n}_here"}) + "\n" for n in numbers))


@pytest.fixture
def small(tmp_path: Path) -> Engine:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__WRITER__BATCH_CHUNKS": "10"}
    return Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ))


def stop_in_the_middle(engine: Engine, root: Path) -> None:
    """The first commit is the last."""

    def tell(step: object) -> None:
        if getattr(step, "doing", "") == "committed":
            raise Stopped

    with pytest.raises(Stopped):
        engine.sync([root], progress=tell)


def test_a_move_of_many_records_that_is_cut_short(tmp_path: Path, small: Engine) -> None:
    """Until the last record has moved, the rest belong to the file they were in."""
    root = tmp_path / "vault"
    (root / "new").mkdir(parents=True)
    records(root / "a.jsonl", range(35))
    small.sync([root])
    (root / "a.jsonl").rename(root / "new/b.jsonl")
    stop_in_the_middle(small, root)
    assert len(small.documents()) == 35
    report = small.sync([root])
    assert (report.skipped, report.documents) == ([], 35)
    assert {small.get(f"r{n}")["path"] for n in range(35)} == {str(root / "new/b.jsonl")}
    (root / "new/b.jsonl").unlink()
    assert small.sync([root]).documents == 0


def test_a_record_that_goes_to_another_file(tmp_path: Path, small: Engine) -> None:
    """It is in the other one's way at first; no later than the next sync it is found again."""
    root = tmp_path / "vault"
    root.mkdir()
    for first, second in (("a", "b"), ("b", "a")):
        records(root / f"{first}.jsonl", range(5))
        records(root / f"{second}.jsonl", range(10, 12))
        small.sync([root])
        small.sync([root])
        records(root / f"{first}.jsonl", range(4))
        records(root / f"{second}.jsonl", range(4, 5))
        small.sync([root])
        small.sync([root])
        assert small.get("r4")["path"] == str(root / f"{second}.jsonl")


def test_a_second_root_that_is_stopped_renames_nothing(tmp_path: Path, small: Engine) -> None:
    for name in ("z/x.md", "z/z/x.md", "other/y.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# Page\n\n{name}\n")
    small.sync([tmp_path / "z"])
    stop_in_the_middle(small, tmp_path / "other")
    small.sync([tmp_path / "other"])
    assert {d["document"] for d in small.documents()} == {"x.md", "z/x.md", "other/y.md"}
    assert small.get("z/x.md")["path"] == str(tmp_path / "z/z/x.md")


def test_a_root_around_earlier_ones_leaves_them_alone_when_it_is_stopped(tmp_path: Path, small: Engine) -> None:
    """Nothing is forgotten on the way, and nothing is indexed again."""
    top = tmp_path / "top"
    for name in ("docs/x.md", "docs/docs/x.md", "notes/y.md", "docs-2/docs/x.md", "single.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"# Page\n\n{name}. See [other](x.md).\n")
        os.utime(top / name, (1_700_000_000, 1_700_000_000))
    records(top / "notes/r.jsonl", range(3))
    os.utime(top / "notes/r.jsonl", (1_700_000_000, 1_700_000_000))
    roots = [top / "docs", top / "notes", top / "docs-2" / "docs", top / "single.md"]
    small.sync(roots)
    pages = {"x.md", "docs/x.md", "notes/y.md", "docs-2/x.md", "single.md/single.md"}
    before = {page: small.get(page) for page in pages}
    chunks = small.status()["chunks"]
    (top / "new.md").write_text("# New\n")
    stop_in_the_middle(small, top)
    small.sync([top])
    assert {d["document"] for d in small.documents()} == pages | {"r0", "r1", "r2", "top/new.md"}
    report = small.sync()
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 9)
    assert (report.chunks, small.status()["dead"]) == (chunks + 1, 0)
    assert small.status()["roots"] == [str(root) for root in (*roots, top)]
    assert {page: small.get(page) for page in pages} == before


def test_stores_that_are_replaced_stay_for_those_who_read(tmp_path: Path, small: Engine) -> None:
    """A query that began before `--recreate` may open its stores after it."""
    root = tmp_path / "vault"
    root.mkdir()
    records(root / "a.jsonl", range(5))
    small.sync([root])
    with Engine(small.folder, small.settings) as reader:
        with CatalogueView.transaction(snapshot := LocalSnapshot(small.folder, small.index.make)):
            small.sync([root], recreate=True)
            snapshot._renew()
            assert snapshot.words(ANY).size == 5
        snapshot.close()
        assert reader.search("only_3_here").results[0].document == "r3"
