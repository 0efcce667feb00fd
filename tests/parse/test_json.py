from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse.json import Json
from watersmeet.testing.contracts.parser import ParserContract

FOUND = Found("conf/settings.json", "/root/conf/settings.json", "0")


class TestContract(ParserContract):
    samples: ClassVar = {
        "settings.json": b'{"name": "tides", "server": {"port": 7878, "hosts": ["a", "b"]}}',
        "broken.json": b'{\n  // a comment\n  "a": 1\n}\n',
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Json()


def read(value: Any, **options: Any) -> Document:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    (document,) = Json(**options).parse(FOUND, content)
    assert isinstance(document, Document)
    return document


def shown(value: Any, **options: Any) -> list[tuple[tuple[str, ...], str]]:
    """Heading path and text of each section."""
    sections = read(value, **options).sections
    return [(section.headings, "\n--\n".join(block.text for block in section.blocks)) for section in sections]


def test_a_key_is_a_section_and_values_are_lines():
    value = {
        "name": "tides",
        "version": "1.10",
        "private": True,
        "none": None,
        "server": {"port": 7878, "tls": {"cert": "a.pem", "on": False}, "hosts": ["a", "b"]},
        "files": ["x", "y"],
        "empty": {},
    }
    document = read(value)
    assert (document.title, document.id, document.kind) == ("tides", "conf/settings.json", "document")
    assert document.fields == {"name": "tides", "version": "1.10", "private": True}
    assert shown(value) == [
        ((), "name: tides\nversion: 1.10\nprivate: true"),
        (
            ("server",),
            "server.port: 7878\n--\nserver.tls.cert: a.pem\nserver.tls.on: false\n--\nserver.hosts: a, b",
        ),
        (("files",), "files: x, y"),
    ]


def test_named_objects_of_a_list_are_sections():
    value = {"tools": [{"name": "get_tide", "description": "Level now"}, {"name": "list_ports", "args": {"n": 1}}]}
    assert shown(value) == [
        (("tools",), ""),
        (("tools", "get_tide"), "name: get_tide\ndescription: Level now"),
        (("tools", "list_ports"), "name: list_ports\n--\nargs.n: 1"),
    ]
    assert shown([{"id": 7, "text": "x"}]) == [(("7",), "id: 7\ntext: x")]


def test_lines_are_those_of_the_keys():
    value = {"name": "server", "server": {"name": "port"}, "port": [{"name": "a b"}, {"name": "c"}], "server ": [1]}
    text = json.dumps(value, indent=1)
    lines = text.split("\n")
    found = [(s.headings, lines[(s.line or 0) - 1].strip()) for s in read(text.encode()).sections]
    assert found == [
        ((), '"name": "server",'),
        (("server",), '"server": {'),
        (("port",), '"port": ['),
        (("port", "a b"), '"name": "a b"'),
        (("port", "c"), '"name": "c"'),
        (("server ",), '"server ": ['),
    ]


def test_keys_that_are_not_found_cost_little():
    value = {f'"{n}': {"x": 1} for n in range(20_000)}  # a quote is written with a backslash
    document = read({**value, "end": {"x": 1}}, max_values=50_000)
    assert len(document.sections) == 20_001


def test_other_objects_of_a_list_are_blocks():
    assert shown({"rules": [{"if": "a"}, {"if": "b"}]}) == [(("rules",), "rules[0].if: a\n--\nrules[1].if: b")]


def test_a_value_alone_is_text():
    assert shown("just text") == [((), "just text")]
    assert shown([1, 2]) == [((), "1, 2")]


def test_data_is_cut():
    document = read({"embedding": list(range(5000)), "picture": "A" * 5000, "words": ["x y"] * 30})
    text = [block.text for section in document.sections for block in section.blocks]
    assert text == [
        "picture: " + "A" * 300 + "…",
        "embedding: 0, 1, 2, 3, 4, … (5,000 values)",
        "words: " + ", ".join(["x y"] * 30),
    ]
    assert document.warnings == ("long lists of numbers are cut",)


def test_values_are_capped():
    document = read({"list": [{"a": n} for n in range(1000)]}, max_values=10)
    assert document.warnings == ("more than 10 values; the others are left out",)
    assert len(document.sections[0].blocks) == 10


def test_depth_is_capped():
    document = read(b'{"a": ' * 500 + b"1" + b"}" * 500)
    assert document.warnings == ("values nested more than 64 deep are left out",)


@pytest.mark.parametrize("name", ["package-lock.json", "a/b/npm-shrinkwrap.json", "x.min.json", "Package-Lock.json"])
def test_a_lock_file_is_not_read(name: str):
    (skipped,) = Json().parse(Found(name, f"/{name}", "0"), b'{"a": 1}')
    assert skipped == Skipped(f"/{name}", "a lock file or generated data")


def test_json_with_comments_is_plain_text():
    document = read(b'{\n  // a comment\n  "strict": true\n}\n')
    assert document.sections[0].blocks[0].text == '{\n  // a comment\n  "strict": true\n}'
    assert document.sections[0].line == 1
    (warning,) = document.warnings
    assert warning.startswith("not valid JSON: ")
    assert warning.endswith(" (line 2); read as plain text")


def test_an_empty_file_has_no_sections():
    document = read(b" \n")
    assert (document.title, document.sections, document.warnings) == ("settings", (), ())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"9" * 10_000, "not JSON: a number is too long"),
        (b'{"a": 1, ' + b'"x": 2, ' * 100_000, "not valid JSON: "),
        (b"\0\1", "binary"),
    ],
)
def test_what_cannot_be_read_is_skipped(content: bytes, reason: str):
    (skipped,) = Json().parse(FOUND, content)
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith(reason)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.text(max_size=3)
                | st.sampled_from(
                    "openapi info paths /a get parameters responses components schemas properties type $ref allOf items"
                    " enum required name id $schema definitions content schema tags description".split()
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_read(value: Any):
    for part in (value, {"openapi": "3", "paths": {"/a": {"get": value}}, "components": {"schemas": {"A": value}}}):
        document = read(part)
        json.dumps(document.fields, allow_nan=False).encode()
        for section in document.sections:
            for text in (*section.headings, *(block.text for block in section.blocks)):
                text.encode()
