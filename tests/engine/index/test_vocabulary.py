"""The vectors of a corpus' terms, kept as state of the index and made again when they are gone."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from watersmeet.core.vocabulary import PUBLIC, Terms, vocabulary
from watersmeet.embed.static import Static
from watersmeet.engine.index.vocabulary import States, vectors, vectors_in
from watersmeet.store.local.state import FileState


@pytest.fixture
def states(tmp_path: Path) -> States:
    return partial(FileState, str(tmp_path))


def made(*terms: str, model: str = "m") -> Terms:
    return vocabulary([(term, 1) for term in terms], 100, 100, model)


def test_vectors_are_made_once_and_again_when_lost_or_broken(states: States, tmp_path: Path) -> None:
    model, terms = Static(), made("tide", "estuary", "invoice")
    first = vectors(states, PUBLIC, terms, model)
    state = vectors_in(states, PUBLIC)
    version = state.version()
    again = vectors(states, PUBLIC, terms, model)
    assert version is not None
    assert state.version() == version
    assert np.allclose(first, again, atol=1e-3)
    assert first.shape == (3, model.dimension)
    path = tmp_path / f"{PUBLIC}.npy"
    content = path.read_bytes()
    for broken in (b"", b"\x93NUMPY broken", content[:-9] + b"x" + content[-8:], None):
        path.write_bytes(broken) if broken is not None else path.unlink()
        assert np.allclose(first, vectors(states, PUBLIC, terms, model), atol=1e-3)
        assert path.read_bytes() == content


def test_those_of_other_terms_or_of_another_model_are_not_taken(states: States) -> None:
    model = Static()
    for terms in (made("tide"), made("estuary"), made("estuary", model="n")):
        found = vectors(states, PUBLIC, terms, model)
        assert np.allclose(found, model.embed(terms.terms), atol=1e-3)
        version = vectors_in(states, PUBLIC).version()
        vectors(states, PUBLIC, terms, model)
        assert vectors_in(states, PUBLIC).version() == version


def test_those_of_an_older_version_are_read(states: States, tmp_path: Path) -> None:
    model, terms = Static(), made("tide", "estuary")
    buffer = BytesIO()
    marked = np.full((2, model.dimension), 0.5, dtype=np.float16)
    np.save(buffer, marked)
    content = buffer.getvalue()
    (tmp_path / terms.vectors).write_bytes(content + crc32(content).to_bytes(4, "little"))
    assert np.array_equal(vectors(states, PUBLIC, terms, model), marked)
    assert vectors_in(states, PUBLIC).version() is None
