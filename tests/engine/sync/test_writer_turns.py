"""Several writers at one index: they take turns at commits, and what the one does is not undone by the other.

The long sync is in this thread. Whatever is to happen beside it starts when the first batch is committed, and the sync
goes on once the other has begun to wait for its turn, or is done.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from watersmeet import Engine
from watersmeet.core.documents import Chunk, Document
from watersmeet.core.errors import IndexBusy, IndexDamaged, LeaseLost, SourceProblem, WatersmeetError
from watersmeet.core.locks import FileLock
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.place import Place
from watersmeet.core.text_fields import prepare
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Progress, SyncReport
from watersmeet.store.local._turns import WriterLock

pytestmark = pytest.mark.kill

ROOT = Path(__file__).parents[3]
SETTINGS = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__WRITER__BATCH_CHUNKS": "8"}
PAGES = 40
SERVER = {"kind": "mcp_server", "path": "/tides", "name": "Tides", "description": "when the harbour floods"}


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    root = tmp_path / "pages"
    root.mkdir()
    for n in range(PAGES):
        (root / f"p{n:02}.md").write_text(f"# Page {n}\n\nonly_{n:02}_here and more\n")
    return root


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with opened(tmp_path / "index") as made:
        yield made


def opened(index: Path | str, **settings: str) -> Engine:
    more = {f"WATERSMEET__WRITER__{key.upper()}": value for key, value in settings.items()}
    return Engine(index, load(start=str(Path(index).parent), environ={**SETTINGS, **more}))


class Beside:
    """Runs in another thread from the first commit of a sync on; `done_at` says after how many commits it was over."""

    def __init__(self, folder: str, *steps: Callable[[], object]) -> None:
        self.several = len(steps) > 1
        self.lock = WriterLock(folder)
        self.thread = Thread(target=self.run, args=(steps,))
        self.over = Event()
        self.errors: list[WatersmeetError] = []
        self.commits = 0
        self.done_at: int | None = None

    def run(self, steps: tuple[Callable[[], object], ...]) -> None:
        try:
            for step in steps:
                step()
        except WatersmeetError as error:
            self.errors.append(error)
        finally:
            self.over.set()

    def progress(self, progress: Progress) -> None:
        if progress.doing != "committed":
            return
        self.commits += 1
        if self.commits == 1:
            self.thread.start()
        while (self.commits == 1 or self.several) and not self.over.is_set() and not self.lock.is_wanted():
            time.sleep(0.001)
        if self.over.is_set() and self.done_at is None:
            self.done_at = self.commits

    def sync(self, engine: Engine, place: Path) -> SyncReport:
        try:
            return engine.sync([place], progress=self.progress, deepen=False)
        finally:
            self.thread.join(60)


def documents(engine: Engine) -> set[str]:
    return {found["document"] for found in engine.documents()}


def names(*numbers: int) -> set[str]:
    return {f"p{n:02}.md" for n in numbers}


def assert_sound(engine: Engine) -> None:
    assert [check for check in engine.doctor() if not check.ok] == []
    with engine.snapshot() as snapshot:
        assert snapshot.query("SELECT count(*) FROM chunks JOIN dead USING (row)") == [(0,)]
        assert snapshot.query("SELECT count(*) FROM reserved") == [(0,)]


def test_something_is_registered_during_a_long_sync(engine: Engine, pages: Path) -> None:
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.registry.register([SERVER], deepen=False))
        report = beside.sync(engine, pages)
    assert beside.errors == []
    assert beside.done_at is not None
    assert beside.done_at < beside.commits  # and not when the sync was done
    assert report.added == PAGES
    assert documents(engine) == names(*range(PAGES)) | {"/tides"}
    assert engine.search("only_39_here").results[0].document == "p39.md"
    assert engine.search("harbour floods").results[0].document == "/tides"
    assert_sound(engine)


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_two_folders_are_read_at_once(tmp_path: Path, pages: Path, text: str) -> None:
    more = tmp_path / "more"
    more.mkdir()
    for n in range(PAGES):
        (more / f"m{n:02}.md").write_text(f"# More {n}\n\nmore_{n:02}_there\n")
    environ = {**SETTINGS, "WATERSMEET__INDEX__TEXT": text}
    settings = load(start=str(tmp_path), environ=environ)
    with Engine(tmp_path / "index", settings) as engine, Engine(tmp_path / "index", settings) as other:
        beside = Beside(engine.folder, lambda: other.sync([more], deepen=False))
        beside.sync(engine, pages)
        assert beside.errors == []
        assert len(documents(engine)) == 2 * PAGES
        assert engine.search("more_00_there").results[0].document == "more/m00.md"
        assert engine.search("only_39_here").results[0].document == "p39.md"
        again = engine.sync([])
        assert (again.unchanged, again.added, again.removed) == (2 * PAGES, 0, 0)
        assert_sound(engine)


def test_the_second_sync_of_a_folder_waits_for_the_first(engine: Engine, pages: Path) -> None:
    reports = []
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: reports.append(other.sync([pages], deepen=False)))
        first = beside.sync(engine, pages)
    assert beside.errors == []
    assert (first.added, reports[0].added, reports[0].unchanged) == (PAGES, 0, PAGES)
    assert_sound(engine)


def test_whoever_will_not_wait_for_a_folder_is_told_who_reads_it(engine: Engine, pages: Path) -> None:
    with opened(engine.folder, lock_seconds="0.1") as other:
        beside = Beside(engine.folder, lambda: other.sync([pages], deepen=False))

        def tell(progress: Progress) -> None:
            beside.progress(progress)
            if beside.commits == 2:  # the other has had its turn and waits for this sync, which takes its time
                beside.over.wait(60)

        engine.sync([pages], progress=tell, deepen=False)
        beside.thread.join(60)
    (error,) = beside.errors
    assert isinstance(error, IndexBusy)
    assert f"process {os.getpid()} " in str(error)
    assert documents(engine) == names(*range(PAGES))


def test_what_is_removed_during_a_sync_stays_away_until_the_next(engine: Engine, pages: Path) -> None:
    engine.sync([pages])
    for page in pages.iterdir():  # every file is looked into, and says what it said
        os.utime(page, (1, 1))
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.remove("p39.md"))
        settings = load(start=str(pages.parent), environ={**SETTINGS, "WATERSMEET__WRITER__BATCH_SECONDS": "0"})
        with Engine(engine.folder, settings) as hasty:
            report = beside.sync(hasty, pages)
    assert beside.errors == []
    assert (report.added, report.changed) == (0, 0)
    assert documents(engine) == names(*range(PAGES - 1))
    assert engine.sync([pages]).added == 1
    assert documents(engine) == names(*range(PAGES))
    assert_sound(engine)


def test_a_folder_that_is_removed_while_it_is_read(engine: Engine, pages: Path) -> None:
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.remove("pages"))
        with pytest.raises(SourceProblem, match="taken out of the index"):
            beside.sync(engine, pages)
    assert beside.errors == []
    assert documents(engine) == set()
    assert engine.sync([pages]).added == PAGES
    assert_sound(engine)


def test_a_folder_that_is_removed_when_there_is_only_something_to_forget(engine: Engine, pages: Path) -> None:
    engine.sync([pages])
    shutil.rmtree(pages)
    pages.mkdir()
    with opened(engine.folder) as other, open_for_writing(engine.index, engine.settings) as index:
        (root,) = index.catalogue.roots()
        with index.catalogue.root_lease(root):
            lost = list(index.catalogue.files(root.id).values())
            thread = Thread(target=other.remove, args=("pages",))
            thread.start()
            while not WriterLock(engine.folder).is_wanted():
                time.sleep(0.001)
            index.catalogue.take_turns()
            thread.join(60)
            with pytest.raises(SourceProblem, match="taken out of the index"):
                index.catalogue.commit(Changes(forgotten=[lost[0].id]))
    assert documents(engine) == set()


def test_an_id_that_somebody_takes_meanwhile_is_not_overwritten(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"

    def write(edit: int) -> None:
        lines = [{"_id": f"line{n}", "title": f"Line {n}", "text": f"only_{n}_{edit}"} for n in range(PAGES)]
        file.write_text("\n".join(map(json.dumps, [*lines, {"_id": "/tides", "title": "T", "text": f"ours {edit}"}])))

    write(1)
    engine.sync([file])
    assert engine.get("/tides")["title"] == "T"
    write(2)
    with opened(engine.folder) as other:
        beside = Beside(
            engine.folder,
            lambda: other.remove("/tides"),
            lambda: other.registry.register([SERVER], deepen=False),
        )
        report = beside.sync(engine, file)
    assert beside.errors == []
    assert [skipped.reason for skipped in report.skipped] == ["the id '/tides' belongs to another document"]
    assert engine.registry.get("/tides")["description"] == SERVER["description"]
    engine.registry.unregister("/tides")
    assert engine.sync([file]).added == 1  # the file is read again, though it has not changed
    assert engine.get("/tides")["title"] == "T"
    assert_sound(engine)


def test_a_folder_gets_another_collection_while_it_is_read(engine: Engine, pages: Path) -> None:
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.sync([pages], collection="harbour", deepen=False))
        beside.sync(engine, pages)
    assert beside.errors == []
    assert engine.status()["collections"]["harbour"] == PAGES


def test_a_folder_moves_when_it_has_been_read(engine: Engine, pages: Path, tmp_path: Path) -> None:
    moved = shutil.copytree(pages, tmp_path / "moved")
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.relocate(pages, moved))
        report = beside.sync(engine, pages)
    assert beside.errors == []
    assert report.added == PAGES
    assert {Path(engine.get(name)["path"]).parent for name in documents(engine)} == {moved}
    assert_sound(engine)


def test_the_words_are_written_anew_during_a_sync(engine: Engine, pages: Path) -> None:
    engine.sync([pages])
    before = engine.search("only_00_here").results[0].document
    for page in pages.iterdir():
        page.write_text(page.read_text().replace("here", "now"))
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: other.compact(grace=0))
        report = beside.sync(engine, pages)
    assert beside.errors == []
    assert (before, report.changed) == ("p00.md", PAGES)
    for n in range(PAGES):
        assert engine.search(f"only_{n:02}_now").results[0].document == f"p{n:02}.md"
    assert_sound(engine)


def test_nothing_is_begun_anew_in_the_middle_of_a_sync(engine: Engine, pages: Path) -> None:
    reports = []
    with opened(engine.folder) as other:
        beside = Beside(engine.folder, lambda: reports.append(other.sync([pages], recreate=True, deepen=False)))
        first = beside.sync(engine, pages)
    assert beside.errors == []
    assert (first.added, reports[0].added) == (PAGES, PAGES)
    assert documents(engine) == names(*range(PAGES))
    assert_sound(engine)


def test_a_writer_that_lost_its_lock_without_knowing_commits_no_more(engine: Engine, pages: Path) -> None:
    """Somebody deleted the lock's file, and another took a new one."""
    committed: list[set[str]] = []

    def tell(progress: Progress) -> None:
        if progress.doing == "committed" and not committed:
            for name in ("writer.lock", "writer.queue"):
                Path(engine.folder, name).unlink()
            with opened(engine.folder) as other:
                other.remove("p00.md")
                committed.append(documents(other))

    with pytest.raises(LeaseLost) as caught:
        engine.sync([pages], progress=tell, deepen=False)
    assert "again" in caught.value.hint
    assert documents(engine) == committed[0]
    assert engine.sync([pages]).documents == PAGES
    assert_sound(engine)


