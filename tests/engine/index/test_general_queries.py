"""The mean of the general queries' vectors, as it is stored with a tier."""

from __future__ import annotations

import numpy as np
import pytest

from watersmeet.engine.index.general_queries import GENERAL_QUERIES, packed, unpacked


def test_the_mean_is_read_as_it_was_written() -> None:
    vectors = np.random.default_rng(0).normal(size=(len(GENERAL_QUERIES), 8)).astype(np.float32)
    read = unpacked(packed(list(vectors)), 8)
    assert read is not None
    assert np.allclose(read, vectors.mean(axis=0), atol=1e-3)


@pytest.mark.parametrize("text", ["", "!", "AAA", packed([np.zeros(4)]), packed([np.full(8, np.nan)])])
def test_what_is_no_such_vector_is_none(text: str) -> None:
    assert unpacked(text, 8) is None
