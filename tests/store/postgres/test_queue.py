"""The queue of jobs: each is done once, whatever happens to workers; and workers keep an index up to date."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_indexes import cluster_environment, cluster_index, cluster_settings
from clusters import NOT_RUN, missing
from engine_filling import EngineFilling
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, LeaseLost
from watersmeet.engine.sync.work import SYNC, Done, Worker, queue_of, root_job
from watersmeet.face.cli.main import run
from watersmeet.store.postgres.index import Postgres
from watersmeet.store.postgres.queue import PostgresQueue

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]


@pytest.fixture
def filling() -> Iterator[EngineFilling]:
    with cluster_index() as made:
        yield made


@pytest.fixture
def queue(filling: EngineFilling) -> PostgresQueue:
    assert isinstance(filling.index, Postgres)
    return filling.index.queue()  # type: ignore[return-value] # which is one


def test_a_job_waits_once_and_is_done_again_if_it_was_offered_meanwhile(queue: PostgresQueue) -> None:
    assert queue.offer("sync", "/a")
    assert not queue.offer("sync", "/a")
    assert queue.take(["embed"], 30) is None
    job = queue.take(["sync"], 30)
    assert job is not None
    assert (job.key, job.attempts) == ("/a", 1)
    assert queue.take(["sync"], 30) is None
    assert queue.offer("sync", "/a")  # something has changed since it began
    queue.finish(job)
    again = queue.take(["sync"], 30)
    assert again is not None
    assert again.fence > job.fence
    queue.finish(again)
    assert queue.counts() == {"waiting": 0, "running": 0, "failed": 0}


def test_whoever_comes_late_is_refused(queue: PostgresQueue) -> None:
    queue.offer("sync", "/a")
    late = queue.take(["sync"], 0)
    taken = queue.take(["sync"], 30)
    assert late is not None
    assert taken is not None
    assert taken.attempts == 2
    for say in (queue.finish, lambda job: queue.renew(job, 30), lambda job: queue.give_back(job, "x", 0)):
        with pytest.raises(LeaseLost):
            say(late)
    queue.finish(taken)
    queue.offer("sync", "/a")
    new = queue.take(["sync"], 30)
    assert new is not None
    with pytest.raises(LeaseLost):  # also of the same job, offered again
        queue.finish(taken)
    queue.finish(new)


def test_a_failed_job_waits_a_while(queue: PostgresQueue) -> None:
    queue.offer("sync", "/a")
    job = queue.take(["sync"], 30)
    assert job is not None
    queue.give_back(job, "no network", 60)
    assert queue.take(["sync"], 30) is None
    assert queue.counts() == {"waiting": 1, "running": 0, "failed": 1}


WORKER = """
import sys, time
from watersmeet.face.cli.main import run
from watersmeet.store.postgres.index import Postgres
from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import load
from watersmeet.core.errors import LeaseLost
index = open_index(sys.argv[1], load())
queue = index.queue()
while job := queue.take(["count"], 1.0):
    with index.lasting.connection() as db:
        db.execute("INSERT INTO begun VALUES (%s, %s)", [job.key, job.fence])
    print(job.key, flush=True)
    time.sleep(0.02)
    with index.lasting.transaction() as db:
        try:
            queue.finish(job)
        except LeaseLost:
            continue
    with index.lasting.connection() as db:
        db.execute("INSERT INTO done VALUES (%s)", [job.key])
"""


@pytest.mark.kill
def test_the_jobs_of_a_killed_worker_are_done_once_by_others(filling: EngineFilling, queue: PostgresQueue) -> None:
    index = filling.index
    assert isinstance(index, Postgres)
    with index.lasting.connection() as db:
        db.execute("CREATE TABLE begun (key text, fence bigint)")
        db.execute("CREATE TABLE done (key text)")
    for number in range(120):
        queue.offer("count", str(number))
    command = [sys.executable, "-c", WORKER, index._address]
    environ = {**os.environ, **cluster_environment()}
    workers = [subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    try:
        assert workers[0].stdout is not None
        for _ in range(5):
            workers[0].stdout.readline()
        workers[0].kill()  # in the middle of its fifth job, or just after
        end = time.monotonic() + 60
        while any(worker.poll() is None for worker in workers) and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(1.2)  # the lease of the killed one has run out
        last = subprocess.run(command, env=environ, stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert last.stdout is not None
    with index.lasting.connection() as db:
        done = [key for (key,) in db.execute("SELECT key FROM done")]
        begun = {key for (key,) in db.execute("SELECT key FROM begun")}
    assert queue.counts() == {"waiting": 0, "running": 0, "failed": 0}
    assert len(done) == len(set(done))  # none twice
    assert begun == {str(number) for number in range(120)}
    assert len(done) >= 119  # the killed one may have finished a job without saying so here


def test_workers_share_the_work_of_an_index(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for n in range(12):
        (vault / f"{n}.md").write_text(f"# Page {n}\n\nThe otter word{n}.\n")
    environ = {"WATERSMEET__INDEX__DENSE": "hashed"}
    with cluster_index(environ) as filling:
        settings = cluster_settings(environ)
        address = filling.index._address  # type: ignore[attr-defined]
        with Engine(address, settings) as one, Engine(address, settings) as other:
            one.sync([vault], vectors=False)
            (vault / "new.md").write_text("# New\n\nA walrus.\n")
            done: list[Done] = []
            workers = [Worker(engine, done.append) for engine in (one, other)]
            workers[0].offer_all()
            threads = [threading.Thread(target=worker.run, args=(threading.Event(), True)) for worker in workers]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            assert {one.job.kind.partition("@")[0] for one in done if not one.problem} == {"sync", "embed", "tidy"}
            assert queue_of(one).counts() == {"waiting": 0, "running": 0, "failed": 0}
            assert one.search("walrus", mode="lexical").results
            assert one.status()["signals"]["dense"]["coverage"] == 1.0


def test_a_folder_has_no_queue_and_says_what_to_do(engine: Engine) -> None:
    with pytest.raises(ConfigError, match="no queue") as problem:
        Worker(engine)
    assert "watersmeet sync" in problem.value.hint
    assert root_job("https://example.org/")[0] == SYNC
    assert root_job("/notes")[0].startswith(f"{SYNC}@")


def test_the_command_works_until_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Walrus\n\nAlone.\n")
    for name, value in {**cluster_environment(), "WATERSMEET__INDEX__DENSE": "hashed"}.items():
        monkeypatch.setenv(name, value)
    with cluster_index() as filling:
        place = ["--json", "--index", filling.index._address]  # type: ignore[attr-defined]
        assert run(["sync", str(tmp_path / "vault"), "--no-vectors", *place]) == 0
        (tmp_path / "vault" / "b.md").write_text("# Otter\n\nTwo of them.\n")
        capsys.readouterr()
        assert run(["work", "--once", *place]) == 0
        *jobs, report = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [one for one in jobs if "problem" in one] == []
        assert report["jobs"] == len(jobs) >= 3
        assert run(["search", "otter", *place]) == 0
        capsys.readouterr()
        filling.index.queue().offer("sync@elsewhere", "/notes")  # type: ignore[attr-defined]
        assert run(["status", *place]) == 0
        assert json.loads(capsys.readouterr().out)["jobs"] == {"waiting": 1, "running": 0, "failed": 0}
        assert run(["work", "--once", "--no-offer", *place]) == 0  # what only others can do is no reason to wait
        capsys.readouterr()
        assert run(["status", *place[1:]]) == 0
        assert "1 waiting, 0 running" in capsys.readouterr().out
