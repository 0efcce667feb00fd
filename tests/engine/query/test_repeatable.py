"""The same question to the same index gives the same answer to the last digit, in whichever process it is asked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import load

pytestmark = pytest.mark.model

QUERIES = ("tide and harbour", "storm warnings for boats", "rope", "harbour storm keel", "boats at the quay")
WORDS = "tide harbour storm boat rope keel quay sail wind moon anchor fog light gull salt wave".split()
ASK = """
import sys
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
with Engine(sys.argv[1], load(start=sys.argv[1], environ={"WATERSMEET__INDEX__DENSE": ""})) as engine:
    for query in sys.argv[2:]:
        answer = engine.search(query, top_n=20)
        for r in answer.results:
            print((r.id, r.score, r.fusion_score, [e.detail.get("contribution") for e in r.evidence]), end=" ")
        print()
"""


def test_no_digit_depends_on_the_order_of_a_set(tmp_path: Path, write: Callable[..., Path]) -> None:
    rng = random.Random(3)  # noqa: S311 - a sample
    notes = {f"{n}.md": f"# Note {n}\n\n{' '.join(rng.choices(WORDS, k=30))}\n" for n in range(400)}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": ""})) as engine:
        engine.sync([write(notes)])
    told = {
        subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path / "index"), *QUERIES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "3")
    }
    assert len(told) == 1
    assert len(told.pop().splitlines()) == len(QUERIES)
