from __future__ import annotations

from contextlib import closing, suppress
from typing import ClassVar

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.errors import ReaderFailed
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.engine.sync.parser_process import ParserProcess
from watersmeet.parse.python_api import PythonApi
from watersmeet.testing.contracts.parser import ParserContract

MODULE = '''"""Birds of the coast."""

import os

LIMIT: int = 5
_hidden = 1
TABLE = {"a very long value": "that is left out of the document since nobody looks for it there"}


@lru_cache
def find(name: str, *, near: float = 1.5) -> "Bird":
    """Find a bird.

    :param near: kilometres
    """
    secret_of_the_body = os.environ
    return secret_of_the_body


class Bird(Animal, metaclass=Meta):
    """A bird."""

    wings: int = 2

    def __init__(self, name):
        self.name = name

    async def fly(self, to):
        """Fly away."""

    def _land(self): ...


if True:
    def under_a_condition(): ...
'''


def found(name: str) -> Found:
    return Found(name, f"pypi:tern@1.0/{name}", "1", media="text/x-python-api")


def read(text: str, name: str = "tern/birds.py") -> Document:
    (document,) = PythonApi().parse(found(name), text.encode())
    assert isinstance(document, Document)
    return document


def text_of(document: Document) -> str:
    return "\n".join(block.text for section in document.sections for block in section.blocks)


class TestContract(ParserContract):
    samples: ClassVar = {"tern/birds.py": MODULE.encode(), "tern/birds.pyi": b"def find(name: str) -> int: ...\n"}

    @pytest.fixture
    def parser(self) -> Parser:
        return PythonApi()


def test_signatures_and_docstrings_are_read() -> None:
    document = read(MODULE)
    assert (document.title, document.kind, document.fields) == ("tern.birds", "api", {"language": "python"})
    assert [section.headings for section in document.sections] == [
        ("tern.birds",),
        ("tern.birds", "find"),
        ("tern.birds", "Bird"),
        ("tern.birds", "Bird", "Bird.__init__"),
        ("tern.birds", "Bird", "Bird.fly"),
        ("tern.birds", "under_a_condition"),
    ]
    text = text_of(document)
    for part in (
        "Birds of the coast.",
        "LIMIT: int = 5",
        "@lru_cache\ndef find(name: str, *, near: float=1.5) -> 'Bird'",
        ":param near: kilometres",
        "class Bird(Animal, Meta)",
        "wings: int = 2",
        "async def fly(self, to)",
    ):
        assert part in text


def test_bodies_private_names_and_long_values_are_left_out() -> None:
    text = text_of(read(MODULE))
    assert "TABLE" in text
    for part in ("secret_of_the_body", "_hidden", "_land", "that is left out"):
        assert part not in text


def test_sections_know_their_lines() -> None:
    (find,) = [section for section in read(MODULE).sections if section.headings[-1] == "find"]
    assert [block.place.lines for block in find.blocks] == [(11, 11), (12, 15), (12, 15)]


def test_a_package_has_the_name_of_its_folder() -> None:
    assert read("def fly(): ...", "tern/__init__.py").title == "tern"


def test_a_module_without_api_is_no_document() -> None:
    assert list(PythonApi().parse(found("tern/x.py"), b"import os\n_a = 1\n")) == []


def test_what_is_not_python_is_skipped() -> None:
    (skipped,) = PythonApi().parse(found("tern/x.py"), b"print 'old'\n")
    assert isinstance(skipped, Skipped)
    assert "not a Python module" in skipped.reason


def test_nothing_is_run() -> None:
    assert "fly" in text_of(read("raise SystemExit('run')\ndef fly(): ...\n"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["x = " + "(" * 100_000, "x = " + "-" * 500_000 + "1", "def f(a=" + "[" * 90 + "]" * 90 + "): ..."]
)
def test_hostile_modules_are_read_or_refused_in_the_child(text: str) -> None:
    process = ParserProcess()
    with closing(process), suppress(ReaderFailed):
        for one in process.parse("python_api", {}, found("tern/x.py"), text.encode()):
            assert isinstance(one, Document | Skipped)
    assert process.parse("python_api", {}, found("tern/x.py"), MODULE.encode())  # another child reads the next file
    process.close()
