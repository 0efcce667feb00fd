"""Source code: units, doc comments, lines, imports, and files that nobody wrote."""

from __future__ import annotations

import builtins
import textwrap
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from code_samples import SAMPLES, Sample
from watersmeet.chunk.headings import Headings
from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Parser, Skipped
from watersmeet.parse import _definitions
from watersmeet.parse._languages import LANGUAGES, language_of
from watersmeet.parse._layout import layout
from watersmeet.parse.code import Code
from watersmeet.testing.contracts.parser import ParserContract

PYTHON = next(sample for sample in SAMPLES if sample.language == "python")


def read(name: str, source: str | bytes, parser: Code | None = None) -> Document | Skipped:
    content = source.encode() if isinstance(source, str) else source
    (one,) = (parser or Code()).parse(Found(name, f"/srv/{name}", "1"), content)
    return one


def document(name: str, source: str | bytes, parser: Code | None = None) -> Document:
    one = read(name, source, parser)
    assert isinstance(one, Document)
    return one


def check_lines(parsed: Document, source: str) -> None:
    """Every line that is not blank is in exactly one block, as it is written."""
    lines = source.split("\n")
    seen: list[int] = []
    for section in parsed.sections:
        assert section.level == 0
        for block in section.blocks:
            assert block.place.lines
            first, last = block.place.lines
            assert block.text == "\n".join(lines[first - 1 : last])
            seen += range(first, last + 1)
    assert seen == sorted(set(seen))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(seen)


def long(text: str, lines: int = 60) -> str:
    return "".join(f"    {text}{n} = {n} * 17  # a line of some length\n" for n in range(lines))


@pytest.fixture
def no_grammars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    original = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("tree_sitter"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    _definitions._grammar.cache_clear()
    yield
    _definitions._grammar.cache_clear()


class TestContract(ParserContract):
    samples: ClassVar = {sample.file: sample.source.encode() for sample in SAMPLES}

    @pytest.fixture
    def parser(self) -> Parser:
        return Code()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.file)
class TestLanguages:
    def test_units_have_their_signature_their_comment_and_their_lines(self, sample: Sample) -> None:
        language = language_of(sample.file, sample.source)
        assert language is not None
        assert language.name == sample.language
        outline = _definitions.outline(language, sample.source, sample.source.split("\n"))
        assert outline is not None
        assert tuple((one.signature, one.first + 1, one.last + 1) for one in outline.definitions) == sample.units

    def test_no_line_is_lost(self, sample: Sample) -> None:
        for size in (0, 80):
            parsed = document(sample.file, sample.source, Code(max_chars=size))
            check_lines(parsed, sample.source)
            assert (parsed.kind, parsed.title, parsed.fields) == ("code", sample.file, {"language": sample.language})

    def test_no_line_is_lost_without_a_grammar(self, sample: Sample, no_grammars: None) -> None:
        check_lines(document(sample.file, sample.source), sample.source)


def test_every_language_with_a_grammar_has_a_sample() -> None:
    assert {language.name for language in LANGUAGES if language.grammar} == {sample.language for sample in SAMPLES}
    assert len(SAMPLES) >= 24


def test_no_file_belongs_to_two_languages() -> None:
    files = [file for language in LANGUAGES for file in language.files.split()]
    assert len(files) == len(set(files))


