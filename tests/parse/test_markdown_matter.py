from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notes import all_text, read
from watersmeet.core.indexing import Found, Skipped
from watersmeet.parse.markdown import Markdown


def test_front_matter_becomes_json_fields():
    document = read(
        "---\ntitle: T\ncreated: 2024-01-05\nwhen: 2024-01-05T10:00:00+02:00\n7: one\ntrue: yes\n"
        "nested: {a: [1, 2.5, null]}\nnever: .inf\nraw: !!binary aGk=\nodd: !!set {x}\n---\nbody"
    )
    assert document.fields == {
        "title": "T",
        "created": "2024-01-05",
        "when": "2024-01-05T10:00:00+02:00",
        "7": "one",
        "true": True,
        "nested": {"a": [1, 2.5, None]},
        "never": ".inf",
        "raw": "b'hi'",
        "odd": ["x"],
    }
    json.dumps(document.fields, allow_nan=False).encode()
    assert all_text(document) == "body"
    assert document.warnings == ()


def test_a_number_is_one_if_it_is_written_like_one():
    matter = "version: 1.10\ncode: 007\ntime: 12:30\nrating: 4\nscore: 4.5\nless: -3\nbig: 1_000\n"
    assert read(f"---\n{matter}---\nbody").fields == {
        "version": "1.10",
        "code": "007",
        "time": "12:30",
        "rating": 4,
        "score": 4.5,
        "less": -3,
        "big": "1_000",
    }


@pytest.mark.parametrize(
    ("matter", "aliases"),
    [
        ("aliases: [Foo Bar, Baz]", ("Foo Bar", "Baz")),
        ("alias: Foo Bar", ("Foo Bar",)),
        ("aliases: Foo, Bar", ("Foo", "Bar")),
        ("aliases:\n- 42\n- Foo\n- Foo", ("42", "Foo")),
    ],
)
def test_aliases(matter: str, aliases: tuple[str, ...]):
    assert read(f"---\n{matter}\n---\n").aliases == aliases


@pytest.mark.parametrize(
    ("matter", "modified", "created"),
    [
        ("date: 2024-01-05", None, datetime(2024, 1, 5, tzinfo=UTC)),
        (
            "date: 2024-01-05\nmodified: 2024-02-01T10:00:00+02:00",
            datetime(2024, 2, 1, 8, tzinfo=UTC),
            datetime(2024, 1, 5, tzinfo=UTC),
        ),
        ("updated: soon\ncreated: '2023-12-31 23:59:59'", None, datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("lastModified: 2024-01-05", datetime(2024, 1, 5, tzinfo=UTC), None),
        ("last-modified: 2024-01-05", datetime(2024, 1, 5, tzinfo=UTC), None),
        ("date updated: 2024-01-05", datetime(2024, 1, 5, tzinfo=UTC), None),
        ("updated_at: 2024-01-05", datetime(2024, 1, 5, tzinfo=UTC), None),
        ("lastmod: 2024-01-05\nUpdated: 2024-01-06", datetime(2024, 1, 6, tzinfo=UTC), None),
        ("dateCreated: 2024-01-05\npublished: 2024-01-06", None, datetime(2024, 1, 5, tzinfo=UTC)),
        ("date: 2024-13-45", None, None),
        ("date: 0001-01-01T00:00:00+14:00", None, None),
        ("date: 17", None, None),
        ("other: 2024-01-05", None, None),
    ],
)
def test_modified_and_created(matter: str, modified: datetime | None, created: datetime | None):
    document = read(f"---\n{matter}\n---\n")
    assert (document.modified, document.created) == (modified, created)
    assert document.warnings == ()


def test_toml_front_matter():
    document = read('+++\ntitle = "T"\ndate = 2024-01-05T10:00:00Z\ntags = ["a"]\n+++\n# H\ntext')
    assert (document.title, document.tags) == ("T", ("a",))
    assert document.created == datetime(2024, 1, 5, 10, tzinfo=UTC)
    assert document.sections[0].line == 6


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("---\ntitle: [unclosed\nok: 1\n---\n\n# Body\n\nwords", "front matter is not valid YAML: line 3"),
        ("---\ntitle: {{ template }}\n---\n# Body\n\nwords", "front matter is not valid YAML: line 2"),
        ("---\njust a sentence\n---\n# Body\n\nwords", "front matter is not a mapping"),
        ("+++\nno equals\n+++\n# Body\n\nwords", "front matter is not valid TOML"),
        ("---\nx: !!python/object:os.system {}\n---\n# Body\n\nwords", "front matter is not valid YAML"),
        (f"---\nx: {'[' * 5000}\n---\n# Body\n\nwords", "front matter is nested too deeply"),
        (f"---\n{'- ' * 5000}x\n---\n# Body\n\nwords", "front matter is nested too deeply"),
        (
            "---\n0: &b0 [x]\n"
            + "".join(f"{n}: &b{n} [{f'*b{n - 1}, ' * 9}]\n" for n in range(1, 9))
            + "---\n# Body\n\nwords",
            "front matter has more than 100,000 values, aliases written out",
        ),
        ("---\na: &a [*a]\n---\n# Body\n\nwords", "front matter refers to itself"),
        (f"---\nx: {'y' * 70_000}\n---\n# Body\n\nwords", "front matter is larger than 64 KiB"),
    ],
)
def test_broken_front_matter_is_a_warning_and_its_text_is_kept(text: str, warning: str):
    document = read(text)
    assert len(document.warnings) == 1
    assert document.warnings[0].startswith(warning)
    assert document.fields == {}
    assert document.sections[-1].headings == ("Body",)
    assert "words" in all_text(document)
    assert document.sections[0].blocks[0].text.startswith(text.split("\n")[1])
    assert document.sections[0].blocks[0].place.lines[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        "\n---\ntitle: T\n---\n",
        "text\n\n---\ntitle: T\n---\n",
        "---\n\nA rule, then text.\n\n---\n\nmore",
        "---\ntitle: T\nnever closed",
    ],
)
def test_what_is_not_front_matter(text: str):
    document = read(text)
    assert document.fields == {}
    assert document.warnings == ()
    assert document.sections


