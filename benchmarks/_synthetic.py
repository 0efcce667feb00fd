"""A made-up dense vector for every live row of an index, written into the store as deepening would.

python benchmarks/_synthetic.py INDEX [REAL]         (run by speed.py, to stay small itself)

Without REAL they are random. REAL is an index with vectors of the transformer: each made-up one is a mixture of two of
these and of a little noise, so that they lie as close to each other and to questions as real ones do.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from numpy.typing import NDArray

from watersmeet.core.index import CURRENT_TIERS, Tier
from watersmeet.core.model import ANY
from watersmeet.engine.index.location import open_index
from watersmeet.engine.index.tiers import embedder_name, new_tier, with_tier
from watersmeet.engine.models import embedder
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.documents import DocumentsView

BLOCK = 8192
Matrix = NDArray[np.float32]


def real_vectors(index: str) -> Matrix:
    """The dense vectors of an index."""
    settings = load(start=index, environ={})
    place = open_index(index, settings)
    with place.bookkeeping(10) as catalogue:
        tier = Tier(**json.loads(catalogue.meta()[CURRENT_TIERS])["dense"])
        store = place.vector_store(tier)
        reader = store.reader()
        found: Matrix = reader.vectors(reader.rows())
        store.close()
    return found


def made(chance: np.random.Generator, count: int, dimension: int, real: Matrix | None) -> Matrix:
    noise = chance.standard_normal((count, dimension), dtype=np.float32)
    if real is None:
        return noise
    first, second = real[chance.integers(0, len(real), (2, count))]
    share = chance.random((count, 1), dtype=np.float32)
    mixed: Matrix = share * first + (1 - share) * second + np.float32(0.3 / dimension**0.5) * noise
    return mixed


def synthetic(index: str, real: Matrix | None = None) -> None:
    settings = load(start=index, environ={})
    model = embedder(settings, embedder_name(settings, "dense"))
    snapshot = DocumentsView(index)
    with snapshot.transaction():
        rows = list(snapshot.every(ANY))
    snapshot.close()
    chance = np.random.default_rng(3)
    place = open_index(index, settings)
    with place.bookkeeping(10) as catalogue:
        tier = new_tier("dense", model, place, catalogue.meta())
        store = place.vector_store(tier)
        writer = store.writer()
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            writer.add(some, made(chance, len(some), tier.dimension, real))
        writer.commit()
        catalogue.note_vectors(with_tier(catalogue.meta(), tier), tier.folder, rows)
        store.close()


if __name__ == "__main__":
    synthetic(sys.argv[1], real_vectors(sys.argv[2]) if len(sys.argv) > 2 else None)
