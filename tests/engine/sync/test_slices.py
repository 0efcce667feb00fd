"""Slices of a root: read by several workers, each once, and the index is as if one process had read all of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from cluster_indexes import NO_VECTORS, cluster_environment, cluster_index, cluster_settings
from clusters import NOT_RUN, missing
from watersmeet import Engine
from watersmeet.core.errors import LeaseLost, SourceProblem, Stopped
from watersmeet.core.indexing import Found
from watersmeet.core.queue import Job
from watersmeet.core.visibility import EVERYONE
from watersmeet.core.writing import FileState
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import slices
from watersmeet.engine.sync.formats import Formats
from watersmeet.engine.sync.jobs import leased
from watersmeet.engine.sync.report import Progress, SyncReport
from watersmeet.engine.sync.slices import Slice, cut, read_slice, slice_kind
from watersmeet.engine.sync.work import Worker, queue_of
from watersmeet.store.postgres.index import Postgres
from watersmeet.store.postgres.job_writer import PostgresJobWriter

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
PAGES = 400


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "FILES", 10)


@pytest.fixture
def slow_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that waits before each slice of its own, so that workers, which look once a second, read others."""
    read = slices.read_slice

    def wait_and_read(*arguments: Any) -> None:
        time.sleep(0.3)
        read(*arguments)

    monkeypatch.setattr(slices, "read_slice", wait_and_read)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An index of its own."""
    with cluster_index() as filling:
        yield filling.index._address  # type: ignore[attr-defined]


@pytest.fixture
def cluster(address: str) -> Iterator[Engine]:
    with Engine(address, cluster_settings(NO_VECTORS)) as made:
        if made.index.exists():
            made.remove(made.index.root_places())
            made.compact(grace=0)
        yield made


def pages(folder: Path, count: int = PAGES) -> Path:
    folder.mkdir(exist_ok=True)
    for n in range(len([*folder.iterdir()]), count):
        (folder / f"p{n:03}.md").write_text(f"# Page {n}\n\nThe otter only_{n:03}_here.\n\n## More\n\nTides.\n")
    return folder


def contents(engine: Engine) -> tuple[dict[str, int], list[str]]:
    """Numbers of chunks by document, and the ids of all chunks, which follow from documents and texts."""
    with engine.snapshot() as snapshot:
        return {one["document"]: one["chunks"] for one in engine.documents()}, [*snapshot.sample(10 * PAGES)]


def as_local(folder: Path, tmp_path: Path) -> tuple[dict[str, int], list[str]]:
    with Engine(tmp_path / "local", load(start=str(tmp_path), environ=NO_VECTORS)) as local:
        local.sync([folder])
        return contents(local)


def stored(engine: Engine, table: str) -> int:
    """How many versions were ever committed, dead ones included."""
    assert isinstance(engine.index, Postgres)
    return int(engine.index._o.generation().reading.ask(f"SELECT count(*) FROM {table}")[0][0])


def one_slice(engine: Engine, folder: Path) -> Job:
    """The only slice of a root whose sync was killed, taken by a worker whose lease has run out."""
    (folder / "new.md").write_text("# New\n\nA walrus.\n")
    with engine.index.writer(slices.writer_options(engine.index, engine.settings)) as writer:
        root = writer.roots()[0]
        fence = writer.lease.fence if writer.lease else 0
    path = folder / "new.md"
    part = Slice(root.id, fence, False, (), [Found("new.md", str(path), "stamp", None, ".md")])
    queue = queue_of(engine)
    kind = slice_kind(engine.settings, engine.index)
    queue.offer_all(kind, {f"{root.id}/x/0": part.to_json()})
    job = queue.take([kind], 0)
    assert job is not None
    return job


def test_a_slice_is_the_same_after_its_way_through_the_queue(tmp_path: Path) -> None:
    found = Found("a.md", "/a.md", "1 2", None, ".md", True, (("release", "a@1"),))
    part = Slice(3, 7, True, (".md",), [found], [FileState(1, "b.md", "s", b"\1\2", 5)])
    assert Slice.from_json(part.to_json()) == part
    pages(tmp_path / "pages", 25)
    items = [Found(path.name, str(path), "s") for path in sorted((tmp_path / "pages").iterdir())]
    assert [len(one) for one in cut(items)] == [10, 10, 5]
    (tmp_path / "pages" / "p003.md").write_bytes(b" " * slices.BYTES)  # a slice has so many bytes at most, or one file
    assert [len(one) for one in cut(items)] == [3, 1, 10, 10, 1]


@pytest.mark.kill
@pytest.mark.usefixtures("slow_sync")
def test_one_of_four_workers_is_killed_and_every_slice_is_committed_once(
    cluster: Engine, address: str, tmp_path: Path
) -> None:
    folder = pages(tmp_path / "pages", 1)
    cluster.sync([folder])
    pages(folder, PAGES + 1)
    before = stored(cluster, "documents"), stored(cluster, "chunks")
    environ = {**os.environ, **cluster_environment(), **NO_VECTORS}
    main = "from watersmeet.face.cli.main import main; main()"
    command = [sys.executable, "-c", main, "work", "--no-offer", "--json"]
    workers = [
        subprocess.Popen([*command, "--index", address], env=environ, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    queue = queue_of(cluster)
    reports: list[SyncReport] = []
    steps: list[Progress] = []
    killed: list[subprocess.Popen[str]] = []
    try:
        holders = all_at_work(cluster, workers)
        sync = Thread(target=lambda: reports.append(cluster.sync([folder], progress=steps.append)))
        sync.start()
        while sync.is_alive() and not killed:  # the first one that has a slice
            held = holders("read")
            killed = [one for one in workers if any(f" {one.pid} " in holder for holder in held)][:1]
            time.sleep(0.002)
        for one in killed:
            one.kill()
            one.wait()
        sync.join(60)
    finally:
        outputs = []
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            outputs.append(worker.communicate(timeout=30)[0])
    (report,) = reports
    assert [one.returncode for one in killed] == [-signal.SIGKILL]
    assert (report.added, report.changed, report.removed, report.skipped) == (PAGES, 0, 0, [])
    assert contents(cluster) == as_local(folder, tmp_path)
    assert (stored(cluster, "documents"), stored(cluster, "chunks")) == (before[0] + PAGES, before[1] + PAGES)
    done = [json.loads(line) for output in outputs for line in output.splitlines() if '"read@' in line]
    keys = [one["key"] for one in done if "problem" not in one]
    assert len(keys) == len(set(keys)) > 0  # the others were done by the sync itself
    assert sum('"read@' in out for one, out in zip(workers, outputs, strict=True) if one not in killed) >= 2
    assert queue.counts() == {"waiting": 0, "running": 0, "failed": 0}
    assert (steps[-1].done, steps[-1].doing) == (steps[-1].total, "committed")


def all_at_work(engine: Engine, workers: list[subprocess.Popen[str]]):  # type: ignore[no-untyped-def]
    """Wait until each worker has done something; returns what says who has a job of a kind."""
    assert isinstance(engine.index, Postgres)
    pool, seen, queue = engine.index.lasting, set[int](), queue_of(engine)

    def holders(kind: str) -> list[str]:
        sql = "SELECT holder FROM jobs WHERE starts_with(kind, %s) AND holder <> ''"
        return [holder for (holder,) in pool.ask(sql, [kind])]

    end = time.monotonic() + 60
    while len(seen) < len(workers) and time.monotonic() < end:
        for number in range(len(workers) - len(seen)):
            queue.offer("tidy", f"index {number}")
        time.sleep(0.01)
        seen |= {worker.pid for worker in workers for holder in holders("tidy") if f" {worker.pid} " in holder}
    while any(queue.counts().values()):
        time.sleep(0.01)
    return holders


@pytest.mark.usefixtures("slow_sync")
def test_changes_of_all_kinds_count_as_if_one_had_read_all(cluster: Engine, tmp_path: Path) -> None:
    folder = pages(tmp_path / "pages", 120)
    (folder / "p030.jsonl").write_text(json.dumps({"_id": "shared", "text": "Same."}) + "\n")
    stop = Event()
    done: list[str] = []
    with Engine(cluster.index._address, cluster.settings) as other:  # type: ignore[attr-defined]
        worker = Worker(other, lambda one: done.append(one.problem or one.job.kind))
        beside = Thread(target=worker.run, args=(stop,))
        beside.start()
        try:
            with Engine(tmp_path / "local", load(start=str(tmp_path), environ=NO_VECTORS)) as local:
                for step in range(3):
                    ours, theirs = (engine.sync([folder]).to_json() for engine in (cluster, local))
                    for report in (ours, theirs):
                        del report["took_ms"]
                    assert ours == theirs, step
                    change(folder, step)
                assert contents(cluster) == contents(local)
        finally:
            stop.set()
            beside.join()
    assert {one.partition("@")[0] for one in done} == {"read"}


def change(folder: Path, step: int) -> None:
    for n in range(70):
        (folder / f"p{n:03}.md").write_text(f"# Page {n}\n\nThe walrus of step {step}.\n")
    if step == 0:
        for n in range(75, 80):
            (folder / f"p{n:03}.md").rename(folder / f"moved{n}.md")
        (folder / "p110.jsonl").write_text(json.dumps({"_id": "shared", "text": "Same."}) + "\n")  # another has the id
    for n in range(80 + 5 * step, 85 + 5 * step):
        (folder / f"p{n:03}.md").unlink()
    if step == 1:
        (folder / "p030.jsonl").write_text(json.dumps({"_id": "other", "text": "Same."}) + "\n")  # now it is free


def test_whoever_has_lost_a_slice_stops_and_commits_nothing(cluster: Engine, tmp_path: Path) -> None:
    folder = pages(tmp_path / "pages", 3)
    cluster.sync([folder])
    queue = queue_of(cluster)
    late = one_slice(cluster, folder)
    again = queue.take([late.kind], 30)
    assert again is not None
    documents = stored(cluster, "documents")
    with Formats(cluster.settings) as formats:
        with pytest.raises(LeaseLost, match="taken over"):  # it does not know, and comes as far as the commit
            read_slice(cluster.index, cluster.settings, formats, late, Event())
        assert stored(cluster, "documents") == documents
        with leased(queue, late, 0.2) as over:
            assert over.wait(5)
            with pytest.raises(Stopped):
                read_slice(cluster.index, cluster.settings, formats, late, over)
        read_slice(cluster.index, cluster.settings, formats, again, Event())
        assert stored(cluster, "documents") == documents + 1
        with pytest.raises(LeaseLost):  # what is done is done once
            read_slice(cluster.index, cluster.settings, formats, again, Event())
    assert stored(cluster, "documents") == documents + 1
    assert [*queue.results("")] == [late.key]
    queue.withdraw("")


def test_a_slice_that_was_read_before_a_collection_became_private_is_private(
    cluster: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pages(tmp_path / "pages", 3)
    cluster.sync([folder], collection="notes")
    one_slice(cluster, folder)
    job = queue_of(cluster).take([slice_kind(cluster.settings, cluster.index)], 30)
    assert job is not None
    original, calls = PostgresJobWriter._points, []

    def points(self: PostgresJobWriter, versions: Any) -> int | None:
        first = original(self, versions)
        calls.append(first)
        if len(calls) == 1:  # its points are written: now it is for fewer
            cluster.set_audience("notes", "private")
        return first

    monkeypatch.setattr(PostgresJobWriter, "_points", points)
    with Formats(cluster.settings) as formats:
        read_slice(cluster.index, cluster.settings, formats, job, Event())
    assert len(calls) == 2  # what was made of the old audience was thrown away
    assert "new.md" in contents(cluster)[0]
    assert cluster.documents(viewer=EVERYONE) == []
    assert cluster.search("walrus", mode="lexical", viewer=EVERYONE).results == ()
    assert stored(cluster, "reserved") == 0
    cluster.set_audience("notes", "public")
    queue_of(cluster).withdraw("")


def test_an_interrupted_sync_withdraws_its_slices_and_keeps_what_was_read(cluster: Engine, tmp_path: Path) -> None:
    folder = pages(tmp_path / "pages")

    def interrupt(step: Progress) -> None:
        if step.doing == "committed" and step.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster.sync([folder], progress=interrupt)
    assert queue_of(cluster).counts() == {"waiting": 0, "running": 0, "failed": 0}
    kept = cluster.status()["documents"]
    assert kept == 10
    report = cluster.sync([folder])
    assert (report.added, report.unchanged) == (PAGES - kept, kept)


@pytest.mark.parametrize("how", ["removed", "withdrawn"])
def test_a_sync_ends_if_its_root_is_removed_or_its_slices_are_withdrawn(
    cluster: Engine, address: str, tmp_path: Path, how: str
) -> None:
    """The one who scanned waits for slices; whoever takes over the lease of a root withdraws them."""
    folder = pages(tmp_path / "pages")

    def end_it(step: Progress) -> None:
        if step.doing == "committed" and step.done == 10:
            if how == "withdrawn":
                queue_of(cluster).withdraw("")
                return
            with Engine(address, cluster.settings) as other:
                other.remove(other.index.root_places())

    def stop(step: Progress) -> None:
        assert time.monotonic() < end, "it goes on"

    end = time.monotonic() + 30
    with pytest.raises(SourceProblem, match="taken out"):
        cluster.sync([folder], progress=lambda step: (end_it(step), stop(step))[0])
    assert queue_of(cluster).counts() == {"waiting": 0, "running": 0, "failed": 0}
    report = cluster.sync([folder])
    assert report.added + report.unchanged == PAGES


def test_what_is_synced_into_one_generation_is_read_by_nobody_else(cluster: Engine, tmp_path: Path) -> None:
    """Workers write to the generation that is searched."""
    folder = pages(tmp_path / "pages", 3)
    cluster.sync([folder])
    assert isinstance(cluster.index, Postgres)
    before, stop = cluster.index._o.generation().number, Event()
    cluster.sync(recreate=True)
    pages(folder, PAGES)
    with Engine(cluster.index._address, cluster.settings) as other:
        beside = Thread(target=Worker(other).run, args=(stop,))
        beside.start()
        try:
            with Engine(cluster.index.address(before), cluster.settings) as previous:
                assert previous.sync([folder]).added == PAGES - 3
                assert len(previous.documents()) == PAGES
        finally:
            stop.set()
            beside.join()
    assert len(cluster.documents()) == 3


def test_a_worker_with_other_settings_leaves_slices_alone(cluster: Engine) -> None:
    other = cluster_settings({**NO_VECTORS, "WATERSMEET__PARSE__TEXT__MAX_CHARS": "500"})
    chosen = cluster_settings({**NO_VECTORS, "WATERSMEET__SOURCE__FOLDER__EXCLUDE": '["drafts/**"]'})
    ours = slice_kind(cluster.settings, cluster.index)
    assert slice_kind(other, cluster.index) != ours
    assert slice_kind(chosen, cluster.index) == ours  # only the scan goes by it
