"""The tuned encoder of an index: recorded, used for the vectors it was tuned for, and undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.index import QUERY_ENCODER, Tier
from watersmeet.engine.index.query_encoder import (
    encoders_folder,
    keep,
    query_encoder_state,
    recorded,
    undo,
    with_query_encoder,
)
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.deepen import facts_of

TIER = Tier("dense", "granite-30m", "fingerprint-1", 384, "vectors-dense-0")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text("# A\n\nOne page.\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags={"index": {"vectors": False}})) as made:
        made.sync([tmp_path / "pages"])
        yield made


@pytest.fixture
def model(tmp_path: Path) -> str:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"graph")
    (folder / "tokenizer.json").write_text("{}")
    return str(folder)


def query_model(engine: Engine, tier: Tier = TIER) -> str:
    settings = with_query_encoder(engine.settings, facts_of(engine.index), tier, "onnx")
    return str(settings.of("embed", "onnx").get("query_model", ""))


def test_a_stored_encoder_is_used_and_undone(engine: Engine, model: str) -> None:
    assert (query_model(engine), undo(engine.index)) == ("", False)
    place = keep(engine.index, model, TIER.fingerprint, {"dataset": "judged"})
    assert Path(place).parent == Path(encoders_folder())
    assert sorted(path.name for path in Path(place).iterdir()) == ["model.onnx", "tokenizer.json"]
    facts = facts_of(engine.index)
    assert recorded(facts)["dataset"] == "judged"
    assert (query_model(engine), query_encoder_state(facts, TIER)) == (place, "tuned")
    assert undo(engine.index)
    assert (query_model(engine), query_encoder_state(facts_of(engine.index), TIER)) == ("", "")
    assert not Path(place).exists()
    assert not undo(engine.index)


def test_a_second_one_replaces_the_first(engine: Engine, model: str) -> None:
    first = keep(engine.index, model, TIER.fingerprint, {})
    Path(model, "model.onnx").write_bytes(b"other graph")
    second = keep(engine.index, model, TIER.fingerprint, {})
    assert first != second
    assert query_model(engine) == second
    assert [path.name for path in Path(encoders_folder()).iterdir()] == [Path(second).name]
    assert keep(engine.index, model, TIER.fingerprint, {}) == second  # the same again
    assert query_model(engine) == second


def test_it_is_not_used_for_vectors_of_another_model(engine: Engine, model: str) -> None:
    keep(engine.index, model, TIER.fingerprint, {})
    other = replace(TIER, fingerprint="fingerprint-2")
    assert (query_model(engine, other), query_encoder_state(facts_of(engine.index), other)) == ("", "")


def test_settings_that_name_a_model_count_more(engine: Engine, model: str) -> None:
    keep(engine.index, model, TIER.fingerprint, {})
    named = load(environ={}, flags={"embed": {"onnx": {"query_model": "granite-30m"}}})
    assert with_query_encoder(named, facts_of(engine.index), TIER, "onnx") is named
    hashed = with_query_encoder(engine.settings, facts_of(engine.index), TIER, "hashed")  # has no such option
    assert hashed is engine.settings


def test_without_the_model_the_index_answers_as_before(engine: Engine, model: str) -> None:
    place = Path(keep(engine.index, model, TIER.fingerprint, {}))
    (place / "model.onnx").unlink()
    assert (query_model(engine), query_encoder_state(facts_of(engine.index), TIER)) == ("", "missing")
    assert engine.search("page").results


@pytest.mark.parametrize("name", ["../../elsewhere", "/etc", "", "0123", None, "g" * 24])
def test_a_record_cannot_name_another_folder(name: str | None) -> None:
    facts = {QUERY_ENCODER: json.dumps({"encoder": name, "vectors": TIER.fingerprint})}
    assert recorded(facts) == {}
    assert query_encoder_state(facts, TIER) == ""


@pytest.mark.parametrize("text", ["", "not json", "[]", "1"])
def test_a_broken_record_is_none(text: str) -> None:
    assert recorded({QUERY_ENCODER: text}) == {}


def test_a_rebuilt_index_keeps_its_encoder(engine: Engine, model: str) -> None:
    place = keep(engine.index, model, TIER.fingerprint, {})
    engine.sync(recreate=True)
    assert query_model(engine) == place
