from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, CARD, CONTEXT7, SKILL, read
from watersmeet.core.entities import Refused
from watersmeet.record.skill import Skill

FORMS = {"front_matter": {"name": "forms", "description": "Fills in forms"}, "body": "How to do it."}


def with_matter(**more: Any) -> dict[str, Any]:
    return {**FORMS, "front_matter": {**FORMS["front_matter"], **more}}  # type: ignore[dict-item]


@pytest.mark.parametrize("value", [FORMS, {"front_matter": {}, "body": ""}])
def test_it_knows_its_own(value: Any) -> None:
    assert Skill().knows(value)


@pytest.mark.parametrize(
    "value",
    [None, 3, "text", [], {}, {"front_matter": {}}, {"front_matter": [], "body": ""}, SKILL, CONTEXT7, CARD, BEIR],
)
def test_it_knows_no_other(value: Any) -> None:
    assert not Skill().knows(value)


def test_what_it_says_and_where_it_lies() -> None:
    (skill,) = read(FORMS, name="Office Work/pdf")
    assert (skill.kind, skill.path, skill.name) == ("skill", "/skills/office-work/pdf", "forms")
    assert (skill.description, skill.body) == ("Fills in forms", "How to do it.")


def test_a_skill_without_a_name_is_called_as_its_folder() -> None:
    value = {"front_matter": {"description": "Fills in forms"}, "body": None}
    (skill,) = read(value, name="office/pdf")
    assert (skill.name, skill.body) == ("pdf", "")


def test_metadata_tags_examples_and_what_else_there_is() -> None:
    custom = {"author": "Ada", "tags": ["law"], "examples": ["fill it in"], "domain": "tax"}
    (skill,) = read(with_matter(metadata=custom, version="2", license="MIT"), location="https://x/SKILL.md")
    assert skill.metadata == {"version": "2", "author": "Ada", "domain": "tax"}
    assert (skill.tags, skill.examples) == (("law",), ("fill it in",))
    assert skill.extra == {"license": "MIT", "location": "https://x/SKILL.md"}
    (own,) = read(with_matter(metadata=custom, tags=["own"]))
    assert own.tags == ("own",)


def test_who_may_see_it_and_whether_it_is_on() -> None:
    (skill,) = read(with_matter(visibility="group", groups=["ops"], enabled=False, status="beta", owner="ann"))
    assert (skill.visibility, skill.groups, skill.owner) == ("group", ("ops",), "ann")
    assert (skill.enabled, skill.status) == (False, "beta")


def test_without_a_description_nobody_knows_when_to_use_it() -> None:
    (refused,) = read({"front_matter": {"name": "x"}, "body": "y"})
    assert isinstance(refused, Refused)
    assert "`description`" in refused.reason
