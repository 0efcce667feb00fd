"""Variables of predecessors: what they set, where, and that it is said."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.engine.settings.effective import effective
from watersmeet.engine.settings.settings import OTHER_VARIABLES, Settings, load


def loaded(recipe: str = "", **environ: str) -> Settings:
    return load(recipe=recipe, environ=environ)


def value(settings: Settings, name: str) -> Any:
    return effective(settings)[name]


@pytest.mark.parametrize(
    ("variable", "raw", "recipe", "setting", "expected"),
    [
        ("DOCMANCER_AUTO_VECTORS", "0", "default", "index.vectors", False),
        ("DOCMANCER_AUTO_VECTORS", "1", "default", "index.vectors", True),
        ("SEARCH_FUSION_METHOD", "legacy", "registry", "pipeline.fusion", "legacy"),
        ("SEARCH_FUSION_METHOD", "RRF", "registry", "pipeline.fusion", "rrf"),
        ("SEARCH_FUSION_METHOD", "legacy", "default", "pipeline.fusion", "convex"),
        ("SEARCH_FUSION_METHOD", "legacy", "notes", "pipeline.fusion", "rrf"),
    ],
)
def test_what_a_variable_sets(variable: str, raw: str, recipe: str, setting: str, expected: Any) -> None:
    for settings in (loaded(recipe, **{variable: raw}), loaded("docs", **{variable: raw}).under(recipe)):
        assert value(settings, setting)[0] == expected


def test_ef_search_is_that_of_the_database() -> None:
    tables = loaded(VECTOR_SEARCH_EF_SEARCH="250").tables
    assert tables["records"]["mongodb"]["ef_search"] == 250


def test_our_own_variable_wins_and_a_notice_says_what_was_honoured() -> None:
    environ = {"DOCMANCER_AUTO_VECTORS": "0", "WATERSMEET__INDEX__VECTORS": "true"}
    settings = loaded(**environ)
    assert value(settings, "index.vectors") == (True, "environment")
    assert len(settings.notices) == 1
    assert loaded(**dict.fromkeys(OTHER_VARIABLES, "")).notices == ()
    assert loaded(SEARCH_FUSION_METHOD="legacy").under("registry").notices


@pytest.mark.parametrize(
    "environ",
    [{"SEARCH_FUSION_METHOD": "legcy"}, {"VECTOR_SEARCH_EF_SEARCH": "many"}, {"VECTOR_SEARCH_EF_SEARCH": "0"}],
)
def test_a_wrong_value_is_an_error_that_names_the_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=next(iter(environ))) as refused:
        loaded(**environ)
    assert refused.value.hint
