"""YAML that somebody else wrote: what is refused, and that looking away from the harmless misses nothing."""

from __future__ import annotations

from contextlib import suppress

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.common.safe_yaml import SHORT, NotYaml, _needs_check, read_yaml, safe_loader
from watersmeet.core.limits import MAX_DEPTH, MAX_YAML_CHARS, LimitExceeded, check_yaml

BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghijklmnopqr", "bcdefghijklmnopqrs", strict=True)
)
Texts = st.text(st.sampled_from("ab-?: \n[]{}&*#'\"|>!%@,0"), max_size=400)


def test_what_is_written_is_read() -> None:
    assert read_yaml("a: [1, two]\nb: {c: null}") == {"a": [1, "two"], "b": {"c": None}}
    assert read_yaml("") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "values, aliases written out"),
        ("a: &a [*a]", "refers to itself"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "nested too deeply"),
        ("- " * (MAX_DEPTH + 1) + "x", "nested too deeply"),
        ("\n".join(" " * depth + "a:" for depth in range(MAX_DEPTH + 2)), "nested too deeply"),
        ("a: b\n" * (MAX_YAML_CHARS // 5 + 1), "larger than 10 MB"),
        ("- b\n" * 110_000, "more than 100,000 values"),
    ],
)
def test_too_much_is_refused(text: str, said: str) -> None:
    with pytest.raises(LimitExceeded, match=said):
        read_yaml(text)


@pytest.mark.parametrize(("text", "line"), [("a: }", 1), ("a: b\nc: d: e", 2), ("a: !!python/object:os.system x", 1)])
def test_what_is_no_yaml_is_said_with_its_line(text: str, line: int) -> None:
    with pytest.raises(NotYaml) as problem:
        read_yaml(text)
    assert problem.value.line == line
    assert str(problem.value)


@pytest.mark.parametrize("text", ["a: 2026-99-99", "a: 0x", "a: \x00"])
def test_what_cannot_be_a_value_is_no_yaml(text: str) -> None:
    with suppress(NotYaml):
        read_yaml(text)


@given(Texts)
def test_what_is_not_looked_at_is_never_too_much(text: str) -> None:
    assert len(text) < SHORT
    if not _needs_check(text):
        with suppress(yaml.YAMLError):
            check_yaml(text, yaml.parse(text, safe_loader()))
