"""What a write to the registry in a hurry embeds: what it wrote, and nothing that was there before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.errors import Stopped
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Progress

pytestmark = pytest.mark.model

CLOCK = Entity("mcp_server", "/clock", "clock", "Tells the time")
OTHER = {"kind": "skill", "path": "/skills/pdf", "name": "pdf", "description": "Fill forms"}


@pytest.fixture
def static(engine: Engine, vault: Path) -> Iterator[Engine]:
    """With the quick vectors that are shipped, over documents that no model has seen yet."""
    engine.sync([vault])
    with Engine(engine.folder, load(start=str(vault), environ={"WATERSMEET__INDEX__SPARSE": ""})) as made:
        yield made


def test_a_write_embeds_what_it_wrote(static: Engine) -> None:
    assert static.registry.put(CLOCK, deepen=False, seconds=0.5).embedded == 1
    assert static.registry.register([OTHER], deepen=False, seconds=0.5).embedded == 1
    assert static.registry.put(CLOCK, deepen=False, seconds=0.5).embedded == 0
    before = static.status()["chunks"] - 2
    assert before > 0
    assert static.deepen(deep=False).embedded == before  # the rest was left for whoever asks for it


def test_the_next_write_makes_up_for_one_that_did_not_embed(static: Engine) -> None:
    def gone(step: Progress) -> None:
        if step.doing.startswith("embedding"):
            raise Stopped("nobody waits for it any more")

    with pytest.raises(Stopped):
        static.registry.register([OTHER], deepen=False, progress=gone)
    again = static.registry.register([OTHER], deepen=False)
    assert (again.registered, again.unchanged) == (0, 1)
    assert again.embedded == static.status()["chunks"]


def test_a_write_is_stopped_before_it_embeds(static: Engine) -> None:
    """What is written stays written."""

    def gone(step: Progress) -> None:
        if step.doing.startswith("embedding"):
            raise Stopped("nobody waits for it any more")

    with pytest.raises(Stopped):
        static.registry.put(CLOCK, deepen=False, progress=gone)
    assert static.registry.get("/clock")["name"] == "clock"
    assert static.deepen(deep=False).embedded == static.status()["chunks"]