class TestSections:
    def test_a_small_class_is_one_section_and_a_large_one_has_a_section_for_each_method(self) -> None:
        small = "class Gauge:\n    size = 1\n\n    def read(self):\n        return 1\n"
        assert [one.headings for one in document("a.py", small).sections] == [("class Gauge",)]
        read, stop = (
            f"    def {name}(self):\n{textwrap.indent(long(name, 25), '    ')}\n" for name in ("read", "stop")
        )
        large = f"class Gauge:\n    size = 1\n{'    # why' * 20}\n\n{read}{stop}"
        headings = [("class Gauge",), ("Gauge", "def read(self)"), ("Gauge", "def stop(self)")]
        assert [one.headings for one in document("a.py", large).sections] == headings

    def test_a_long_function_is_cut_where_little_is_indented_and_keeps_its_heading(self) -> None:
        source = f"def first():\n{long('a', 25)}\n{long('b', 25)}\n{long('c', 25)}"
        parsed = document("a.py", source)
        check_lines(parsed, source)
        assert {one.headings for one in parsed.sections} == {("def first()",)}
        assert len(parsed.sections) > 1
        assert all(len(block.text) <= 1_600 for one in parsed.sections for block in one.blocks)
        assert [one.blocks[0].text.split()[0] for one in parsed.sections] == ["def", "b0", "c0"]

    def test_small_units_share_a_section_that_names_them(self) -> None:
        source = "".join(f"def part{n}():\n    return {n}\n\n\n" for n in range(4))
        (section,) = document("a.py", source).sections
        assert section.headings == ("part0, part1, part2, part3",)

    def test_imports_and_constants_are_a_section_without_heading(self) -> None:
        source = "import re\n\nLIMIT = 3\nNAMES = (1, 2)\n" + "# a comment that is long enough to stay\n" * 5
        source += f"\n\ndef work():\n{long('a', 6)}"
        assert [one.headings for one in document("a.py", source).sections] == [(), ("def work()",)]

    def test_closing_brackets_stay_with_what_they_close(self) -> None:
        body = "".join(f"        int value{n} = {n} * 17; // a line of some length\n" for n in range(20))
        source = f"class A {{\n    void b() {{\n{body}    }}\n    void c() {{\n{body}    }}\n}}\n"
        parsed = document("A.java", source)
        check_lines(parsed, source)
        assert parsed.sections[-1].blocks[0].text.endswith("    }\n}")

    def test_the_chunker_neither_joins_nor_cuts(self) -> None:
        for sample in SAMPLES:
            parsed = document(sample.file, sample.source, Code(max_chars=200))
            chunks = Headings().split(parsed)
            assert [(chunk.headings, chunk.text, chunk.place) for chunk in chunks] == [
                (one.headings, one.blocks[0].text, one.place) for one in parsed.sections
            ]

    def test_functions_inside_of_a_long_function_are_found(self) -> None:
        source = f"function app() {{\n{long('a', 20)}\n  function inner(x) {{\n{long('b', 20)}  }}\n}}\n"
        assert ("app", "function inner(x)") in [one.headings for one in document("a.js", source).sections]

    def test_a_call_with_a_function_is_named_by_its_other_arguments(self) -> None:
        inner = "".join(f"  it('step {n}', async () => {{\n{long('a', 12)}  }});\n" for n in range(6))
        source = (
            f"describe('the tide', function () {{\n{inner}}});\nconst z = make('z', (a, b) => {{\n{long('b', 9)}}});\n"
        )
        parsed = document("a.test.js", source)
        check_lines(parsed, source)
        steps = [("describe('the tide')", f"it('step {n}')") for n in range(6)]
        assert [one.headings for one in parsed.sections] == [*steps, ("z = make('z')",)]


class TestHeaders:
    def test_a_header_is_c_or_c_plus_plus(self) -> None:
        assert document("a.h", "int a(void);\n").fields == {"language": "c"}
        assert document("a.h", "namespace a { class B; }\n").fields == {"language": "c++"}

    def test_whole_names(self) -> None:
        makefile = document("sub/Makefile", "# Builds all.\nall: a.o\n\tcc a.o\n\na.o: a.c\n\tcc -c a.c\n")
        assert makefile.fields == {"language": "make"}
        assert makefile.sections[0].headings == ("all, a.o",)
        assert document("Dockerfile", "FROM debian\n").fields == {"language": "dockerfile"}


IMPORTS = {
    "a.py": (
        "from . import units\nfrom .ports.coast import Port as P, near\nimport json, requests as r\n"
        "from tides.gauge import (\n    Gauge,  # a comment\n    read,\n)\nfrom .. import top\nfrom os import path\n",
        ".units .ports.coast .ports.coast.near requests .requests tides.gauge tides.gauge.read .. ..top",
    ),
    "a.ts": (
        "import { a } from './lib';\nimport {\n  b,\n} from \"../b\";\nimport './style.css';\nexport * from './c';\n"
        "const d = require('./d');\nconst e = await import('./e');\n// import x from './no'\n"
        "const text = \"import y from './no'\";\n",
        "./lib ../b ./style.css ./c ./d ./e",
    ),
    "a.go": (
        'package a\n\nimport "fmt"\nimport (\n\t"net/http"\n\tu "a.org/b/units"\n)\n\nfunc a() { b("a.org/c") }\n',
        "fmt net/http a.org/b/units",
    ),
    "a.rs": ("use std::fmt;\n", ""),
}


@pytest.mark.parametrize("name", IMPORTS)
class TestImports:
    def test_by_the_grammar(self, name: str) -> None:
        source, targets = IMPORTS[name]
        links = document(name, source).links
        assert [link.target for link in links] == targets.split()
        assert {link.type for link in links} <= {"import"}

    def test_by_the_layout(self, name: str, no_grammars: None) -> None:
        source, targets = IMPORTS[name]
        assert [link.target for link in document(name, source).links] == targets.split()


