"""Settings as TOML: what is written is read back the same."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watersmeet.engine.settings.toml import dump

VALUES = st.recursive(
    st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
def test_what_is_written_is_read_back(tables: dict[str, object]) -> None:
    text = dump(tables).encode("utf8", "surrogatepass").decode("utf8", "replace")
    if "\ufffd" in text:
        return  # a lone surrogate is no text; `export_settings` compares and refuses
    assert _without_empty(tomllib.loads(text)) == _without_empty(tables)


def _without_empty(value: object) -> object:
    """Without tables that hold nothing: as a section, such a table is not written."""
    if isinstance(value, dict):
        inner = {key: _without_empty(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one != {}}
    return [_without_empty(one) for one in value] if isinstance(value, list) else value


def test_it_reads_well() -> None:
    tables = {"recipe": "default", "pipeline": {"pool": 5}, "fusion": {"convex": {"weights": {"dense": 0.5}}}}
    expected = "[pipeline]\npool = 5\n\n[fusion.convex]\nweights = { dense = 0.5 }\n"
    assert dump(tables) == 'recipe = "default"\n\n' + expected


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError):
        dump({"a": object()})
