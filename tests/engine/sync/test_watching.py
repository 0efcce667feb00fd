"""A watched index follows its folders: whatever happens to them, it ends up as a sync would leave it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexBusy
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import change_events, watching
from watersmeet.engine.sync.change_events import NoEvents, Pending, owner_of, part_of
from watersmeet.engine.sync.watching import WatchedBatch, Watcher, may_watch

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).parents[3] / "scripts" / "watch_edits.py"
QUICK: dict[str, Any] = {"index": {"vectors": False}, "watch": {"quiet_seconds": 0.05, "poll_seconds": 0.2}}


def until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    """What never happens is a failure; how long it takes is the machine's business."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


class Watched:
    """An index that a thread watches."""

    def __init__(self, index: Path, flags: dict[str, Any], **options: Any) -> None:
        self.engine = Engine(index, load(start=str(index.parent), flags=flags))
        self.batches: list[WatchedBatch] = []
        self.messages: list[str] = []
        self.watcher = Watcher(self.engine, say=self.messages.append, synced=self.batches.append, **options)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watcher.run, args=(self.stop,))

    def documents(self) -> list[str]:
        return sorted(one["document"] for one in self.engine.documents())

    def has(self, *documents: str) -> None:
        until(lambda: self.documents() == sorted(documents))

    def is_current(self) -> bool:
        return self.watcher.stale() == 0


@contextmanager
def watched(index: Path, flags: dict[str, Any] | None = None, **options: Any) -> Iterator[Watched]:
    one = Watched(index, {**QUICK, **(flags or {})}, **options)
    one.thread.start()
    try:
        yield one
    finally:
        one.stop.set()
        one.thread.join(30)
        one.engine.close()
    assert not one.thread.is_alive()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "sub" / "deep").mkdir(parents=True)
    for name in ("a.md", "sub/b.md", "sub/deep/c.md"):
        (folder / name).write_text(f"# {name}\n\nThe text of {name}\n")
    return folder


def indexed(place: Path, *folders: Path, **flags: Any) -> Path:
    with Engine(place, load(start=str(place.parent), flags={**QUICK, **flags})) as engine:
        engine.sync(folders)
    return place


@pytest.mark.parametrize("inside", [True, False])
def test_files_and_folders_are_followed(notes: Path, tmp_path: Path, inside: bool) -> None:
    index = indexed(notes / ".watersmeet" if inside else tmp_path / "index", notes)
    with watched(index) as one:
        until(one.is_current)
        (notes / "sub" / "new.md").write_text("# New\n\nherons\n")
        one.has("a.md", "sub/b.md", "sub/deep/c.md", "sub/new.md")
        until(lambda: [batch.parts for batch in one.batches if batch.changed] == [{str(notes): "sub/"}])
        (notes / "a.md").write_text("# A\n\notters\n")
        until(lambda: [r.document for r in one.engine.search("otters").results] == ["a.md"])
        os.rename(notes / "sub" / "deep", notes / "elsewhere")
        one.has("a.md", "elsewhere/c.md", "sub/b.md", "sub/new.md")
        until(lambda: sum(batch.report.moved for batch in one.batches) == 1)
        shutil.rmtree(notes / "sub")
        one.has("a.md", "elsewhere/c.md")
        assert not one.messages


def test_a_burst_and_its_removal(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_events, "MAX_PATHS", 20)
    monkeypatch.setattr(watching, "AFTERWARDS_SECONDS", 0.1)
    with watched(indexed(tmp_path / "index", notes)) as one:
        until(one.is_current)
        for number in range(100):
            place = notes / "burst" / f"{number % 5}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}.md").write_text(f"# {number}\n")
        until(lambda: len(one.documents()) == 103)
        shutil.rmtree(notes / "burst")
        until(lambda: len(one.documents()) == 3)


def test_what_is_left_out_causes_no_sync(notes: Path) -> None:
    (notes / ".gitignore").write_text("build/\n")
    with watched(indexed(notes / ".watersmeet", notes)) as one:
        until(one.is_current)
        before = len(one.batches)
        for name in ("node_modules/x/y.md", "build/z.md", ".git/a.md", "data.bin", ".watersmeet/more.md"):
            (notes / name).parent.mkdir(parents=True, exist_ok=True)
            (notes / name).write_text("useless")
        (notes / "a.md").write_text("# A\n\notters\n")  # what is synced after them
        until(lambda: len(one.batches) > before and one.is_current())
        time.sleep(0.5)  # enough for a loop to show
        assert len(one.batches) <= before + 2
        one.has("a.md", "sub/b.md", "sub/deep/c.md")
        (notes / ".gitignore").write_text("build/\nsub/\n")
        one.has("a.md")


