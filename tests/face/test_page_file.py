"""The page's files need nothing else, and are served with a policy that allows nothing else.

What they do is tested in Chromium, by `scripts/browser.py`.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from watersmeet.core.bidi import BIDI_CONTROLS
from watersmeet.face.rest.page import POLICY, content_version, markup, page_files
from watersmeet.present.rich_text import NAMES

PAGE = markup().decode()
SCRIPTS = {name: text.decode() for name, text in page_files().items() if name.endswith(".js")}
SCRIPT = "\n".join(SCRIPTS.values())
STYLE = "\n".join(text.decode() for name, text in page_files().items() if name.endswith(".css"))


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


def test_it_loads_its_own_files_alone() -> None:
    own = {f"/web/{content_version()}/{name}" for name in page_files()}
    loaded = set()
    for tag, attributes in elements():
        assert tag not in ("iframe", "object", "embed", "img", "base"), tag
        for name in ("src", "href", "action", "srcset", "data"):
            address = attributes.get(name, "#")
            assert address in own or address in ("/", "/quality") or address.startswith(("#", "data:,")), (
                tag,
                attributes,
            )
            loaded.add(address)
    assert own <= loaded
    assert re.findall(r"https?://|@import|url\(", PAGE + STYLE + SCRIPT) == []


def test_nothing_is_inline() -> None:
    for tag, attributes in elements():
        assert "style" not in attributes, (tag, attributes)
        assert [name for name in attributes if name.startswith("on")] == [], (tag, attributes)
        assert tag != "style"
        assert tag != "script" or attributes["src"].endswith("/main.js")
    assert "unsafe" not in POLICY
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in POLICY


def test_text_is_never_read_as_markup() -> None:
    assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", SCRIPT) == []


def test_it_builds_the_elements_that_the_server_sends() -> None:
    listed = re.findall(r"NAMES = new Set\(\((.*?)\)\.split", SCRIPTS["richtext.js"], re.DOTALL)[0]
    assert set(" ".join(re.findall(r'"([^"]*)"', listed)).split()) == NAMES


def test_every_field_has_a_label_and_every_id_is_there_once() -> None:
    found = elements()
    ids = [attributes["id"] for _, attributes in found if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled = {attributes.get("for") for tag, attributes in found if tag == "label"}
    fields = {attributes["id"] for tag, attributes in found if tag in ("input", "select", "textarea")}
    assert fields <= labelled
    assert set(re.findall(r'\$\("([\w-]+)"\)', SCRIPT)) - {"passage", "keep-recent"} <= set(ids)


def test_text_that_turns_itself_around_is_shown() -> None:
    """All text of the server goes through `make`, and there through `straight`, which knows what the terminal knows."""
    (turning,) = re.findall(r"const straight = .*?/\[(.*?)\]/g", SCRIPT)
    assert turning == BIDI_CONTROLS.encode("ascii", "backslashreplace").decode()
    for text in re.findall(r"\.(?:textContent|title) = (.*)", SCRIPT):
        assert "straight(" in text or not re.search(r"value|message|query|problem", text), text


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_import_is_exported_and_used(name: str) -> None:
    """A name that is missing stops the whole page; one that is not needed is left over."""
    script = SCRIPTS[name]
    imports = re.findall(r'^import \{ ([^}]+) \} from "\./([\w-]+\.js)";', script, re.MULTILINE)
    assert len(imports) == len(re.findall(r"\bimport\b", script))
    code = re.sub(r"^import .*", "", script, flags=re.MULTILINE)
    for names, other in imports:
        exported = re.findall(r"^export (?:async )?(?:function|const) ([\w$]+)", SCRIPTS[other], re.MULTILINE)
        for wanted in names.split(", "):
            assert wanted in exported, (other, wanted)
            assert re.search(rf"(?<![\w$]){re.escape(wanted)}(?![\w$])", code), f"{wanted} is not used"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_declares_nothing_twice(name: str) -> None:
    """A name that is declared twice stops all of it; what it does is tested in a browser."""
    declared = re.findall(r"^(?:export )?(?:async )?(?:function|const|let) ([\w$]+)", SCRIPTS[name], re.MULTILINE)
    imported = re.findall(r"^import \{ ([^}]+) \}", SCRIPTS[name], re.MULTILINE)
    names = [*declared, *", ".join(imported).split(", ")]
    assert declared
    assert sorted(names) == sorted(set(names))
