"""Which document does a link mean? Both sides become keys; equal keys are a match."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import DocId
from watersmeet.core.names import ALIAS, is_page, link_key, names_of

PART = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=("Cs", "Cc", "Zs")), min_size=1, max_size=8
).filter(lambda part: part.strip(".") != "")


def answers(
    document: str, written: str, type: str = "wiki", source: str = "notes/today.md", aliases: tuple[str, ...] = ()
) -> bool:
    return link_key(DocId(source), written, type) in names_of(DocId(document), aliases)


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("guides/Setup.md", "Setup"),
        ("guides/Setup.md", "setup"),
        ("guides/Setup.md", "Setup.md"),
        ("guides/Setup.md", "guides/Setup"),
        ("guides/Setup.md", "/guides/Setup"),
        ("a/guides/Setup.md", "guides/Setup"),
        ("guides/index.md", "guides"),
        ("guides/README.md", "guides/"),
        ("docs/guides/_index.md", "docs/guides"),
        ("notes/today.md", "./today"),
        ("other/today.md", "../other/today"),
        ("vault/dendron.topic.links.md", "dendron.topic.links"),  # dots are not endings
        ("v1.2/notes.v1.2.md", "notes.v1.2"),
        ("Café/Öl.md", "café/öl"),
        (unicodedata.normalize("NFD", "Café.md"), unicodedata.normalize("NFC", "Café")),
        ("data.jsonl", "data.jsonl"),
        ("日本語/概要.md", "概要"),
        ("file.canvas", "file.canvas"),
        ("site/install.htm", "install.htm"),
        ("site/install.html", "install"),
    ],
)
def test_a_wiki_link_may_name_any_end_of_the_path(document: str, written: str) -> None:
    assert answers(document, written)


@pytest.mark.parametrize(
    ("document", "written"),
    [
        ("guides/Setup.md", "up"),
        ("guides/Setup.md", "guides"),
        ("guides/Setup.md", "other/Setup"),
        ("guides/Setup.md", ""),
        ("vault/dendron.topic.links.md", "links"),
        ("index.md", ""),
    ],
)
def test_but_not_a_part_of_a_name(document: str, written: str) -> None:
    assert not answers(document, written)


def test_a_relative_link_starts_at_the_folder_of_its_document() -> None:
    assert answers("notes/a.md", "a.md", "markdown")
    assert answers("a.md", "../a.md", "markdown")
    assert answers("notes/deep/a.md", "deep/a.md", "markdown")
    assert answers("guides/index.md", "../guides/", "markdown")
    assert not answers("other/a.md", "a.md", "markdown")
    assert answers("other/a.md", "/other/a", "markdown")  # as websites write it
    assert answers("a.md", "../../../a.md", "markdown")  # there is nothing above the root


def test_aliases_are_names_but_less_close() -> None:
    names = names_of(DocId("guides/setup.md"), ["Foo Bar", "Setup", "/old/place/"])
    assert names["foo bar"] == names["old/place"] == ALIAS
    assert names["setup"] < ALIAS  # its own name is closer
    assert names["guides/setup"] == 0


def test_the_closer_the_name_the_lower_the_rank() -> None:
    names = names_of(DocId("a/b/c.md"))
    assert names["a/b/c"] < names["b/c"] < names["c"]
    assert names["a/b/c.md"] == 0


@pytest.mark.parametrize(
    ("document", "page"), [("a/b.md", True), ("B.TXT", True), ("a.rst", True), ("/srv/x", False), ("12", False)]
)
def test_pages(document: str, page: bool) -> None:
    assert is_page(document) is page


@pytest.mark.slow
@given(st.lists(PART, min_size=1, max_size=4), st.sampled_from([".md", ".txt", ".rst", ""]))
def test_every_document_answers_to_its_path_and_to_each_end_of_it(parts: list[str], ending: str) -> None:
    document = "/".join(parts) + ending
    for start in range(len(parts)):
        assert answers(document, "/".join(parts[start:]) + ending)
    assert "" not in names_of(DocId(document))


@given(st.text(max_size=20), st.sampled_from(["wiki", "markdown", "embed", "related"]))
def test_any_target_has_a_key(target: str, type: str) -> None:
    assert not link_key(DocId("a/b.md"), target, type).endswith("/")


def test_a_path_without_end_has_few_names() -> None:
    names = names_of(DocId("a/" * 20_000 + "b.md"))
    assert len(names) < 200
    assert {"b", "a/b", "a/a/b"} <= set(names)
