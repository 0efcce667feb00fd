from __future__ import annotations

import pytest

from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.engine.query.releases import resolve

HELD = ["npm:react@17.0.2", "npm:react@18.3.1", "npm:@a/b@18.0.0-beta.1", "pypi:react@18.1", "note", "x@1", "pypi:@2"]


def test_the_best_version_of_each_package() -> None:
    found = resolve("18.x", HELD)
    assert found.versions == {"@a/b": "18.0.0-beta.1", "npm:react": "18.3.1", "pypi:react": "18.1"}
    assert found.releases == ("npm:@a/b@18.0.0-beta.1", "npm:react@18.3.1", "pypi:react@18.1")
    assert str(found) == "version 18.x: @a/b 18.0.0-beta.1, npm:react 18.3.1, pypi:react 18.1"


def test_a_version_by_the_rules_of_one_ecosystem_only() -> None:
    assert resolve("18.0.0-beta.1", HELD).versions == {"@a/b": "18.0.0-beta.1"}
    assert resolve("18.0.0-canary-x", [*HELD, "npm:c@18.0.0-canary-x"]).versions == {"c": "18.0.0-canary-x"}


def test_no_more_than_a_few_are_shown() -> None:
    with pytest.raises(NotFound) as problem:
        resolve("9", [f"npm:p{number:02}@1.0.0" for number in range(30)])
    assert problem.value.hint.startswith("it has p00 1.0.0; p01 1.0.0")
    assert problem.value.hint.endswith("p09 1.0.0; ...")


def test_what_is_no_version() -> None:
    with pytest.raises(ConfigError):
        resolve("so so", HELD)


def test_nothing_is_indexed() -> None:
    with pytest.raises(NotFound, match="no package"):
        resolve("1", ["note"])
