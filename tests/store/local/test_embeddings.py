from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from watersmeet.core.vectors import key_of
from watersmeet.store.local.embeddings import Embeddings


def some(count: int, width: int = 32, seed: int = 0) -> np.ndarray:
    made = np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def keys(count: int, of: str = "t") -> list[bytes]:
    return [key_of(f"{of}{n}") for n in range(count)]


def test_what_was_put_is_found_by_another_process_as_it_was_given_back(tmp_path: Path) -> None:
    first, second = Embeddings(str(tmp_path)), Embeddings(str(tmp_path))
    given = first.put_many("m", keys(1200), some(1200))
    found = second.get_many("m", keys(1300))
    assert set(found) == set(keys(1200))
    assert all(np.array_equal(found[key], vector) for key, vector in zip(keys(1200), given, strict=True))
    assert (given * some(1200)).sum(axis=1).min() > 0.999
    assert not first.warnings()
    first.close()
    second.close()


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    cache = Embeddings(str(tmp_path))
    cache.put_many("m", keys(3), some(3))
    assert cache.get_many("other", keys(3)) == {}
    cache.put_many("other", keys(3), some(3, width=8))
    assert cache.get_many("m", keys(1))[keys(1)[0]].shape == (32,)
    cache.close()


def test_the_last_vector_of_a_text_counts(tmp_path: Path) -> None:
    cache = Embeddings(str(tmp_path))
    cache.put_many("m", keys(1), some(1, seed=1))
    given = cache.put_many("m", keys(1), some(1, seed=2))
    assert np.array_equal(cache.get_many("m", keys(1))[keys(1)[0]], given[0])
    cache.close()


def test_equal_texts_have_equal_keys_and_odd_texts_have_one() -> None:
    assert key_of("a") == key_of("a") != key_of("b")
    assert key_of("\ud800") != key_of("\ud801")


def test_it_stays_within_its_limit_and_forgets_the_least_used_first(tmp_path: Path) -> None:
    cache = Embeddings(str(tmp_path), limit_mb=0.4, touch=0)
    cache.put_many("m", keys(100, "old"), some(100, 384))
    cache.put_many("m", keys(100, "dear"), some(100, 384))
    for part in range(10):
        time.sleep(0.002)
        assert len(cache.get_many("m", keys(100, "dear"))) == 100
        time.sleep(0.002)
        cache.put_many("m", keys(50, f"new{part}-"), some(50, 384))
        assert cache.size_bytes() <= 0.4e6
    assert cache.get_many("m", keys(100, "old")) == {}
    assert len(cache.get_many("m", keys(50, "new9-"))) == 50
    assert sum(one.stat().st_size for one in tmp_path.iterdir() if one.suffix == ".sqlite") < 0.6e6
    cache.close()


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["garbage", "truncated", "scribbled", "other schema"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "embeddings.sqlite"
    before = Embeddings(str(tmp_path))
    before.put_many("m", keys(2000), some(2000))
    before.close()
    size = path.stat().st_size
    if damage == "garbage":
        path.write_bytes(b"no database " * 1000)
    elif damage == "truncated":
        os.truncate(path, size // 2)
    elif damage == "scribbled":
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(os.urandom(size - 8192))
    else:
        path.unlink()
        other = sqlite3.connect(path)
        other.execute("CREATE TABLE vector (a)")
        other.commit()
        other.close()
    cache = Embeddings(str(tmp_path))
    assert len(cache.get_many("m", keys(2000))) < 2000
    given = cache.put_many("m", keys(2000), some(2000))
    found = cache.get_many("m", keys(2000))
    assert all(np.array_equal(found[key], vector) for key, vector in zip(keys(2000), given, strict=True))
    assert any("damaged" in warning for warning in cache.warnings())
    assert cache.warnings() == []
    assert [one for one in tmp_path.iterdir() if ".damaged-" in one.name]
    cache.close()


def test_a_process_that_lags_behind_does_not_set_the_new_file_aside(tmp_path: Path) -> None:
    """Both had the damaged file open; the first has replaced it already."""
    first, second = Embeddings(str(tmp_path)), Embeddings(str(tmp_path))
    first.put_many("m", keys(9), some(9))
    second.get_many("m", keys(9))
    first._set_aside(sqlite3.DatabaseError("malformed"))
    first.put_many("m", keys(9), some(9))
    second._set_aside(sqlite3.DatabaseError("malformed"))
    assert len(second.get_many("m", keys(9))) == 9
    assert len([one for one in tmp_path.iterdir() if ".damaged-" in one.name]) == 1
    first.close()
    second.close()


def test_a_place_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = Embeddings(str(blocked))
    given = cache.put_many("m", keys(2), some(2))
    assert given.shape == (2, 32)
    assert cache.get_many("m", keys(2)) == {}
    assert len(cache.warnings()) == 1


def test_a_busy_file_is_a_warning_not_an_error(tmp_path: Path) -> None:
    cache = Embeddings(str(tmp_path), patience=0.05)
    cache.put_many("m", keys(1), some(1))
    other = sqlite3.connect(tmp_path / "embeddings.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    cache.put_many("m", keys(5), some(5))
    assert "locked" in cache.warnings()[0]
    assert len(cache.get_many("m", keys(5))) == 1
    other.execute("ROLLBACK")
    other.close()
    cache.put_many("m", keys(5), some(5))
    assert len(cache.get_many("m", keys(5))) == 5
    cache.close()


def _fill(folder: str, who: int) -> None:
    cache = Embeddings(folder)
    for part in range(20):
        cache.put_many("m", keys(20, f"{who}-{part}-"), some(20))
    warnings = cache.warnings()
    cache.close()
    os._exit(1 if warnings else 0)


@pytest.mark.slow
def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_fill, args=(str(tmp_path), who)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    cache = Embeddings(str(tmp_path))
    wanted = [key for who in range(3) for part in range(20) for key in keys(20, f"{who}-{part}-")]
    assert len(cache.get_many("m", wanted)) == len(wanted)
    cache.close()


WRITER = """
import sys, numpy as np
from watersmeet.core.vectors import key_of
from watersmeet.store.local.embeddings import Embeddings
cache = Embeddings(sys.argv[1])
number = int(sys.argv[2])
while True:
    cache.put_many("m", [key_of(f"{number}-{n}") for n in range(8)], np.ones((8, 384), np.float32))
    print(number, flush=True)
    number += 1
"""


@pytest.mark.kill
def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    acknowledged = -1
    for _ in range(6):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(acknowledged + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            acknowledged = int(writer.stdout.readline())
            time.sleep(chance.uniform(0, 0.05))
            writer.send_signal(signal.SIGKILL)
            for line in writer.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line)
        cache = Embeddings(str(tmp_path))
        wanted = [key_of(f"{number}-{n}") for number in range(acknowledged + 1) for n in range(8)]
        assert len(cache.get_many("m", wanted)) == len(wanted)
        assert cache.warnings() == []
        cache.close()