def test_a_folder_that_vanishes_keeps_its_documents_and_may_come_back(notes: Path, tmp_path: Path) -> None:
    with watched(indexed(tmp_path / "index", notes)) as one:
        until(one.is_current)
        os.rename(notes, tmp_path / "away")
        until(lambda: "its documents are kept" in one.watcher.status()["problem"])
        assert one.watcher.stale() is None
        assert len(one.documents()) == 3
        notes.mkdir()
        (notes / "again.md").write_text("# Again\n")
        one.has("again.md")
        (notes / "more.md").write_text("# More\n")
        one.has("again.md", "more.md")
        until(lambda: one.watcher.status()["problem"] == "")


def test_a_place_that_is_no_longer_mounted_counts_as_missing(tmp_path: Path) -> None:
    with Engine(tmp_path / "index", load(start=str(tmp_path), flags=QUICK)) as engine:
        watcher = Watcher(engine)
        place = tmp_path / "disk"
        place.mkdir()
        status = os.stat(place)
        folder = watching._Folder("folder", (status.st_dev + 1, 2))  # as it was on the disk that was mounted here
        assert not watcher._is_new(str(place), folder)
        assert "is something not mounted?" in folder.problem
        (place / "a.md").write_text("# mounted again, as another device\n")
        assert watcher._is_new(str(place), folder)
        assert (folder.problem, folder.identity) == ("", (status.st_dev, status.st_ino))
        assert not watcher._is_new(str(place), folder)


def test_one_file_is_followed_too(notes: Path, tmp_path: Path) -> None:
    with watched(indexed(tmp_path / "index", notes / "a.md")) as one:
        until(one.is_current)
        (notes / "temporary").write_text("# A\n\notters\n")
        os.replace(notes / "temporary", notes / "a.md")
        until(lambda: one.engine.search("otters").results)
        one.has("a.md")


def test_a_folder_that_is_added_later_is_watched(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "ROOTS_SECONDS", 0.1)
    index = indexed(tmp_path / "index", notes / "sub" / "deep")
    with watched(index) as one:
        until(one.is_current)
        other = tmp_path / "other"
        other.mkdir()
        indexed(index, other)
        until(lambda: len(one.watcher.folders) == 2)
        (other / "x.md").write_text("# X\n")
        one.has("c.md", "other/x.md")


