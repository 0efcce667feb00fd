"""The page is one file that needs nothing else, and can be served with a policy that allows nothing else.

What it does is tested in Chromium, by `scripts/browser.py`.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from watersmeet.core.bidi import BIDI_CONTROLS
from watersmeet.face.rest.page import _page

PAGE = _page()[0].decode()


class Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def elements() -> list[tuple[str, dict[str, str]]]:
    reader = Elements()
    reader.feed(PAGE)
    return reader.found


def test_it_loads_nothing() -> None:
    for tag, attributes in elements():
        assert tag not in ("iframe", "object", "embed", "img", "base"), tag
        for name in ("src", "href", "action", "srcset", "data"):
            assert attributes.get(name, "#").startswith(("#", "data:,")), (tag, attributes)
    assert re.findall(r"https?://|@import|url\(", PAGE) == []


def test_a_strict_policy_fits() -> None:
    for tag, attributes in elements():
        assert "style" not in attributes, (tag, attributes)
        assert [name for name in attributes if name.startswith("on")] == [], (tag, attributes)
    assert [tag for tag, _ in elements() if tag in ("script", "style")] == ["style", "script"]


def test_text_is_never_read_as_markup() -> None:
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", PAGE) == []


def test_every_field_has_a_label_and_every_id_is_there_once() -> None:
    found = elements()
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = {attributes.get("for") for tag, attributes in found if tag == "label"}
    fields = {attributes["id"] for tag, attributes in found if tag in ("input", "select", "textarea")}
    assert fields <= labelled
    assert set(re.findall(r'\$\("([\w-]+)"\)', PAGE)) - {"passage"} <= set(ids)


def test_text_that_turns_itself_around_is_shown() -> None:
    """All text of the server goes through `make`, and there through `straight`, which knows what the terminal knows."""
    (turning,) = re.findall(r"const straight = .*?/\[(.*?)\]/g", PAGE)
    assert turning == BIDI_CONTROLS.encode("ascii", "backslashreplace").decode()
    for text in re.findall(r"\.(?:textContent|title) = (.*)", PAGE):
        assert "straight(" in text or not re.search(r"value|message|query|problem", text), text


def test_the_script_declares_nothing_twice() -> None:
    """A name that is declared twice stops all of it; what it does is tested in a browser."""
    (script,) = re.findall(r"<script>(.*?)</script>", PAGE, re.DOTALL)
    declared = re.findall(r"^  (?:async )?(?:function|const|let) (\w+)", script, re.MULTILINE)
    assert len(declared) > 40
    assert sorted(declared) == sorted(set(declared))
