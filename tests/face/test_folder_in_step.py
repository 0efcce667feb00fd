"""`--in`: an edit is in the first answer after it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import IndexProblem, WatersmeetError
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.settings.settings import load
from watersmeet.face import service as services
from watersmeet.face.search import SearchParams
from watersmeet.face.service import Service


@pytest.fixture(params=[0.0])
def service(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[Service]:
    monkeypatch.setattr(services, "FOLDER_WAIT_SECONDS", 30.0)
    monkeypatch.setattr(services, "RECHECK_FACTOR", request.param)
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__SERVE__FRESH_SECONDS": "0"}
    made = Service(Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)), inside=str(vault))
    yield made
    made.close()


def found(service: Service, query: str) -> list[str]:
    answered = asyncio.run(service.run(lambda stop: service.search(SearchParams(query=query), EVERYONE, stop)))
    return [result.document for result in answered.answer.results]


def at_rest(service: Service) -> None:
    """Until nobody looks at the folder any more."""
    assert service.folder is not None
    with service.folder._lock:
        pass


@pytest.mark.slow
def test_an_edit_is_in_the_first_answer_after_it(service: Service, vault: Path) -> None:
    assert found(service, "pelican") == []
    for bird in ("pelican", "heron", "tern"):
        at_rest(service)
        (vault / f"{bird}.md").write_text(f"# New\n\nAbout a {bird}.\n")
        assert found(service, bird)[:1] == [f"{bird}.md"]


@pytest.mark.slow
@pytest.mark.parametrize("service", [1e6], indirect=True)
def test_what_takes_long_to_look_at_is_looked_at_less_often(service: Service, vault: Path) -> None:
    assert found(service, "pelican") == []
    (vault / "new.md").write_text("# New\n\nAbout a pelican.\n")
    assert found(service, "pelican") == []


def test_what_is_wrong_with_a_folder_is_told_each_time_and_mended(service: Service, vault: Path) -> None:
    assert found(service, "rotate keys")
    at_rest(service)
    away = vault.rename(vault.parent / "away")
    for _ in range(2):
        at_rest(service)
        with pytest.raises(IndexProblem, match="does not exist") as error:  # 503, and not the asker's mistake
            found(service, "rotate keys")
        assert service.without_folder(str(error.value)) == "the folder does not exist"
    away.rename(vault)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            assert found(service, "rotate keys")
            return
        except WatersmeetError:
            time.sleep(0.05)
    pytest.fail("the folder is back")
