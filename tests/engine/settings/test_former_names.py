"""Former names lead to the new ones: an old setting is an error that names what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet.core.errors import ConfigError, UnknownComponent
from watersmeet.engine.components import exists, find, options
from watersmeet.engine.settings.former_names import COMPONENTS, RENAMED
from watersmeet.engine.settings.settings import SECTIONS, load

OURS = {name: hint.split('"')[1] for name, hint in COMPONENTS.items() if hint.startswith("it is called")}


def written(folder: Path, text: str) -> None:
    (folder / "watersmeet.toml").write_text(text)


@pytest.mark.parametrize("name", RENAMED)
def test_an_old_setting_names_the_new_one(name: str, tmp_path: Path) -> None:
    table, _, key = name.rpartition(".")
    kind, _, component = table.partition(".")
    known = options(find(kind, component) if component else SECTIONS[kind])
    assert RENAMED[name] in known
    assert key not in known
    written(tmp_path, f"[{table}]\n{key} = 1\n")
    with pytest.raises(ConfigError) as error:
        load(start=tmp_path, environ={})
    assert key in str(error.value)
    assert error.value.hint == f"it is called {RENAMED[name]!r} now"


@pytest.mark.parametrize(("kind", "name"), OURS)
def test_an_old_component_names_the_new_one(kind: str, name: str, tmp_path: Path) -> None:
    assert exists(kind, OURS[kind, name])
    assert not exists(kind, name)
    setting = "understand" if kind == "query" else "stages"
    written(tmp_path, f'[pipeline]\n{setting} = ["{name}"]\n')
    with pytest.raises(UnknownComponent) as error:
        load(start=tmp_path, environ={})
    assert OURS[kind, name] in error.value.hint