@pytest.mark.parametrize("text", ["---\n---\nbody", "---\n# only a comment\n...\nbody"])
def test_empty_front_matter(text: str):
    document = read(text)
    assert (document.fields, document.warnings, all_text(document)) == ({}, (), "body")


def test_an_impossible_number_or_date_stays_text():
    document = read("---\na: 2024-13-45\nb: 9" + "9" * 5000 + "\n---\n")
    assert document.fields["a"] == "2024-13-45"
    assert document.warnings == ()
    json.dumps(document.fields)


# ---------------------------------------------------------------- hostile input


def test_binary_is_skipped_with_its_reason():
    (skipped,) = Markdown().parse(Found("x.md", "/root/x.md", "0"), bytes(range(256)) * 10)
    assert skipped == Skipped("/root/x.md", "binary")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "\n\n".join(f"## Heading {n}\n\ntext" for n in range(5000)),
        "\n".join("  " * n + "- x" for n in range(500)),
        "> " * 500 + "x",
        "*a " * 100_000,
        "[" * 200_000,
        "[[" * 100_000,
        "![[a|" * 50_000,
        "[a](" * 50_000,
        "<" * 200_000,
        "`" * 100_000 + "x",
        "|a" * 5000 + "\n" + "|-" * 5000 + "\n" + "|\n" * 500,
        "#a " * 50_000,
        "#" * 200_000,
    ],
    ids=lambda text: text[:6],
)
def test_awkward_input_is_read_in_reasonable_time(text: str):
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 4


@pytest.mark.slow
def test_a_line_of_50_megabytes():
    start = time.process_time()
    document = read("# H\n\n" + "[[x]] *y " * 5_600_000 + "\n\nafter")
    assert time.process_time() - start < 6
    assert document.warnings[0].startswith("line 3 is longer than")
    assert [len(block.text) for block in document.sections[0].blocks] == [9 * 5_600_000, 5]


def test_the_text_of_an_endless_heading_is_kept():
    document = read("# " + "word " * 50_000)
    assert len(document.sections[0].headings[0]) <= 500
    assert all_text(document).count("word") == 50_000


# ---------------------------------------------------------------- invariants

pieces = st.sampled_from(
    [
        *(
            "# ",
            "## ",
            "\n",
            "\n\n",
            "```\n",
            "~~~\n",
            "- ",
            "    ",
            "> ",
            "| a |\n|---|\n",
            "[[a|b]]",
            "![[",
        ),
        *("]]", "[x](y)", "#tag ", "---\n", "+++\n", "a: [b\n", "<!-- ", "-->", "*", "`", "\\", "\t", "\r"),
        *(
            "\u2028",
            "é",
            "😀",
            "word ",
            "[r]: z\n",
            "===\n",
            "<div>\n",
            "\x0b",
            "\x0c",
            "\x85",
            "&#35;",
            "{#x}",
        ),
    ]
)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.lists(pieces | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_is_read_with_sound_lines(text: str):
    (document,) = Markdown().parse(Found("n.md", "n.md", "0"), text.encode())
    if isinstance(document, Skipped):
        return
    last_line = 1 + text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    at = 0
    for section in document.sections:
        assert len(section.headings) <= section.level or section.level == 0
        assert at <= section.line <= last_line
        for block in section.blocks:
            first, last = block.place.lines
            assert at < first <= last <= last_line or first == section.line
            assert block.text.strip()
            assert block.text.count("\n") == last - first
            at = last
    json.dumps(document.fields, allow_nan=False)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(st.lists(st.from_regex(r"[a-z]{1,8}( [a-z]{1,8}){0,5}", fullmatch=True), min_size=1, max_size=20))
def test_no_word_is_lost(paragraphs: list[str]):
    assert all_text(read("\n\n".join(paragraphs))).split() == " ".join(paragraphs).split()
