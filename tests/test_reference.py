"""The generated pages: their examples work, and nothing is missing."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

import watersmeet
from serving import Served, served
from watersmeet import Engine
from watersmeet.engine.settings.settings import load

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "reference"
REST = (PAGES / "rest.md").read_text("utf8")
PYTHON = (PAGES / "python.md").read_text("utf8")
ADDRESS = "http://127.0.0.1:7878"
COMMANDS = re.findall(r"^curl .+$", REST, re.MULTILINE)
WEATHER = {"kind": "mcp_server", "path": "/weather", "name": "weather", "description": "Forecasts", "tags": ["sky"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with what the examples name."""
    place = tmp_path_factory.mktemp("examples")
    (place / "docs" / "guide").mkdir(parents=True)
    (place / "docs" / "guide" / "install.md").write_text("# Install\n\nRotate keys after you have unpacked it.\n")
    (place / "docs" / "guides").mkdir()
    (place / "docs" / "guides" / "old.md").write_text("# Old\n\nOut of date.\n")
    settings = load(start=str(place), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(place / "index", settings) as engine:
        engine.sync([place / "docs"])
        with served(engine, allow_write=True) as made:
            yield made


def request_of(command: str) -> tuple[str, str, bytes | None, dict[str, str]]:
    """Method, path, body and headers of a curl command."""
    words = iter(shlex.split(command)[1:])
    method, path, body, headers = "", "", None, {}
    for word in words:
        match word:
            case "-s":
                pass
            case "-X":
                method = next(words)
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                body = next(words).encode()
            case _:
                assert word.startswith(ADDRESS), word
                path = word.removeprefix(ADDRESS)
    return method or ("GET" if body is None else "POST"), path, body, headers


@pytest.mark.server
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(request_of(command)[:2]))
def test_an_example_works(site: Served, command: str) -> None:
    site.service.engine.registry.register([WEATHER])
    answer = site.raw(*request_of(command))
    if "/api/jobs/" in command:  # the id of a job is made up by the server
        assert answer.json()["detail"] == "no such job"
    else:
        assert 200 <= answer.status < 300, answer.content


@pytest.mark.server
def test_every_route_has_an_example(site: Served) -> None:
    paths = site.ask("/openapi.json").json()["paths"]
    titles = {f"{method.upper()} {path}" for path, operations in paths.items() for method in operations}
    assert titles == set(re.findall(r"^## ((?:GET|POST|PUT|PATCH|DELETE) \S+)$", REST, re.MULTILINE))
    assert len(COMMANDS) == len(titles)


@pytest.mark.parametrize("page", [REST, PYTHON], ids=["rest", "python"])
def test_no_heading_is_there_twice(page: str) -> None:
    """Else links to it would lead to the first."""
    headings = [heading.lower() for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)]
    assert len(headings) == len({*headings}) > 10


def test_every_public_name_is_on_the_page() -> None:
    for name in watersmeet.__all__:
        if name != "__version__":
            assert re.search(rf"^(## {name}|\| `{name}` .*)$", PYTHON, re.MULTILINE), name
