from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embed.conftest import block, number

from watersmeet.core.errors import ModelMissing, ModelProblem
from watersmeet.embed import _encoder
from watersmeet.embed._mapped_graph import mapped_graph
from watersmeet.embed.onnx import Onnx

GRANITE = Path(__file__).parents[2] / "models" / "granite-30m" / "src" / "watersmeet_granite_30m"
Make = Callable[..., Path]
Rows = dict[str, np.ndarray]


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def mean(rows: Rows, text: str) -> np.ndarray:
    return unit(np.mean([rows[word] for word in ["[CLS]", *text.split(), "[SEP]"]], axis=0))


def test_a_pooled_output_is_taken_as_it_is(make: Make, rows: Rows) -> None:
    embedder = Onnx(str(make(reduced=[1])))
    assert embedder.dimension == 6
    assert embedder.embed(["red round"])[0] == pytest.approx(mean(rows, "red round"), abs=1e-5)


@pytest.mark.parametrize("pooling", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
def test_the_first_token_speaks_for_all(make: Make, rows: Rows, pooling: dict[str, Any]) -> None:
    vector = Onnx(str(make(pooling=pooling))).embed_query("red")
    assert vector == pytest.approx(unit(rows["[CLS]"]), abs=1e-5)


@pytest.mark.parametrize("pooling", [None, {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}])
def test_the_mean_of_all_tokens(make: Make, rows: Rows, pooling: dict[str, Any] | None) -> None:
    vector = Onnx(str(make(pooling=pooling))).embed_query("red square")
    assert vector == pytest.approx(mean(rows, "red square"), abs=1e-5)


def test_pooling_can_be_overruled(make: Make, rows: Rows) -> None:
    folder = make(pooling={"pooling_mode_max_tokens": True})
    with pytest.raises(ModelProblem, match="max_tokens"):
        Onnx(str(folder)).embed(["red"])
    assert Onnx(str(folder), pooling="cls").embed_query("red") == pytest.approx(unit(rows["[CLS]"]), abs=1e-5)


@pytest.mark.parametrize("budget", [1, 9, 1000])
def test_order_and_padding(make: Make, rows: Rows, budget: int) -> None:
    texts = ["red", "", "green blue round square", " ", "blue", "red green", *["square red"] * 30]
    embedder = Onnx(str(make()), batch_tokens=budget)
    vectors = embedder.embed(texts)
    assert not vectors[[1, 3]].any()
    for text, vector in zip(texts, vectors, strict=True):
        if text.strip():
            assert vector == pytest.approx(mean(rows, text), abs=1e-5)
    parts = list(embedder.embed_stream(texts, 7))
    assert [start for start, _ in parts] == list(range(0, 36, 7))
    assert np.concatenate([part for _, part in parts]) == pytest.approx(vectors, abs=1e-6)


@pytest.mark.parametrize("count", [0, 1])
def test_few_texts(make: Make, count: int) -> None:
    embedder = Onnx(str(make()))
    assert embedder.embed(["red"] * count).shape == (count, 6)
    assert embedder.embed([""] * count).shape == (count, 6)
    assert not embedder.embed_query("").any()


def test_only_what_the_graph_asks_for_is_given(make: Make, rows: Rows) -> None:
    asked = {"input_ids": "int32", "token_type_ids": "int32", "position_ids": "int64"}
    assert Onnx(str(make(inputs=asked))).embed_query("red") == pytest.approx(mean(rows, "red"), abs=1e-5)
    with pytest.raises(ModelProblem, match="has the inputs pixels"):
        Onnx(str(make("camera", {"input_ids": "int64", "pixels": "int64"}))).embed(["a"])


@pytest.mark.parametrize(
    ("config", "length"),
    [
        ({"max_position_embeddings": 5}, 5),
        ({"max_position_embeddings": 7, "model_type": "roberta", "pad_token_id": 1}, 5),
        ({}, 512),
    ],
)
def test_long_texts_are_cut(make: Make, rows: Rows, config: dict[str, Any], length: int) -> None:
    folder = make(config=config)
    long = " ".join(["red", *["green"] * 600])
    kept = " ".join(["red", *["green"] * (length - 3)])
    assert Onnx(str(folder)).embed_query(long) == pytest.approx(mean(rows, kept), abs=1e-4)
    assert Onnx(str(folder), max_tokens=4).embed_query(long) == pytest.approx(mean(rows, "red green"), abs=1e-4)


def test_prefixes(make: Make, rows: Rows) -> None:
    embedder = Onnx(str(make()), query_prefix="blue ", text_prefix="round ")
    assert embedder.embed_query("red") == pytest.approx(mean(rows, "blue red"), abs=1e-5)
    assert embedder.embed(["red", ""])[0] == pytest.approx(mean(rows, "round red"), abs=1e-5)


def test_it_is_loaded_once_even_by_many_threads(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make()
    loads: list[Path] = []
    load = _encoder._load
    monkeypatch.setattr(_encoder, "_load", lambda folder, *rest: (loads.append(folder), load(folder, *rest))[1])
    threads = [threading.Thread(target=lambda: Onnx(str(folder)).embed(["red", "blue"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Onnx(str(folder)).embed_query("red")
    assert loads == [folder]
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes() + b"")
    Onnx(str(folder)).embed_query("red")
    assert loads == [folder, folder]


def test_nothing_is_loaded_before_it_is_used(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_encoder, "_load", lambda *_: pytest.fail("loaded"))
    embedder = Onnx(str(make()))
    assert embedder.name == "tiny"
    assert len(embedder.fingerprint) == 24


def test_the_fingerprint_covers_files_and_settings(make: Make) -> None:
    folder = make()
    first = Onnx(str(folder)).fingerprint
    assert Onnx(str(folder), threads=1).fingerprint == first == Onnx(str(make("copy"))).fingerprint
    changed = [
        {"text_prefix": "a"},
        {"query_prefix": "a"},
        {"max_tokens": 9},
        {"pooling": "cls"},
        {"batch_tokens": 9},
    ]
    assert len({first, *(Onnx(str(folder), **one).fingerprint for one in changed)}) == 6
    (folder / "model.onnx").write_bytes(make("other", reduced=[1]).joinpath("model.onnx").read_bytes())
    assert Onnx(str(folder)).fingerprint != first


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "folder"])
def test_damage_is_named(make: Make, capfd: pytest.CaptureFixture[str], file: str, damage: str) -> None:
    folder = make()
    content = (folder / file).read_bytes()
    (folder / file).unlink()
    if damage == "folder":
        (folder / file).mkdir()
    else:
        (folder / file).write_bytes(
            {"cut": content[: len(content) // 2], "garbage": b"\x00\xffgarbage" * 99, "empty": b""}[damage]
        )
    for use in (
        lambda one: one.embed(["red", "blue"]),
        lambda one: one.embed_query("red"),
        lambda one: one.dimension,
    ):
        with pytest.raises(ModelProblem, match=file) as caught:
            use(Onnx(str(folder)))
        assert caught.value.hint
    assert capfd.readouterr().err == ""


def test_an_output_of_the_wrong_shape(make: Make) -> None:
    with pytest.raises(ModelProblem, match="1 dimensions"):
        Onnx(str(make(reduced=[1, 2]))).embed(["red"])


@pytest.mark.parametrize("name", ["granite-31m", "/no/such/folder", "./none", ""])
def test_a_model_that_is_not_there(name: str) -> None:
    with pytest.raises(ModelMissing) as caught:
        Onnx(name).embed(["a"])
    assert caught.value.hint


def test_a_hub_name_without_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelMissing) as caught:
        Onnx("nobody/no-such-model", download=False).embed(["a"])
    assert "folder" in caught.value.hint
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ModelMissing) as caught:
        Onnx("nobody/no-such-model").embed(["a"])
    assert caught.value.hint


def test_a_name_is_never_a_folder_of_where_we_are(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made the working folder would choose the model: granite-30m/model.onnx in a download."""
    package = tmp_path / "site" / "watersmeet_some_model"
    package.mkdir(parents=True)
    packaged, local = make("packaged", reduced=[1]), make("some-model")
    (package / "__init__.py").write_text(f"PATH = {str(packaged)!r}\n")
    monkeypatch.chdir(tmp_path)
    for name in ("some-model", "some-model/onnx"):
        with pytest.raises(ModelMissing):
            Onnx(name, download=False).embed(["a"])
    monkeypatch.syspath_prepend(str(package.parent))
    assert Onnx("some-model").fingerprint == Onnx(str(packaged)).fingerprint
    assert Onnx("./some-model").fingerprint == Onnx(str(local)).fingerprint != Onnx(str(packaged)).fingerprint


def test_a_stream_can_be_left_early(make: Make) -> None:
    stream = Onnx(str(make())).embed_stream(["red"] * 1000, 10)
    assert next(stream)[0] == 0
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("embed")]


@pytest.mark.slow
def test_an_interrupted_stream_gives_what_is_finished(make: Make) -> None:
    model = Onnx(str(make()))
    texts = ["red", "green", "blue"] * 4
    stream = model.embed_stream(texts, 6)
    start, first = next(stream)
    time.sleep(0.2)  # the second half is being worked on meanwhile
    got = {start + place: row for place, row in enumerate(first)}
    place, rows = stream.throw(KeyboardInterrupt())
    got[place] = rows[0]
    for _ in range(5):
        place, rows = next(stream)
        got[place] = rows[0]
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert (np.array([got[place] for place in range(12)]) == model.embed(texts)).all()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("embed")]


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_a_graph_that_gives_no_vector_is_named(make: Make, rows: Rows, value: float) -> None:
    model = Onnx(str(make(values=np.full((len(rows), 6), value, dtype=np.float32))))
    for ask in (lambda: model.embed(["red"]), lambda: model.embed_query("red")):
        with pytest.raises(ModelProblem, match=r"model\.onnx gave no usable vector"):
            ask()
    assert not model.embed(["", " "]).any()


def test_odd_texts(make: Make) -> None:
    vectors = Onnx(str(make())).embed(["\ud800", "\x00", "x" * 100_000, "\n", "é" * 999])
    assert np.isfinite(vectors).all()


@pytest.mark.model
def test_the_shipped_model_knows_that_to_log_on_is_to_sign_in() -> None:
    texts = ["Sign in with your password", "Bake the bread for an hour", "The log file rotates daily", ""]
    embedder = Onnx(str(GRANITE))
    vectors = embedder.embed(texts)
    scores = vectors @ embedder.embed_query("how do I log on?")
    assert embedder.dimension == 384
    assert int(scores.argmax()) == 0
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-5)
    assert all(np.array_equal(vectors[n], embedder.embed_query(text)) for n, text in enumerate(texts))
    assert np.array_equal(embedder.embed_query("word " * 600), embedder.embed_query("word " * 900))


@pytest.mark.model
def test_mapped_weights_give_the_same_vector() -> None:
    graph = mapped_graph(GRANITE / "model.onnx_data")
    assert graph is not None
    assert len(graph) < 0.01 * (GRANITE / "model.onnx_data").stat().st_size
    plain, mapped = (
        _encoder.session_of(one) for one in ((GRANITE / "model.onnx_data").read_bytes(), GRANITE / "model.onnx_data")
    )
    feed = {name: np.array([[0, 9178, 109, 38, 2]]) for name in ("input_ids", "attention_mask")}
    feed["attention_mask"] = np.ones_like(feed["input_ids"])
    assert np.array_equal(plain.run(None, feed)[0], mapped.run(None, feed)[0])


@pytest.mark.model
@pytest.mark.parametrize("graph", ["model.onnx", "model.onnx_data"])
def test_a_folder_of_links_as_the_hub_keeps_them(tmp_path: Path, graph: str) -> None:
    """onnxruntime refuses weights to which a link leads in another folder."""
    blobs, folder = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    folder.mkdir()
    for place, file in enumerate(("model.onnx", "model.onnx_data", "tokenizer.json", "config.json")):
        shutil.copyfile(GRANITE / file, blobs / f"{place}")
        (folder / file).symlink_to(Path("..") / "blobs" / f"{place}")
    linked, plain = (Onnx(model=str(place), file=graph) for place in (folder, GRANITE))
    assert np.array_equal(linked.embed_query("How do I log on?"), plain.embed_query("How do I log on?"))


@given(st.binary(max_size=60), st.integers(0, 3000), st.integers(0, 3000))
def test_a_damaged_graph_is_not_mapped_beyond_its_end(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, cut: int, at: int
) -> None:
    tensor = block(8, "w") + number(2, 1) + block(9, bytes(2000))
    whole = block(7, block(5, tensor) + block(2, "graph"))
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes((whole[:at] + noise + whole[at + len(noise) :])[: len(whole) - cut])
    mapped_graph(path)  # raises nothing, and ends


def test_where_a_weight_is_in_its_file(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).bytes(5000)
    tensor = block(8, "w") + number(2, 1) + block(9, weights) + number(14, 0)
    path = tmp_path / "one.onnx"
    path.write_bytes(number(1, 8) + block(7, block(5, tensor) + block(2, "graph")))
    graph = mapped_graph(path)
    assert graph is not None
    offset = int(graph.split(b"offset\x12\x02")[1][:2])
    assert path.read_bytes()[offset : offset + 5000] == weights
    assert b"one.onnx" in graph
    assert weights[:50] not in graph
