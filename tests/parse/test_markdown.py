from __future__ import annotations

import pytest

from notes import all_text, headings, read
from watersmeet.core.documents import Block, Link
from watersmeet.core.place import Place

# ---------------------------------------------------------------- structure


def test_sections_carry_path_level_line_and_blocks():
    document = read("before\n\n# A\n\none\ntwo\n\n## B\n\n- x\n  - y\n\n### C\n## D\ntext")
    assert [(s.headings, s.level, s.line) for s in document.sections] == [
        ((), 0, 1),
        (("A",), 1, 3),
        (("A", "B"), 2, 8),
        (("A", "B", "C"), 3, 13),
        (("A", "D"), 2, 14),
    ]
    assert [s.blocks for s in document.sections] == [
        (Block("before", Place((1, 1))),),
        (Block("one\ntwo", Place((5, 6))),),
        (Block("- x\n  - y", Place((10, 11))),),
        (),
        (Block("text", Place((15, 15))),),
    ]


def test_each_top_level_block_is_one_block_of_source():
    blocks = [
        "para *with* `code`",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```py\n# no heading\n\nx = 1\n```",
        "> quote\n> # still quote",
        "    indented code",
        "<div>\n  html\n</div>",
        "[^1]: a note",
        "1. one\n\n   # inner heading\n\n2. two",
        "[ref]: target.md",
    ]
    document = read("\n\n".join(blocks) + "\n")
    (section,) = document.sections
    assert [block.text for block in section.blocks] == blocks
    assert section.headings == ()


def test_block_lines_count_from_the_start_of_the_file_also_behind_front_matter():
    document = read("---\ntitle: T\n---\n\n# H\n\nfirst\nsecond\n\nthird")
    assert document.sections[0].line == 5
    assert [b.place.lines for b in document.sections[0].blocks] == [(7, 8), (10, 10)]


def test_setext_headings_and_a_rule():
    document = read("Top\n===\n\ntext\n\n---\n\nSub\nline\n---\nmore")
    assert headings(document) == [("Top",), ("Top", "Sub line")]
    assert all_text(document) == "text\nmore"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("## Title {#anchor}", "Title"),
        ("## Title { #anchor .class }", "Title"),
        ("## The `code` and *stress* and [link](x.md) ##", "The code and stress and link"),
        ("## GET /users/{id}", "GET /users/{id}"),
        ('## {{% heading "whatsnext" %}}', "whatsnext"),
        ("## C# and F#", "C# and F#"),
        ("## [[Note|shown]]", "shown"),
        ("##", ""),
    ],
)
def test_heading_text_is_plain(written: str, text: str):
    assert headings(read(written)) == [(text,)]


def test_headings_in_lists_and_quotes_make_no_section():
    assert headings(read("- # in a list\n\n> # in a quote\n\n# real\n")) == [(), ("real",)]


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "   ```"])
def test_nothing_inside_a_fence_is_read(fence: str):
    inside = "# not a heading\n[[not-a-link]] ![[nor-this]] [x](y.md)\n#not-a-tag\n"
    document = read(f"# Real\n\n{fence}\n{inside}{fence}\n")
    assert headings(document) == [("Real",)]
    assert document.links == ()
    assert document.tags == ()
    assert "not-a-tag" in all_text(document)


def test_nothing_inside_inline_or_indented_code_is_read():
    document = read("`[[a]] #b` and ``#c [x](y.md)``\n\n    [[d]] #e\n")
    assert document.links == ()
    assert document.tags == ()


def test_line_ends_mark_and_missing_last_newline():
    document = read(b"\xef\xbb\xbf---\r\ntitle: T\r\n---\r\n# H\r\n\r\na\r\nb\r\n\r\nc")
    assert document.title == "T"
    assert document.sections[0].line == 4
    assert document.sections[0].blocks == (Block("a\nb", Place((6, 7))), Block("c", Place((9, 9))))


def test_lines_are_right_with_text_outside_ascii():
    document = read("# Größe 漢字\n\nä😀ö\n\nЖук\n\n## Ünter\n\nz")
    assert [(s.headings[-1], s.line) for s in document.sections] == [("Größe 漢字", 1), ("Ünter", 7)]
    assert document.sections[0].blocks == (Block("ä😀ö", Place((3, 3))), Block("Жук", Place((5, 5))))


def test_an_empty_file_is_a_document_without_sections():
    document = read("")
    assert (document.title, document.sections) == ("My note", ())


# ---------------------------------------------------------------- title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: Given\n---\n# Heading", "Given"),
        ("---\ntitle: 2024\n---\n", "2024"),
        ("intro\n\n# Heading\n\n# Other", "Heading"),
        ("## Lower first\n\n# Heading", "My note"),
        ("---\ntitle: ''\n---\ntext", "My note"),
        ("text", "My note"),
    ],
)
def test_title(text: str, title: str):
    assert read(text).title == title


def test_identity_is_the_path_not_the_stem():
    one, other = read("x", "a/index.md"), read("x", "b/index.md")
    assert (one.id, other.id) == ("a/index.md", "b/index.md")
    assert one.path == "/root/a/index.md"


