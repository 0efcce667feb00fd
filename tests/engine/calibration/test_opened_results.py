"""Opened results are stored only if the settings say so, within bounds, and deleted by a reset."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import SourceProblem
from watersmeet.engine.calibration import opened_results
from watersmeet.engine.calibration.opened_results import add_opened, read_opened
from watersmeet.engine.index.state_names import OPENED_RESULTS
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.evaluate.opened import opened_dataset
from watersmeet.store.local.state import FileState

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
SIGN_IN = "accounts/sign-in.md"


def settings(folder: Path, **calibration: bool) -> Settings:
    flags = {"index": {"dense": "hashed"}, "calibration": calibration}
    return load(start=str(folder), environ={}, flags=flags)


def searched_and_opened(folder: Path, **calibration: bool) -> Engine:
    with Engine(folder / "index", settings(folder, **calibration)) as engine:
        engine.sync([HANDBOOK])
        assert SIGN_IN in [one.document for one in engine.search("sign in with a password").results]
        engine.get(SIGN_IN)
        return engine


def test_a_query_is_stored_with_the_document_opened_after_it(tmp_path: Path) -> None:
    engine = searched_and_opened(tmp_path, learn=True, keep_opened=True)
    assert engine.calibration.opened_results() == [("sign in with a password", SIGN_IN)]
    found = opened_dataset(str(tmp_path / "index"), engine.settings)
    assert [(one.text, dict(one.relevant)) for one in found.questions] == [("sign in with a password", {SIGN_IN: 1})]
    engine.calibration.reset()
    assert not (tmp_path / "index" / OPENED_RESULTS).exists()


@pytest.mark.parametrize("calibration", [{"learn": True}, {"keep_opened": True}, {}])
def test_nothing_is_stored_otherwise(tmp_path: Path, calibration: dict[str, bool]) -> None:
    engine = searched_and_opened(tmp_path, **calibration)
    assert not (tmp_path / "index" / OPENED_RESULTS).exists()
    with pytest.raises(SourceProblem, match="no opened results") as caught:
        opened_dataset(str(tmp_path / "index"), engine.settings)
    assert "keep_opened = true" in caught.value.hint


def test_the_oldest_are_deleted_and_broken_lines_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_results, "MAX_RESULTS", 3)
    state = FileState(str(tmp_path), OPENED_RESULTS)
    (tmp_path / OPENED_RESULTS).write_bytes(b'not json\n{"query": "q"}\n\xff\n')
    for number in range(2):
        add_opened(state, f"query {number}", "a.md")
    assert read_opened(state) == [("query 0", "a.md"), ("query 1", "a.md")]
    for number in range(2, 5):
        add_opened(state, f"query {number}", "a.md")
    assert [query for query, _ in read_opened(state)] == ["query 2", "query 3", "query 4"]
