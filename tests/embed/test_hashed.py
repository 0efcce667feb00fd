from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.embed.hashed import Hashed

KNOWN = [0.0, 0.0, 0.0, 0.155126, -0.82734, -0.517088, -0.155126, 0.0]


def test_it_is_the_same_on_every_machine() -> None:
    vector = Hashed(8).embed_query("sign in")
    assert vector == pytest.approx(KNOWN, abs=1e-6)


def test_shared_words_are_near_and_others_are_not() -> None:
    query, near, form, far = Hashed(512).embed(["sign in page", "the sign in page", "signing pages", "cheese omelette"])
    assert query @ near > query @ form > query @ far + 0.1
    assert query @ near > 0.7
    assert abs(query @ far) < 0.2


@pytest.mark.slow
@given(st.lists(st.text(max_size=40), max_size=6), st.integers(1, 4))
def test_rows_have_length_one_or_zero_and_the_stream_agrees(texts: list[str], batch: int) -> None:
    embedder = Hashed(32)
    vectors = embedder.embed(texts)
    lengths = np.linalg.norm(vectors, axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()
    assert vectors.shape == (len(texts), 32)
    for start, some in embedder.embed_stream(texts, batch):
        assert np.array_equal(some, vectors[start : start + batch])


def test_another_dimension_is_another_fingerprint() -> None:
    assert Hashed(8).fingerprint != Hashed(16).fingerprint
    assert Hashed(8).embed([]).shape == (0, 8)