def test_what_could_not_be_committed_gives_its_rows_back(engine: Engine, tmp_path: Path) -> None:
    def put(name: str) -> Put:
        document = Document(DocId(name), "document", name, name)
        chunk = Chunk(ChunkId("the same"), DocId(name), f"says {name}", (), Place((1, 1)))
        return Put(document, tuple(prepare(document, [chunk])), b"", 1)

    with open_for_writing(engine.index, engine.settings) as index:
        with pytest.raises(IndexDamaged):
            index.catalogue.commit(Changes(put=[put("a"), put("b")]))
        assert index.catalogue.counts() == (0, 0)
        assert index.catalogue.commit(Changes(put=[put("b")])) == []
    assert_sound(engine)
    assert engine.search("says").results[0].document == "b"


def test_whoever_waits_goes_on_waiting_while_the_holder_gets_on(tmp_path: Path) -> None:
    lock, waits = FileLock(str(tmp_path), "a.lock"), FileLock(str(tmp_path), "a.lock")
    assert lock.attempt()
    begun = time.monotonic()
    thread = Thread(target=waits.take, args=(2.0,))
    thread.start()
    while time.monotonic() - begun < 5:
        lock.renew()
        time.sleep(0.01)
    assert thread.is_alive()
    lock.release()
    thread.join(60)
    assert waits.is_held
    with pytest.raises(IndexBusy):
        lock.take(0.1)
    waits.release()


def test_somebody_who_is_next_and_was_stopped_is_overtaken(engine: Engine, pages: Path) -> None:
    stopped = FileLock(engine.folder, "writer.queue")
    assert stopped.attempt()
    assert engine.sync([pages / "p00.md", pages / "p01.md"]).added == 2
    stopped.release()
    assert_sound(engine)


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_four_writers_some_of_them_killed(text: str, tmp_path: Path) -> None:
    argv = [sys.executable, str(ROOT / "scripts" / "writers.py"), "--short", "--text", text]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads(done.stdout)
    assert (summary["lost"], summary["problems"]) == (0, [])
    assert sum(summary["kills"].values()) > 2
    assert summary["searches"] > 0
