from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.model import Condition, Plan
from watersmeet.engine.settings.settings import load
from watersmeet.query.source_code import SourceCode, is_source_code

CODE = "def tide(hour):\n    level = hour % 12\n    return sea.level(level)\n"
PROSE = "The tide rises twice a day.\nIt falls as often (see below).\nBoats wait for it.\n"
VOTES: Any = object()  # that vectors vote, which the step only needs to know


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "pub fn tide(hour: u8) -> u8 {\n    // the moon\n    hour % 12\n}\n",
        "function tide(hour) {\n  const level = hour % 12;\n  return level;\n}\n",
        'def tide(hour):\n    """The tide.\n\n    It rises and falls.\n    """\n    x = moon(hour)\n    return x\n',
    ],
)
def test_programs_are_source_code(text: str) -> None:
    assert is_source_code(text)


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "",
        "tide(hour) = level",  # one line
        "# Tides\n\nRun this:\n\n- first the moon\n- then the sea\n\n```sh\ntide --now\n```\n\nIt prints a number.\n",
        "name: tide\ndescription: the level of the sea\nowner: harbour\n",
    ],
)
def test_other_texts_are_not(text: str) -> None:
    assert not is_source_code(text)


def factors(engine: Engine, condition: Condition | None = None, static: Any = VOTES) -> dict[str, float]:
    with engine.snapshot() as snapshot:
        plan = Plan("when is the tide", words=("tide",), factors={"exact": 0.1}, condition=condition or Condition())
        return dict(SourceCode(snapshot, static, factor=0.5).apply(plan).factors)


def test_words_count_less_where_most_is_code(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for n in range(4):
        (folder / f"code{n}.txt").write_text(CODE.replace("tide", f"tide{n}"), "utf8")
    (folder / "a.md").write_text(PROSE, "utf8")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "0"})) as engine:
        engine.sync([folder])
        less = {"exact": 0.1, "lexical": 0.5}
        assert factors(engine) == less
        assert factors(engine, static=None) == {"exact": 0.1}
        assert factors(engine, Condition({"path": ("a.md",)})) == {"exact": 0.1}
        for n in range(5):
            (folder / f"b{n}.md").write_text(f"# Page {n}\n\n{PROSE}", "utf8")
        engine.sync()
        assert factors(engine) == {"exact": 0.1}
        assert factors(engine, Condition({"path": ("code*",)})) == less


def test_without_an_index_nothing_changes() -> None:
    assert SourceCode().apply(Plan("tide", words=("tide",))) == Plan("tide", words=("tide",))