BY_LAYOUT = set(
    "bash c# dart elixir go groovy java javascript kotlin lua php powershell python ruby rust scala solidity swift tsx"
    " typescript".split()
)
"""Languages whose sample has the same outermost units by its layout."""


class TestLayout:
    def test_definitions_are_found_by_lines_and_indentation(self) -> None:
        right = set()
        for sample in SAMPLES:
            definitions = layout(sample.source.split("\n")).definitions
            if {(one.first + 1, one.last + 1) for one in definitions} >= {unit[1:] for unit in sample.units}:
                right.add(sample.language)
        assert right >= BY_LAYOUT

    def test_languages_without_a_grammar(self) -> None:
        source = "# Height of the water.\nheight <- function(hour) {\n  sin(hour)\n}\n" + "x <- 1\n" * 40
        assert document("a.R", source).sections[0].headings == ("height <- function(hour)",)


class TestMachineMade:
    @pytest.mark.parametrize("name", ["a.min.js", "vendor/b-min.js", "app.bundle.js"])
    def test_minified_by_name(self, name: str) -> None:
        assert read(name, "var a=1") == Skipped(f"/srv/{name}", "minified code")

    def test_minified_by_its_lines(self) -> None:
        one = read("a.js", "var a=1;" * 3_000)
        assert isinstance(one, Skipped)
        assert "very long lines" in one.reason

    def test_generated_and_large(self) -> None:
        source = "// Code generated by protoc. DO NOT EDIT.\npackage a\n" + "var a = 1\n" * 20_000
        assert read("a.go", source) == Skipped("/srv/a.go", "generated code")
        assert document("a.go", source[:10_000])
        assert document("a.go", source, Code(generated=True))


class TestHostile:
    def test_a_hundred_thousand_brackets(self) -> None:
        parsed = document("a.js", "\n".join(["((((((((((" * 10] * 1_000))
        assert parsed.warnings == ("more than 10,000 brackets are open at once: cut by its layout, not by its grammar",)

    def test_brackets_within_the_limit(self) -> None:
        depth = 9_000
        source = "x = " + "\n".join(["(" * 90] * (depth // 90)) + "1" + "\n".join([")" * 90] * (depth // 90)) + "\n"
        for name in ("a.py", "a.js", "a.rs", "a.cpp", "a.hs"):
            check_lines(document(name, source), source)

    def test_a_large_file_is_read_by_its_layout(self) -> None:
        source = "def work():\n    return 'some text of a line'\n" * 50_000
        parsed = document("a.py", source)
        assert parsed.warnings[0] == "larger than 2 MB: cut by its layout, not by its grammar"
        check_lines(parsed, source)

    def test_too_many_definitions(self) -> None:
        parsed = document("a.py", "def a(): 1\n" * 21_000)
        assert parsed.warnings == ("only the first 20,000 definitions have a section of their own",)

    def test_definitions_nested_deep(self) -> None:
        source = "".join(f"{' ' * n}class A{n}:\n" for n in range(300)) + " " * 300 + "pass\n"
        check_lines(document("a.py", source), source)

    def test_other_encodings(self) -> None:
        parsed = document("a.py", "# Möwe\ndef a():\n    return 'ä'\n".encode("latin-1"))
        assert "decoded as cp1252" in parsed.warnings
        assert isinstance(read("a.py", bytes(range(256)) * 9), Skipped)
        wide = document("a.py", "def möwe(ä):\n    return '🌊'\n".encode())
        assert wide.sections[0].headings == ("def möwe(ä)",)


STATEMENTS = st.sampled_from(
    [
        *(
            "def a(b):",
            "class A:",
            "    def c(self):",
            "        return 1",
            "x = 1",
            "",
            "   ",
            "# note",
            '"""',
            "@d",
            "}",
        ),
        *("function a() {", "const f = () => {", "  }", "})", "(", "\x0c", "é = '漢'", "/* c", "*/", "\tdeep()"),
        *("public class A {", "    int b(int c) {", "impl A for B {", "fn a() {", "#if 1", "#endif", "x" * 90),
    ]
)


@given(
    st.lists(STATEMENTS, max_size=60), st.sampled_from([sample.file for sample in SAMPLES]), st.sampled_from([40, 0])
)
def test_any_lines_are_each_in_one_block(lines: list[str], name: str, size: int) -> None:
    source = "\n".join(lines)
    parsed = document(name, source, Code(max_chars=size))
    check_lines(parsed, source)


def test_a_comment_is_no_part_of_a_signature() -> None:
    source = "def check(self, request):  # access the secret\n    # by its name\n    return 1\n"
    [document] = Code().parse(Found("a.py", "/a.py", "1"), source.encode())
    assert isinstance(document, Document)
    assert document.sections[0].headings == ("def check(self, request)",)
