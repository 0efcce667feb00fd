"""Row reservations: only those of ended writers and expired ones are reclaimed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet.core.documents import Chunk, Document
from watersmeet.core.errors import LeaseLost
from watersmeet.core.indexing import Found
from watersmeet.core.model import ChunkId, DocId, Row
from watersmeet.core.place import Place
from watersmeet.core.text_fields import Prepared, digest
from watersmeet.core.writing import Changes, Put
from watersmeet.store.local._leases import is_dead, reclaim, this_process
from watersmeet.store.local.catalogue import Catalogue, Placed

LEAVES_ROWS = """
import os, sys
from watersmeet.store.local.catalogue import Catalogue
catalogue = Catalogue(sys.argv[1])
catalogue.begin()
print(catalogue.reserve(3), flush=True)
os._exit(1)
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "index")


@pytest.fixture
def first(folder: str) -> Iterator[Catalogue]:
    made = Catalogue(folder)
    made.begin()
    yield made
    made.close()


@pytest.fixture
def second(first: Catalogue) -> Iterator[Catalogue]:
    made = Catalogue(first.folder)
    yield made
    made.close()


def placed(catalogue: Catalogue, name: str, row: int) -> Placed:
    document = DocId(name)
    chunk = Prepared(Chunk(ChunkId(f"{name}#0"), document, name, (), Place((1, 1))), {}, digest(name))
    put = Put(Document(document, "document", name, name), (chunk,), digest(name), catalogue.collection("default"))
    return Placed(put, (Row(row),))


def reserved(catalogue: Catalogue) -> list[int]:
    return [first for (first,) in catalogue.db.execute("SELECT first FROM reserved ORDER BY first")]


def test_every_lease_has_a_higher_fence(first: Catalogue, second: Catalogue) -> None:
    second.begin()
    assert first.lease is not None
    assert second.lease is not None
    assert second.lease.fence == first.lease.fence + 1
    assert second.lease.holder != first.lease.holder


def test_a_living_writers_rows_are_not_reclaimed(first: Catalogue, second: Catalogue) -> None:
    row = first.reserve(3)
    second.begin()
    assert reserved(second) == [row]
    assert second.dead(time.time()) == []


def test_whoever_lost_its_lease_commits_nothing(first: Catalogue, second: Catalogue) -> None:
    """A writer that was stopped, and continues after another has taken over."""
    row = first.reserve(1)
    late = placed(first, "late.md", row)
    second.begin()
    with pytest.raises(LeaseLost, match="taken over") as caught:
        first.apply(Changes(), [late], row)
    assert "again" in caught.value.hint
    with pytest.raises(LeaseLost):
        first.set_meta({"a": "b"})
    with pytest.raises(LeaseLost):
        first.reserve(1)
    assert second.counts() == (0, 0)
    other = second.reserve(1)
    assert second.apply(Changes(), [placed(second, "other.md", other)], other) == []
    assert second.owner(DocId("other.md"))


def test_what_a_writer_left_that_died_is_reclaimed(second: Catalogue) -> None:
    argv = [sys.executable, "-c", LEAVES_ROWS, second.folder]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    first = int(done.stdout)
    assert reserved(second) == [first]
    second.begin()
    assert reserved(second) == []
    assert second.dead(time.time()) == [first, first + 1, first + 2]


def test_rows_of_another_machine_are_reclaimed_when_their_time_is_over(first: Catalogue, second: Catalogue) -> None:
    row = first.reserve(2)
    sql = "UPDATE reserved SET holder = 'elsewhere[1] 1 1 aa', expires = ?"
    first.db.execute(sql, (time.time() + 1000,))
    second.begin()
    assert reserved(second) == [row]
    first.db.execute(sql, (time.time() - 1,))
    second.begin()
    assert reserved(second) == []
    assert second.dead(time.time()) == [row, row + 1]


def test_rows_that_were_reclaimed_are_not_used_any_more(first: Catalogue) -> None:
    row = first.reserve(1)
    late = placed(first, "late.md", row)
    first.db.execute("UPDATE reserved SET expires = 0")
    with first.transaction() as db:
        reclaim(db)
    with pytest.raises(LeaseLost, match="reclaimed"):
        first.apply(Changes(), [late], row)
    assert first.counts() == (0, 0)


def test_who_is_dead() -> None:
    mine = this_process()
    machine, pid, started, token = mine.split(" ")
    assert not is_dead(mine)
    assert is_dead(f"{machine} {pid} {int(started) + 1} {token}")  # its number is another's by now
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert is_dead(f"{machine} {ended.pid} 1 {token}")
    assert not is_dead(f"elsewhere {ended.pid} 1 {token}")  # who knows?
    assert not is_dead(f"{machine} 1 {_started(1)} {token}")
    assert this_process() != mine


def _started(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def test_an_id_that_is_another_roots_is_refused(first: Catalogue) -> None:
    """The other writer may have checked before the id was taken."""
    collection = first.collection("default")
    own, foreign = first.add_root("/a", "a", collection, ""), first.add_root("/b", "b", collection, "b/")
    row = first.reserve(3)
    one = placed(first, "x.md", row)
    first.apply(Changes(), [Placed(_of(one.put, own.id), one.rows)])
    other = Placed(_of(one.put, foreign.id), (Row(row + 1),))
    entity = Placed(one.put, (Row(row + 2),))
    assert first.apply(Changes(), [other, entity]) == [other.put, entity.put]
    assert first.root_of(DocId("x.md")) == own.id
    assert first.rows_by_hash(DocId("x.md")) == {digest("x.md"): [row]}
    assert first.dead(time.time()) == [row + 1, row + 2]


def _of(put: Put, root: int) -> Put:
    return Put(put.document, put.chunks, put.hash, put.collection, (root, "x.md"))


def test_a_file_that_another_wants_read_again_stays_so(first: Catalogue, second: Catalogue) -> None:
    """One writer has looked at the files; another takes a document out; the first then notes that it has read it."""
    root = first.add_root("/a", "a", first.collection("default"), "")
    found = Found("x.md", "/a/x.md", "1 2 3 4")
    first.apply(Changes(files=[(root.id, found, b"h", 7)]))
    (state,) = first.files(root.id).values()
    second.begin()
    second.apply(Changes(stale=[state.id]))
    first.begin()
    first.apply(Changes(files=[(root.id, found, b"h", 8)]))
    (state,) = first.files(root.id).values()
    assert (state.stamp, state.hash) == ("", b"")
    first.apply(Changes(files=[(root.id, found, b"h", 9)]))  # now that it has seen that
    (state,) = first.files(root.id).values()
    assert (state.stamp, state.read_ns) == (found.stamp, 9)
