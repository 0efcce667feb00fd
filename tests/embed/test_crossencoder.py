from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from watersmeet import Engine
from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.embed.crossencoder import Crossencoder
from watersmeet.engine.settings.settings import load

Make = Callable[..., Path]
Rows = dict[str, np.ndarray]


def mean(rows: Rows, *words: str) -> float:
    return float(np.mean([rows[word] for word in words]))


@pytest.fixture
def model(make: Make) -> Path:
    """It likes a pair by the mean of all numbers of all its words."""
    return make(reduced=[1, 2])


def test_one_number_for_each_pair(model: Path, rows: Rows) -> None:
    texts = ["red", "green blue", "square round red", ""]
    scores = Crossencoder(str(model)).score("blue", texts)
    for text, score in zip(texts, scores, strict=True):
        assert score == pytest.approx(mean(rows, "blue", *text.split()), abs=1e-5)
    assert Crossencoder(str(model)).score("blue", []) == []
    assert len(set(scores)) == 4


def test_a_pair_does_not_depend_on_its_company(model: Path) -> None:
    reader = Crossencoder(str(model), threads=4)
    texts = ["red", "green blue round square red", "blue"] * 5
    assert reader.score("red", texts) == [reader.score("red", [text])[0] for text in texts]


def test_two_numbers_are_no_and_yes(make: Make, rows: Rows) -> None:
    class Two:
        def run(self, names, feed):
            return [np.array([[0.5, 2.0]])]

    from dataclasses import replace

    reader = replace(Crossencoder(str(make(reduced=[1, 2])))._reader(), session=Two())
    assert reader.read("red", "blue") == 1.5


def test_a_long_text_does_not_push_the_query_out(model: Path, rows: Rows) -> None:
    (score,) = Crossencoder(str(model), max_tokens=6).score("blue", ["red " * 500])
    assert score == pytest.approx(mean(rows, "blue", *["red"] * 5), abs=1e-5)


def test_what_is_no_cross_encoder_is_named(make: Make) -> None:
    with pytest.raises(ModelProblem, match="6 numbers"):
        Crossencoder(str(make("embedder", reduced=[1]))).score("red", ["blue"])
    with pytest.raises(ModelProblem, match="has the inputs pixels"):
        Crossencoder(str(make("camera", {"input_ids": "int64", "pixels": "int64"}))).score("red", ["blue"])
    with pytest.raises(ModelMissing):
        Crossencoder("./nowhere").score("red", ["blue"])
    broken = make("broken", reduced=[1, 2])
    (broken / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelProblem, match=r"model\.onnx") as caught:
        Crossencoder(str(broken)).score("red", ["blue"])
    assert caught.value.hint


def test_other_texts_first(model: Path, rows: Rows, tmp_path: Path, write) -> None:
    """The whole way: a search whose first hits are read again by the tiny model."""
    flags = {
        "index": {"vectors": False},
        "pipeline": {"signals": ["lexical"], "stages": ["unit", "crossencoder", "top"]},
        "stage": {"crossencoder": {"model": str(model), "top_n": 3}},
    }
    words = ["red", "green", "blue", "round", "square"]
    pages = {f"{word}.txt": f"anchor {word} {'filler ' * place}" for place, word in enumerate(words)}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=flags)) as engine:
        engine.sync([write(pages)])
        answer = engine.search("anchor")
    assert not answer.failures
    read = [r for r in answer.results if any(e.by == "crossencoder" for e in r.evidence)]
    assert [r.document for r in answer.results[:3]] == [r.document for r in read]
    given = [next(e.score for e in r.evidence if e.by == "crossencoder") for r in read]
    assert given == sorted(given, reverse=True)
    assert len(answer.results) == 5
    assert [r.score for r in answer.results] == sorted((r.score for r in answer.results), reverse=True)
