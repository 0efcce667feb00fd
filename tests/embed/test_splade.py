from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.core.sparse import Weighted
from watersmeet.embed import _encoder
from watersmeet.embed.splade import Splade

RED, GREEN, BLUE, ROUND, SQUARE = range(4, 9)
Make = Callable[..., Path]


def logits() -> np.ndarray:
    """What each of the nine tokens says of each: itself, and red things are round. [CLS] and [PAD] shout."""
    scores = np.full((9, 9), -2.0, dtype=np.float32)
    scores[2, :4] = 50.0
    scores[0] = 40.0
    scores[RED, [RED, ROUND]] = 3.0, 1.0
    scores[GREEN, [GREEN, ROUND]] = 2.0, 0.5
    scores[BLUE, [BLUE, SQUARE]] = 1.5, 1.5
    return scores


@pytest.fixture
def folder(make: Make) -> Path:
    return make(values=logits())


def terms(text: Weighted) -> dict[int, float]:
    return dict(zip(text.terms.tolist(), text.weights.tolist(), strict=True))


def test_a_weight_is_the_logarithm_of_the_highest_score(folder: Path) -> None:
    (found,) = Splade(str(folder)).encode(["red green"])
    wanted = {RED: np.log1p(3.0), GREEN: np.log1p(2.0), ROUND: np.log1p(1.0)}
    assert terms(found) == pytest.approx(wanted, abs=1e-6)
    assert not found.rarely
    (twice,) = Splade(str(folder), logarithms=2).encode(["red green"])
    assert terms(twice) == pytest.approx({term: np.log1p(weight) for term, weight in wanted.items()}, abs=1e-6)


def test_a_query_is_read_by_the_same_model(folder: Path) -> None:
    model = Splade(str(folder))
    assert terms(model.encode_query("blue")) == terms(model.encode(["blue"])[0])
    assert terms(Splade(str(folder), query_top=1).encode_query("red")) == pytest.approx({RED: np.log1p(3.0)})


def test_company_changes_nothing(folder: Path) -> None:
    texts = ["red", "", "blue green red red", "  \n", "green", "nothing known"]
    together = [terms(one) for one in Splade(str(folder), threads=3).encode(texts)]
    assert together == [terms(Splade(str(folder)).encode([text])[0]) for text in texts]
    assert together[1] == together[3] == {}
    assert Splade(str(folder)).encode([]) == []


def test_padding_says_nothing(folder: Path) -> None:
    """Two texts in one pass: the shorter one is padded, and [PAD] must not be heard."""
    model = _encoder.encoder(folder, "", 0, "max")
    alone, padded = model.run([[RED]]), model.run([[RED], [BLUE, GREEN, BLUE]])
    assert (padded[0] == alone[0]).all()


def test_only_the_heaviest_terms_are_kept(folder: Path) -> None:
    (found,) = Splade(str(folder), top=2).encode(["red green"])
    assert found.terms.tolist() == [RED, GREEN]
    (tied,) = Splade(str(folder), top=1).encode(["blue"])
    assert tied.terms.tolist() == [BLUE]


@pytest.mark.parametrize("inputs", [{"input_ids": "int32"}, {"input_ids": "int64", "token_type_ids": "int64"}])
def test_the_graph_says_what_it_is_fed(make: Make, inputs: dict[str, str]) -> None:
    assert terms(Splade(str(make(values=logits(), inputs=inputs))).encode_query("red"))[RED] > 1


def test_weights_by_token_make_queries_free(folder: Path) -> None:
    (folder / "idf.json").write_text(json.dumps({"red": 5.5, "round": 2, "green": 0, "[CLS]": 9, "strange": 3}))
    model = Splade(str(folder))
    (text,) = model.encode(["red"])
    assert terms(text) == pytest.approx({RED: np.log1p(3.0), ROUND: np.log1p(1.0)})
    (folder / "model.onnx").write_bytes(b"not needed for a query")
    assert terms(model.encode_query("red red green square round")) == {RED: 5.5, ROUND: 2.0}
    assert terms(model.encode_query("")) == {}


@pytest.mark.parametrize("content", ["[1]", "{", '{"red": "much"}', '{"red": [1]}'])
def test_a_file_of_weights_that_is_none_is_named(folder: Path, content: str) -> None:
    (folder / "idf.json").write_text(content)
    with pytest.raises(ModelProblem, match=r"idf\.json") as caught:
        Splade(str(folder)).encode_query("red")
    assert caught.value.hint
    assert Splade(str(folder), query_weights="").encode_query("red")


def test_the_fingerprint_covers_what_changes_a_term(folder: Path) -> None:
    model = Splade(str(folder))
    first = model.fingerprint
    assert first == Splade(str(folder), threads=1).fingerprint
    assert first != Splade(str(folder), top=3).fingerprint
    (folder / "idf.json").write_text('{"red": 1}')
    assert model.fingerprint != first


def test_a_model_that_is_not_there_is_named(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(ModelMissing) as caught:
        Splade(str(tmp_path / "none")).encode(["red"])
    assert caught.value.hint
    with pytest.raises(ModelMissing):
        _ = Splade().fingerprint
    (folder / "model.onnx").write_bytes(b"broken")
    with pytest.raises(ModelProblem, match=r"model\.onnx"):
        Splade(str(folder)).encode(["red"])


def test_a_model_is_loaded_once(folder: Path) -> None:
    model = Splade(str(folder))
    model.encode(["red"])
    loaded = _encoder.encoder(folder, "", 0, "max")
    model.encode_query("blue")
    Splade(str(folder), top=5).encode(["green"])
    assert _encoder.encoder(folder, "", 0, "max") is loaded
