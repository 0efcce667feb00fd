"""Several processes embed for one tier at a time: each row is claimed by one, and embedded once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from cluster_indexes import cluster_environment, cluster_index, cluster_settings
from clusters import NOT_RUN, missing
from watersmeet import Engine
from watersmeet.engine.index.tiers import tiers_of
from watersmeet.engine.models import GuardedEmbedder
from watersmeet.engine.sync.deepen import facts_of
from watersmeet.engine.sync.report import SyncReport
from watersmeet.engine.sync.work import queue_of

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
ENVIRON = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""}
PAGES = 600


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    folder = tmp_path / "pages"
    folder.mkdir()
    lines = "".join(f'{{"_id": "d{n:03}", "text": "The otter number{n} of them."}}\n' for n in range(PAGES))
    (folder / "pages.jsonl").write_text(lines)
    with cluster_index(ENVIRON) as filling, Engine(filling.index._address, cluster_settings(ENVIRON)) as made:  # type: ignore[attr-defined]
        made.sync([folder], vectors=False)
        yield made


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the model has embedded each text."""
    counted: Counter[str] = Counter()
    original = GuardedEmbedder.embed_stream

    def embed_stream(self: GuardedEmbedder, given: Sequence[str], size: int) -> Iterator[Any]:
        counted.update(given)
        return original(self, given, size)

    monkeypatch.setattr(GuardedEmbedder, "embed_stream", embed_stream)
    return counted


def test_several_embed_at_a_time_and_no_text_twice(engine: Engine, texts: Counter[str]) -> None:
    reports: dict[int, SyncReport] = {}
    begin = Barrier(3)

    def embed(number: int) -> None:
        with Engine(engine.index._address, engine.settings) as other:  # type: ignore[attr-defined]
            begin.wait(30)
            reports[number] = other.deepen(tiers=["dense"], strict=True)

    threads = [Thread(target=embed, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    pages = {text: count for text, count in texts.items() if "number" in text}
    assert len(pages) == PAGES
    assert set(pages.values()) == {1}
    assert max(report.embedded for report in reports.values()) == PAGES  # with those of the others
    assert engine.status()["signals"]["dense"]["coverage"] == 1.0
    found = engine.index.lasting.ask("SELECT count(*) FROM claims")  # type: ignore[attr-defined]
    assert found == [(0,)]
    assert queue_of(engine).counts() == {"waiting": 0, "running": 0, "failed": 0}


KILLED = """
import os, signal, sys
from watersmeet.engine.index.location import open_index
from watersmeet.engine.settings.settings import load
from watersmeet.engine.index.tiers import tiers_of
index = open_index(sys.argv[1], load())
with index.snapshot() as snapshot:
    tier = snapshot.tiers()["dense"]
with index.claims(index.vector_store(tier)) as claims:
    print(len(claims.window(100)), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.kill
def test_rows_of_a_killed_process_are_embedded_by_others(engine: Engine, tmp_path: Path, texts: Counter[str]) -> None:
    made = engine.deepen(tiers=["dense"], seconds=0.3, strict=True).embedded
    environ = {**os.environ, **cluster_environment(), **ENVIRON}
    address = engine.index._address  # type: ignore[attr-defined]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, address], env=environ, stdout=subprocess.PIPE, text=True, timeout=60, check=False
    )
    assert killed.stdout.strip() == "100"
    report = engine.deepen(tiers=["dense"], strict=True)
    assert made + report.embedded == PAGES
    assert engine.status()["signals"]["dense"]["coverage"] == 1.0
    assert max(count for text, count in texts.items() if "number" in text) == 1


def test_what_is_made_of_rows_that_were_lost_is_not_noted(engine: Engine) -> None:
    engine.deepen(tiers=["dense"], seconds=0.3, strict=True)
    index: Any = engine.index
    tier = tiers_of(facts_of(index))["dense"]
    late, other = (index.vector_store(tier) for _ in range(2))
    with index.claims(late) as lost:
        rows = [one.row for one in lost.window(10)]
        with index.lasting.connection() as db:
            db.execute("UPDATE leases SET expires = '-infinity' WHERE starts_with(name, 'claims-')")
        with index.claims(other) as taken:
            assert [one.row for one in taken.window(10)] == rows
            for store, counted in ((late, 0), (other, 10), (other, 0)):
                size, writer = store.reader().size, store.writer()
                writer.add(rows, [[1.0] * tier.dimension] * 10)
                writer.commit()
                assert store.reader().size - size == counted
