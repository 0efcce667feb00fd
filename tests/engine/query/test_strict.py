"""`strict`: a signal that the settings have a model for, and that does not vote, is an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import Degraded
from watersmeet.core.model import Condition, Request
from watersmeet.engine.settings.settings import load

STRICT = Request("rotate keys", strict=True)


@contextmanager
def opened(folder: Path, **settings: str) -> Iterator[Engine]:
    environ = {f"WATERSMEET__INDEX__{key}": value for key, value in settings.items()}
    with Engine(folder / "index", load(start=str(folder), environ=environ)) as engine:
        yield engine


@pytest.mark.model
def test_vectors_that_are_missing_are_an_error_and_deepen_mends_it(vault: Path, tmp_path: Path) -> None:
    with opened(tmp_path, DENSE="hashed") as engine:
        engine.sync([vault], deepen=False)
        assert engine.search(Request("rotate keys")).results
        with pytest.raises(Degraded, match="dense not used") as caught:
            engine.search(STRICT)
        assert "watersmeet deepen" in caught.value.hint
        assert engine.search(Request("rotate keys", mode="lexical", strict=True)).results
        engine.deepen()
        assert engine.search(STRICT).results


def test_an_index_of_words_alone_is_not_what_the_settings_say(vault: Path, tmp_path: Path) -> None:
    with opened(tmp_path, VECTORS="false") as engine:
        engine.sync([vault])
        assert engine.search(STRICT).results
    with opened(tmp_path, DENSE="hashed") as engine, pytest.raises(Degraded, match="not in this index"):
        engine.search(STRICT)


@pytest.mark.model
def test_a_model_that_is_switched_off_is_not_missed(vault: Path, tmp_path: Path) -> None:
    with opened(tmp_path, DENSE="") as engine:
        engine.sync([vault])
        assert engine.search(STRICT).results


@pytest.mark.model
@pytest.mark.parametrize("mode", ["", "lexical", "static", "dense", "hybrid"])
def test_a_tag_holds_those_below_it_in_every_mode(tmp_path: Path, mode: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, tag in (("food", "food"), ("bread", "food/bread"), ("foodie", "foodie"), ("none", "other")):
        (folder / f"{name}.md").write_text(f"---\ntags: [{tag}]\n---\n# {name}\n\nA loaf of bread.\n")
    with opened(tmp_path, DENSE="hashed") as engine:
        engine.sync([folder])
        found = engine.search(Request("loaf of bread", mode=mode, condition=Condition({"tag": ("food",)})))
        assert {result.document for result in found.results} == {"food.md", "bread.md"}
        assert found.mode == (mode or "hybrid")
