"""The contract of `Embedder`: normalised vectors, independent of other texts. Subclass it with a fixture `embedder`."""

from __future__ import annotations

import pytest

from watersmeet.core.vectors import Embedder

TEXTS = (
    "Rotate the keys of the server every quarter.",
    "The key of a server is rotated four times a year.",
    "A gull takes the sandwich.",
    "Ein Satz auf Deutsch: Möwen über dem Hafen.",
    "def rotate_keys(user_id): ...",
)
ODD = ("", " ", "\0", "\ud800", "🌊🌊🌊", "\u200b", "word " * 5000, "x" * 20_000, "漢字かな交じり文")
"""Unusual texts that must not fail."""
CLOSE = 1e-5


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError("the contract of an embedder needs the fixture `embedder`")

    def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        assert embedder.name
        assert embedder.fingerprint
        assert embedder.dimension > 0

    def test_a_vector_for_each_text_in_their_order(self, embedder: Embedder) -> None:
        import numpy as np

        found = embedder.embed(TEXTS)
        assert found.shape == (len(TEXTS), embedder.dimension)
        assert found.dtype == np.float32
        assert np.linalg.norm(found, axis=1).tolist() == pytest.approx([1.0] * len(TEXTS), abs=1e-3)
        backwards = embedder.embed(TEXTS[::-1])[::-1]
        assert np.abs(found - backwards).max() < CLOSE
        assert embedder.embed(()).shape == (0, embedder.dimension)

    def test_the_texts_beside_it_change_nothing(self, embedder: Embedder) -> None:
        import numpy as np

        together = embedder.embed((*TEXTS, ODD[6]))
        for number, text in enumerate(TEXTS):
            assert np.abs(embedder.embed([text])[0] - together[number]).max() < CLOSE

    def test_a_stream_gives_the_same_in_parts(self, embedder: Embedder) -> None:
        import numpy as np

        parts = list(embedder.embed_stream(TEXTS, batch=2))
        assert [start for start, _ in parts] == [0, 2, 4]
        assert all(len(part) <= 2 for _, part in parts)
        assert np.abs(np.concatenate([part for _, part in parts]) - embedder.embed(TEXTS)).max() < CLOSE
        assert list(embedder.embed_stream(())) == []

    def test_related_texts_are_more_similar_than_unrelated_ones(self, embedder: Embedder) -> None:
        query = embedder.embed_query("how often are server keys rotated?")
        assert query.shape == (embedder.dimension,)
        similarities = embedder.embed(TEXTS) @ query
        assert min(similarities[0], similarities[1]) > similarities[2]

    @pytest.mark.parametrize("text", ODD, ids=[ascii(text[:8]) for text in ODD])
    def test_any_text_has_a_vector_or_none(self, embedder: Embedder, text: str) -> None:
        import numpy as np

        for vector in (embedder.embed([text])[0], embedder.embed_query(text)):
            assert np.isfinite(vector).all()
            assert not vector.any() or np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-3)
