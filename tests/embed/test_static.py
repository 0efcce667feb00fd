from __future__ import annotations

import shutil
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import watersmeet.embed
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.embed.static import Static

SHIPPED = Path(watersmeet.embed.__file__).parent / "potion"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "copy"))


def test_a_vector_is_the_mean_of_the_rows_of_its_tokens() -> None:
    from tokenizers import Tokenizer

    text = "How do I log on to the unaffordable cluster?"
    ids = Tokenizer.from_file(str(SHIPPED / "tokenizer.json")).encode(text, add_special_tokens=False).ids
    rows = np.load(SHIPPED / "rows.npy")[ids].astype(np.float64) * np.load(SHIPPED / "scales.npy")[ids][:, None]
    mean = rows.mean(axis=0)
    assert Static().embed_query(text) == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)


def test_meaning_is_near() -> None:
    query, near, far = Static().embed(["how do I log on?", "Sign in with your password", "Bake the bread for an hour"])
    assert query @ near > query @ far + 0.1


def test_empty_and_unknown_texts_are_zeros() -> None:
    vectors = Static().embed(["", " \n\t", "\U0001f9ff", "word"])
    assert not vectors[:3].any()
    assert np.linalg.norm(vectors[3]) == pytest.approx(1)
    assert Static().embed([]).shape == (0, 256)


@pytest.mark.model
@given(st.lists(st.text(), max_size=5))
@example(["\ud800 half a pair", "\x00", "a" * 10_000])
def test_any_text_gives_length_one_or_zero(texts: list[str]) -> None:
    lengths = np.linalg.norm(Static().embed(texts), axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()


def test_company_does_not_change_a_vector() -> None:
    texts = [f"text number {n} about {'cats' if n % 2 else 'clusters and nodes'}" for n in range(100)]
    together = Static().embed(texts)
    assert np.array_equal(together, np.stack([Static().embed_query(text) for text in texts]))
    parts = list(Static().embed_stream(texts, 33))
    assert [start for start, _ in parts] == [0, 33, 66, 99]
    assert np.array_equal(together, np.concatenate([vectors for _, vectors in parts]))


def test_the_fingerprint_follows_the_files(copy: Path) -> None:
    here = Static(str(copy))
    assert here.fingerprint == Static().fingerprint
    other = copy.with_name("other")
    shutil.copytree(copy, other)
    scales = np.load(other / "scales.npy")
    scales[17] *= 2
    np.save(other / "scales.npy", scales)
    assert Static(str(other)).fingerprint != here.fingerprint
    assert (here.name, Static().name) == ("copy", "potion-base-8M")


@pytest.mark.parametrize("file", ["rows.npy", "scales.npy", "tokenizer.json"])
def test_damage_is_named(copy: Path, file: str) -> None:
    (copy / file).write_bytes((copy / file).read_bytes()[:1000])
    with pytest.raises(ModelProblem, match=file) as caught:
        Static(str(copy)).embed(["a"])
    assert caught.value.hint
    (copy / file).unlink()
    with pytest.raises(ModelMissing, match=file):
        Static(str(copy)).embed(["a"])
    with pytest.raises(ModelMissing):
        _ = Static(str(copy)).fingerprint


@pytest.mark.model
def test_a_table_for_another_tokenizer_is_refused(copy: Path) -> None:
    np.save(copy / "rows.npy", np.load(copy / "rows.npy")[:100])
    with pytest.raises(ModelProblem, match="each token"):
        Static(str(copy)).embed(["a"])


def test_a_table_that_is_not_all_numbers_is_refused(copy: Path) -> None:
    scales = np.load(copy / "scales.npy")
    scales[17] = np.nan
    np.save(copy / "scales.npy", scales)
    with pytest.raises(ModelProblem, match=r"scales\.npy"):
        Static(str(copy)).embed(["a"])


def test_the_licence_is_beside_the_weights() -> None:
    assert "MinishLab" in (SHIPPED / "LICENSE").read_text()
    assert "quantised" in (SHIPPED / "NOTICE").read_text()


@pytest.mark.model
def test_it_is_fast() -> None:
    """Half of what is promised, since a test may run on a busy machine."""
    words = "the scheduler assigns pods to nodes which satisfy resource requests and node affinity rules".split()
    texts = [" ".join(words[(n + k) % len(words)] for k in range(100)) for n in range(1000)]
    Static().embed(texts[:50])
    start = time.process_time()
    Static().embed(texts)
    assert 1000 / (time.process_time() - start) > 500