def test_a_busy_index_is_tried_again(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = watching.sync_parts, []

    def busy(*arguments: Any) -> Any:
        if len(refused) < 2:
            refused.append(arguments)
            raise IndexBusy("another process is writing")
        return real(*arguments)

    with watched(indexed(tmp_path / "index", notes)) as one:
        until(one.is_current)
        monkeypatch.setattr(watching, "sync_parts", busy)
        monkeypatch.setattr(watching, "FIRST_RETRY_SECONDS", 0.05)
        (notes / "new.md").write_text("# New\n")
        one.has("a.md", "new.md", "sub/b.md", "sub/deep/c.md")
        assert len(refused) == 2


def test_without_events_the_folders_are_checked(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise NoEvents("OS file watch limit reached")

    monkeypatch.setattr(change_events.Listener, "_start", refuse)
    with watched(indexed(tmp_path / "index", notes)) as one:
        until(lambda: one.watcher.state == "polling")
        (notes / "new.md").write_text("# New\n")
        one.has("a.md", "new.md", "sub/b.md", "sub/deep/c.md")
        (notes / "sub" / "b.md").unlink()
        one.has("a.md", "new.md", "sub/deep/c.md")
        assert "max_user_watches" in one.messages[0]
        assert one.watcher.stale() is None


def test_the_limit_of_the_system_is_noticed(notes: Path, tmp_path: Path) -> None:
    """In a user namespace, whose limit can be set without touching anybody else's."""
    unshare = ["unshare", "-Ur", "bash", "-c", 'echo 2 > /proc/sys/user/max_inotify_watches && exec "$@"', "-"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    code = f"from watersmeet.engine.sync.change_events import Listener; Listener([{str(notes)!r}], [], print)"
    done = subprocess.run([*unshare, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "NoEvents: OS file watch limit reached" in done.stderr


def test_one_process_watches_and_another_takes_over(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "STANDBY_SECONDS", 0.05)
    index = indexed(tmp_path / "index", notes)
    with watched(index) as second:
        until(second.is_current)
        with watched(index) as first:
            until(lambda: first.watcher.state == "standby")
            assert first.watcher.stale() is None
            second.stop.set()
            second.thread.join(30)
            until(first.is_current)
            (notes / "new.md").write_text("# New\n")
            first.has("a.md", "new.md", "sub/b.md", "sub/deep/c.md")


def test_a_server_leaves_alone_what_was_synced_by_other_rules(notes: Path, tmp_path: Path) -> None:
    index = indexed(tmp_path / "index", notes, source={"folder": {"exclude": ["sub/"]}})
    with watched(index, by_owner=False) as one:
        until(lambda: "other settings" in one.watcher.status()["problem"])
        (notes / "new.md").write_text("# New\n")
        assert (one.watcher.folders, one.documents()) == ([], ["a.md"])
    with watched(index) as one:
        one.has("a.md", "new.md", "sub/b.md", "sub/deep/c.md")


def test_vectors_follow_the_words(notes: Path, tmp_path: Path) -> None:
    flags = {"index": {"dense": "hashed"}}
    index = indexed(tmp_path / "index", notes, **flags)
    with watched(index, flags) as one:
        until(one.is_current)
        (notes / "new.md").write_text("# New\n\nherons and otters\n")
        until(lambda: one.engine.search("otters").results)
        until(lambda: {s["coverage"] for s in one.engine.status()["signals"].values()} == {1.0})
        assert one.engine.search("herons", mode="dense").results


def test_an_index_that_comes_later(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "STANDBY_SECONDS", 0.05)
    with watched(tmp_path / "index") as one:
        time.sleep(0.2)
        assert not (tmp_path / "index").exists()
        indexed(tmp_path / "index", notes)
        until(one.is_current)
        assert one.watcher.folders == [str(notes)]


def test_who_may_watch(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(indexed(tmp_path / "index", notes)) as engine:
        assert may_watch(engine) == ""
        monkeypatch.setattr(watching, "is_ours", lambda _: False)
        assert may_watch(engine) == "the index belongs to another user"


def test_batches() -> None:
    pending = Pending(quiet=3600, longest=3600)
    assert not pending.due()
    pending.add({"/a": ["/a/b"]})
    assert (bool(pending), pending.due()) == (True, False)
    pending.add({"/a": ["/a/c"], "/d": None})
    assert pending.take() == {"/a": {"/a/b", "/a/c"}, "/d": None}
    assert not pending
    late = Pending(quiet=3600, longest=0)
    late.add({"/a": ["/a/b"]})
    assert late.due()


def test_the_part_to_sync(notes: Path) -> None:
    root = str(notes)
    assert part_of(root, None) == part_of(root, {f"{root}/a.md"}) == part_of(root, {root}) == ""
    assert part_of(root, {f"{root}/sub/b.md"}) == "sub/"
    assert part_of(root, {f"{root}/sub/deep"}) == "sub/deep/"
    assert part_of(root, {f"{root}/sub/deep/c.md", f"{root}/sub/deep/x.md"}) == "sub/deep/"
    assert part_of(root, {f"{root}/sub/deep/c.md", f"{root}/sub/b.md"}) == "sub/"
    assert part_of(root, {f"{root}/sub/gone/deeper/x.md"}) == "sub/"
    assert part_of(root, {f"{root}/sub/b.md", f"{root}/subway"}) == ""
    assert owner_of(f"{root}/sub/x", [root, f"{root}/sub", "/other"]) == f"{root}/sub"
    assert owner_of("/elsewhere", [root]) == ""


def test_edits_by_a_script(tmp_path: Path) -> None:
    """A short run; `python scripts/watch_edits.py` is the long one."""
    argv = [sys.executable, str(SCRIPT), "--seconds", "12", "--burst", "60", "--seed", "4"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
