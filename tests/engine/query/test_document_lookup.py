"""A name finds what the viewer may see; what they may not see leaves no trace in any answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import Ambiguous, NotFound, WatersmeetError
from watersmeet.core.model import Condition, Request
from watersmeet.core.visibility import EVERYONE, OWNER, Viewer
from watersmeet.engine.settings.settings import load

SECRET = {
    "path": "/hidden",
    "name": "Flamingo",
    "description": "Keeps the codes",
    "tags": ["pink/secret"],
    "visibility": "group",
    "groups": ["pink"],
}
OPEN = {"path": "/open", "name": "Clock", "description": "Tells the time", "tags": ["time"]}
PINK = Viewer(groups=("pink",))

Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def shared(engine: Engine, write: Write) -> Engine:
    engine.sync([write({"a.md": "# Flamingo\n\nA bird.\n", "b.md": "# Heron\n\nAnother bird.\n"})])
    engine.registry.register([SECRET, OPEN])
    return engine


def said(engine: Engine, identity: str, viewer: Viewer | None) -> str:
    with pytest.raises(WatersmeetError) as caught:
        engine.get(identity, viewer)
    return f"{type(caught.value).__name__} {caught.value} {caught.value.hint}"


def test_a_shared_name_is_ambiguous_only_for_those_who_see_both(shared: Engine) -> None:
    assert shared.get("flamingo", EVERYONE)["document"] == "a.md"
    for viewer in (PINK, OWNER, None):
        with pytest.raises(Ambiguous) as caught:
            shared.get("flamingo", viewer)
        assert "'/hidden'" in caught.value.hint
        assert "'a.md'" in caught.value.hint
        with pytest.raises(Ambiguous):
            shared.related("flamingo", viewer=viewer)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["hidden", "/hiddn", "Flaming", "/hidden", "/hidden:1", "hidden/"])
def test_a_hidden_name_shows_in_no_hint(shared: Engine, written: str) -> None:
    for call in (shared.get, lambda name, viewer: shared.related(name, viewer=viewer)):
        with pytest.raises(NotFound) as caught:
            call(written, EVERYONE)
        assert "/hidden" not in caught.value.hint
    assert said(shared, written, EVERYONE).replace(written, "") == _without(shared, written)


def _without(engine: Engine, written: str) -> str:
    """What is said once it is really not there."""
    engine.registry.unregister(["/hidden"])
    return said(engine, written, EVERYONE).replace(written, "")


def test_its_group_finds_it_by_name(shared: Engine) -> None:
    assert shared.get("hidden", PINK)["document"] == "/hidden"
    assert "'/hidden'" in said(shared, "hiddenn", PINK)
    assert shared.get("clock", EVERYONE)["document"] == "/open"


def test_where_files_lie_is_known_to_the_owner_only(shared: Engine, write: Write) -> None:
    place = str(write({}) / "a.md")
    for viewer in (None, OWNER):
        assert shared.get(place, viewer)["document"] == "a.md"
        assert shared.get(f"{place}:1", viewer)["document"] == "a.md"
    elsewhere = place.replace("vault", "tluav")
    for viewer in (EVERYONE, PINK):
        assert said(shared, place, viewer).replace("vault", "tluav") == said(shared, elsewhere, viewer)


def test_the_registry_goes_by_paths_alone(shared: Engine) -> None:
    for name in ("clock", "open", "Clock"):
        with pytest.raises(NotFound):
            shared.registry.get(name)


def test_values_of_what_is_hidden_are_not_told(shared: Engine) -> None:
    def notes(key: str, value: str, viewer: Viewer | None) -> str:
        return " ".join(shared.unknown_fields(Request("x", condition=Condition({key: (value,)}), viewer=viewer)))

    assert notes("tag", "pin", EVERYONE) == "no document has the tag 'pin'; there are: time"
    assert notes("tag", "pink", EVERYONE) == "no document has the tag 'pink'; there are: time"
    assert "pink/secret" in notes("tag", "pin", PINK)
    assert notes("tag", "pink", PINK) == ""
    assert notes("enabled", "x", PINK) == "no document has enabled=x"
    assert notes("enabled", "x", OWNER) == "no document has enabled=x; there are: true"
    assert shared.unknown_fields(Request("#pink", viewer=EVERYONE)) == [
        "no document has the tag 'pink'; there are: time"
    ]


@pytest.mark.slow
def test_a_place_as_search_prints_it(tmp_path: Path) -> None:
    page = "<main><h1 id='top'>Proxy</h1><p>Intro.</p>" + "".join(
        f"<h2 id='part-{n}'>Part {n}</h2><p>{'Text of the part. ' * 30}</p>" for n in range(3)
    )
    (tmp_path / "proxy.html").write_text(page + "<h3 id='short'>Short</h3><p>x</p></main>")
    settings = load(start=str(tmp_path), environ={}, flags={"index": {"vectors": False}})
    with Engine(tmp_path / "index", settings) as engine:
        engine.sync([tmp_path / "proxy.html"])
        part = engine.get("proxy.html#part-1")
        assert (part["where"], part["chunks"][0]["headings"]) == ("#part-1", ["Proxy", "Part 1"])
        assert len(engine.get("proxy.html#short")["chunks"]) > 1  # it is in the chunk of Part 2: the whole page
        with pytest.raises(NotFound):
            engine.get("proxy.html p. 1")
