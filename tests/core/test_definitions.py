from __future__ import annotations

import pytest

from watersmeet.core.definitions import defined_names, definition_forms


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("def get_or_create(self, defaults=None, **kwargs)", ["get_or_create"]),
        ("async def aget(self) -> int", ["aget"]),
        ("class Foo(Bar)", ["Foo"]),
        ("class Foo extends Bar<Baz>", ["Foo"]),
        ("export default function useState<T>(initial: T)", ["useState"]),
        ("const handler = async (event) =>", ["handler"]),
        ("func (r *Repo) Save(ctx context.Context) error", ["Save"]),
        ("func NewRepo(db *sql.DB) *Repo", ["NewRepo"]),
        ("type Repo struct", ["Repo"]),
        ("pub fn parse<T: Read>(input: T) -> Result<Ast>", ["parse"]),
        ("impl Display for Ast", ["Display"]),
        ("public static Map<String, Integer> countWords(String text)", ["countWords"]),
        ("fun String.shout(): String", ["shout"]),
        ("def empty?", ["empty?"]),
        ("double Port::height(double hour) const", ["height"]),
        ("height :: Double -> Double", ["height"]),
        ("DEFAULTS, parse, main", ["DEFAULTS", "parse", "main"]),
        ("CREATE TABLE users (id int)", ["users"]),
        ("", []),
        ("(((", []),
    ],
)
def test_the_name_that_a_signature_defines(heading: str, names: list[str]) -> None:
    assert defined_names(heading) == names


def test_a_passage_defines_what_its_own_heading_says() -> None:
    assert definition_forms(("Repo", "def save(self)")) == ["defines:save"]
    assert definition_forms(()) == []