# ---------------------------------------------------------------- links


@pytest.mark.parametrize(
    ("written", "link"),
    [
        ("[[B]]", Link("B")),
        ("[[B|alias]]", Link("B", alias="alias")),
        ("[[B#Heading]]", Link("B", heading="Heading")),
        ("[[dir/B c#Heading|the *alias*]]", Link("dir/B c", heading="Heading", alias="the alias")),
        ("![[C]]", Link("C", "embed")),
        ("![[C#part|100]]", Link("C", "embed", "part", "100")),
        ("[t](b.md)", Link("b.md", "markdown", "", "t")),
        ("[t](../a%20b.md#some-part)", Link("../a b.md", "markdown", "some-part", "t")),
        ("[t](<a b.md> 'title')", Link("a b.md", "markdown", "", "t")),
        ("[t](/docs/site/absolute/)", Link("/docs/site/absolute/", "markdown", "", "t")),
        ("[t][r]\n\n[r]: ref.md#x", Link("ref.md", "markdown", "x", "t")),
        ("[ref]\n\n[ref]: ref.md", Link("ref.md", "markdown", "", "ref")),
        ("[![alt](i.png)](t.md)", Link("t.md", "markdown", "", "")),
        ("# Heading [[B]]", Link("B")),
        ("| a |\n|---|\n| [[T\\|x]] |", Link("T", alias="x")),
        ("- > [[deep]]", Link("deep")),
        ("---\nrelated: '[[X#h|y]]'\n---\n", Link("X", "related", "h", "y")),
        ("---\nrelated: [[X]]\n---\n", Link("X", "related")),
        ("---\nrelated: notes/x.md\n---\n", Link("notes/x.md", "related")),
    ],
)
def test_a_link(written: str, link: Link):
    assert read(written).links == (link,)


@pytest.mark.parametrize(
    "written",
    [
        "[t](https://example.org/a.md)",
        "[t](mailto:a@b.c)",
        "[t](//host/x)",
        "[t](#part)",
        "[[#part]]",
        "[[https://example.org]]",
        "![alt](picture.png)",
        "<https://example.org/#x>",
        "<a@b.cc>",
        "\\[[no]]",
        "<!-- [[no]] -->",
        "---\nrelated: https://example.org\n---\n",
    ],
)
def test_no_link(written: str):
    assert read(written).links == ()


def test_each_distinct_link_once_and_in_order():
    document = read("---\nrelated: [B, '[[C]] and [[D]]']\n---\n[[B]] [[A]] [[B]] [[B|x]] [[B#h]] ![[B]]")
    assert document.links == (
        Link("B"),
        Link("A"),
        Link("B", alias="x"),
        Link("B", heading="h"),
        Link("B", "embed"),
        Link("B", "related"),
        Link("C", "related"),
        Link("D", "related"),
    )


# ---------------------------------------------------------------- tags


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("body #alpha and #a/b-c, (#d_e) #f!", ("alpha", "a/b-c", "d_e", "f")),
        ("#first\n#second\n- #third\n\n| #fourth |\n|---|\n", ("first", "second", "third", "fourth")),
        ("**#bold** and *#italic*", ("bold", "italic")),
        ("#Größe #тег #標籤。 #हिन्दी #y1984", ("Größe", "тег", "標籤", "हिन्दी", "y1984")),
        ("#Same #same #SAME", ("Same",)),
        ("#trailing- #slash/", ("trailing", "slash")),
        ("# Heading with #tag", ("tag",)),
        ("#cafe #deadbeef #feed1 #e1234", ("cafe", "deadbeef", "feed1", "e1234")),
        ("#fff #FFF #a1b2c3 #abcdef #ff00 #ff00ff80 #add", ()),
        ("#123 #1-2 # x #", ()),
        ("foo#bar x.md#frag https://e.org/#frag https://e.org/p#q", ()),
        ("\\#escaped and &#35;entity", ()),
        ("[text #in link](x.md#no) [#channel](https://e.org)", ()),
        ("<span style='color: #abcdex'> #!shebang ##two", ()),
        ("`x`#no", ()),
        ("<div>\n#html\n</div>", ()),
    ],
)
def test_tags_in_text(written: str, tags: tuple[str, ...]):
    assert read(written).tags == tags


@pytest.mark.parametrize(
    ("matter", "tags"),
    [
        ("tags: [beta, '#gamma', two words]", ("beta", "gamma", "two words")),
        ("tags: beta, gamma delta", ("beta", "gamma", "delta")),
        ("tag: one", ("one",)),
        ("tags:\n- a\n- A\n- 2024\n-", ("a", "2024")),
        ("tags:", ()),
    ],
)
def test_tags_in_front_matter(matter: str, tags: tuple[str, ...]):
    assert read(f"---\n{matter}\n---\n").tags == tags


def test_tags_of_front_matter_and_text_together():
    assert read("---\ntags: [beta]\n---\n# x\n\n#alpha #Beta #123 #fff").tags == ("beta", "alpha")


# ---------------------------------------------------------------- front matter
