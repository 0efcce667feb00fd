"""A folder with a SentencePiece tokenizer, as multilingual models have, is one setting."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from watersmeet import Engine
from watersmeet.core.errors import ModelProblem
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.settings.settings import load

PAIRS = [("dog", "Hund"), ("cat", "Katze"), ("garden", "Garten"), ("train", "Zug"), ("station", "Bahnhof")]
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
PIECES = [*SPECIAL, *(f"▁{word}" for pair in PAIRS for word in pair)]


@pytest.fixture
def folder(make: Callable[..., Path]) -> Path:
    """An encoder of ten words in two languages; a word and its translation have the same vector."""
    draw = np.random.default_rng(3)
    table = 0.01 * draw.standard_normal((len(PIECES), 16)).astype(np.float32)
    for n in range(len(PAIRS)):
        table[4 + 2 * n] = table[5 + 2 * n] = draw.standard_normal(16)
    made = make("multilingual", values=table, pooling={"pooling_mode_mean_tokens": True})
    tokenizer = Tokenizer(models.Unigram([(piece, -float(n)) for n, piece in enumerate(PIECES)], unk_id=3))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(made / "tokenizer.json"))
    return made


def test_a_sentencepiece_tokenizer_is_read(folder: Path) -> None:
    model = Onnx(str(folder))
    dog, hund, zug = (model.embed_query(word) for word in ("dog", "Hund", "Zug"))
    assert dog @ hund == pytest.approx(1.0, abs=1e-3)
    assert abs(dog @ zug) < 0.9


def test_languages_are_in_the_folder_or_in_the_settings(folder: Path) -> None:
    before = Onnx(str(folder))
    assert before.reads == ()
    made = before.fingerprint
    (folder / "languages.json").write_text('["de", "en"]')
    assert Onnx(str(folder)).reads == ("de", "en")
    assert Onnx(str(folder), languages=("fr",)).reads == ("fr",)
    assert Onnx(str(folder), languages=("fr",)).fingerprint == made
    for wrong in ("{", '{"de": 1}', "[7]"):
        (folder / "languages.json").write_text(wrong)
        with pytest.raises(ModelProblem, match=r"languages\.json"):
            _ = Onnx(str(folder)).reads


NOTES = {
    "animals.md": "# dog\n\ndog dog garden\n",
    "travel.md": "# train\n\ntrain station train\n",
    "pets.md": "# cat\n\ncat cat garden\n",
}


@pytest.mark.parametrize("languages", [["de", "en"], []])
def test_a_german_query_finds_an_english_page(
    folder: Path, tmp_path: Path, write: Callable[..., Path], languages: list[str]
) -> None:
    settings = {"index": {"static": "onnx", "dense": ""}, "embed": {"onnx": {"model": str(folder)}}}
    settings["embed"]["onnx"] |= {"languages": languages} if languages else {}
    with Engine(tmp_path / "index", load(flags=settings)) as engine:
        engine.sync([write(NOTES)])
        answer = engine.search("wo ist der Bahnhof für den Zug")
        assert (answer.mode, answer.results[0].document) == ("hybrid", "travel.md")
        assert answer.silent == {"dense": "not in this index"}


def test_a_model_that_does_not_read_german_does_not_vote(
    folder: Path, tmp_path: Path, write: Callable[..., Path]
) -> None:
    onnx = {"model": str(folder), "languages": ["en"]}
    with Engine(
        tmp_path / "index", load(flags={"index": {"static": "onnx", "dense": ""}, "embed": {"onnx": onnx}})
    ) as e:
        e.sync([write(NOTES)])
        answer = e.search("wo ist der Bahnhof für den Zug")
        assert (answer.mode, answer.results) == ("lexical", ())
        assert answer.silent["static"].startswith("it reads English, and the query is in German; `embed.onnx.model`")
        assert json.dumps(answer.silent["static"])
