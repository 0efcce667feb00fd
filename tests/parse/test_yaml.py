from __future__ import annotations

from typing import Any, ClassVar

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse.yaml import Yaml
from watersmeet.testing.contracts.parser import ParserContract

FOUND = Found("conf/settings.yaml", "/root/conf/settings.yaml", "0")


class TestContract(ParserContract):
    samples: ClassVar = {
        "settings.yaml": b"name: tides\nserver:\n  port: 7878\n  hosts: [a, b]\n---\nkind: second\n",
        "template.yaml": b"a: {{ .Values.x }}\n{{- if y }}\nb: 1\n{{- end }}\n",
    }

    @pytest.fixture
    def parser(self) -> Parser:
        return Yaml()


def read(text: str, **options: Any) -> Document:
    (document,) = Yaml(**options).parse(FOUND, text.encode())
    assert isinstance(document, Document)
    return document


def shown(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(s.headings, "\n--\n".join(block.text for block in s.blocks)) for s in read(text).sections]


def test_values_are_as_they_are_written():
    text = "python: 3.10\non: push\ndate: 2024-03-05\noctal: 0755\nnothing: ~\nsecret: !vault abc\ntime: 12:30\n"
    assert shown(text) == [
        ((), "python: 3.10\non: push\ndate: 2024-03-05\noctal: 0755\nnothing: ~\nsecret: abc\ntime: 12:30")
    ]
    assert read("title: Tides\ndate: 2024-03-05\n").created is not None


def test_a_key_is_a_section():
    text = "jobs:\n  test:\n    steps:\n      - run: make\n      - uses: checkout@v4\n"
    assert shown(text) == [(("jobs",), "jobs.test.steps[0].run: make\njobs.test.steps[1].uses: checkout@v4")]


def test_several_documents_in_one_file():
    text = (
        "kind: Service\nmetadata:\n  name: web\n---\nkind: Deployment\nmetadata:\n  name: web\n  labels: {app: web}\n"
    )
    assert shown(text) == [
        ((), "kind: Service"),
        (("metadata",), "metadata.name: web"),
        ((), "kind: Deployment"),
        (("metadata",), "metadata.name: web\n--\nmetadata.labels.app: web"),
    ]


def test_many_documents_are_capped():
    assert read("---\na: 1\n" * 1001).warnings == ("more than 1,000 documents; the others are left out",)


def test_aliases_are_written_out():
    assert shown("base: &b\n  x: 1\nother: *b\n") == [(("base",), "base.x: 1"), (("other",), "other.x: 1")]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 10)}]\n" for before, name in zip("abcdefg", "bcdefgh", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "has more than 1,000,000 values, aliases written out"),
        ("a: &a\n  b: *a\n", "refers to itself"),
        ("[" * 100_000, "is nested too deeply"),
        ("- " * 50_000 + "x", "is nested too deeply"),
    ],
    ids=["bomb", "cycle", "brackets", "dashes"],
)
def test_bombs_are_refused(text: str, reason: str):
    (skipped,) = Yaml().parse(FOUND, text.encode())
    assert isinstance(skipped, Skipped)
    assert skipped.reason.startswith(reason)


def test_an_alias_used_often_is_capped():
    document = read("a: &a [{k: x y}, {k: y}]\n" + "".join(f"b{n}: *a\n" for n in range(30_000)), max_values=1000)
    assert document.warnings == ("more than 1,000 values; the others are left out",)


def test_a_template_is_plain_text():
    document = read("a: {{ .Values.x }}\n{{- if y }}\nb: 1\n{{- end }}\n")
    assert ".Values.x" in document.sections[0].blocks[0].text
    assert document.warnings == ()
    assert read("a: b: c\n").warnings == (
        "not valid YAML: mapping values are not allowed in this context (line 1); read as plain text",
    )


def test_no_object_is_built():
    document = read("a: !!python/object/apply:os.system ['echo x']\n")
    assert document.sections[0].blocks[0].text == "a: echo x"


@pytest.mark.parametrize("name", ["pnpm-lock.yaml", "x/conda-lock.yml"])
def test_a_lock_file_is_not_read(name: str):
    (skipped,) = Yaml().parse(Found(name, f"/{name}", "0"), b"a: 1")
    assert skipped == Skipped(f"/{name}", "a lock file or generated data")
