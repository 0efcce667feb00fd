"""Settings of a predecessor, read from one of its files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from watersmeet.common.safe_yaml import NotYaml, read_yaml
from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.limits import LimitExceeded
from watersmeet.engine.migration import docmancer, gateway, indexfoundry, ragdocs
from watersmeet.engine.migration.conversion import Conversion
from watersmeet.engine.settings.file import parse, read_bytes
from watersmeet.engine.settings.settings import FILE, PREDECESSORS
from watersmeet.engine.settings.toml import dump

MAX_BYTES = 5_000_000
IN_FOLDERS = (
    indexfoundry.PROJECT,
    "docmancer.yaml",
    os.path.join(".mcp-markdown-ragdocs", "config.toml"),
    "config.toml",
    ".env",
)
"""Files that are looked for in a folder."""
HINT = "name docmancer.yaml, ragdocs' config.toml, a gateway registry's .env, or IndexFoundry's project.json"


def read_settings(path: str, program: str = "") -> Conversion:
    """The settings of a predecessor's file, or of the one in a folder. `program`: which it is, if its content does not
    tell."""
    if program and program not in PREDECESSORS:
        raise ConfigError(f"no program called {program!r}", nearest(program, PREDECESSORS))
    path = _in_folder(path) if os.path.isdir(path) else path
    text = _text(path)
    name = os.path.basename(path).lower()
    if name == FILE:
        raise ConfigError(f"{path} is a settings file of watersmeet already", HINT)
    if program == docmancer.PROGRAM or (not program and name.endswith((".yaml", ".yml"))):
        return docmancer.convert(_known(_yaml(text, path), docmancer.SECTIONS | {"bench", "eval", "embedding"}, path))
    if program == ragdocs.PROGRAM or (not program and name.endswith(".toml")):
        return ragdocs.convert(_known(parse(text, path), ragdocs.SECTIONS, path))
    if program == indexfoundry.PROGRAM or (not program and name.endswith((".json", ".jsonl"))):
        return _project(text, path)
    variables = gateway.read_env(text)
    if not gateway.is_env(variables):
        raise ConfigError(f"{path} is no settings file of a predecessor that is known", HINT)
    return gateway.convert(variables)


def to_toml(made: Conversion, path: str) -> str:
    """The settings file, with the keys that have no equivalent as a remark."""
    lines = [f"# From {os.path.basename(path)} ({made.program}), by `watersmeet config import`."]
    if made.recipe:
        lines.append(
            f"# The recipe {made.recipe} ranks as {made.program} does; the recipe default is watersmeet's own."
        )
    without = [key.name for key in made.keys if key.lacking and key.note != gateway.OF_GATEWAY]
    lines += [f"# No equivalent: {one}" for one in without if one.isprintable()]
    text = "\n".join(lines) + "\n" + dump(made.settings)
    parse(text, FILE)
    return text


def _in_folder(folder: str) -> str:
    for name in IN_FOLDERS:
        if os.path.isfile(path := os.path.join(folder, name)):
            return path
    raise ConfigError(f"{folder} has no settings file of a predecessor", HINT)


def _text(path: str) -> str:
    try:
        return read_bytes(path, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}", HINT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "it must be UTF-8 text that you may read") from error


def _yaml(text: str, path: str) -> Any:
    try:
        return read_yaml(text) or {}
    except (NotYaml, LimitExceeded) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}", "correct it") from error


def _known(config: Any, sections: frozenset[str], path: str) -> Mapping[str, Any]:
    """A table that has at least one section of a program, if it has any."""
    if not isinstance(config, Mapping) or (config and not sections & {str(key) for key in config}):
        raise ConfigError(f"{path} has no section of a predecessor that is known", f"{HINT}; --from says which it is")
    return {str(key): value for key, value in config.items()}


def _project(text: str, path: str) -> Conversion:
    beside = os.path.join(os.path.dirname(path), indexfoundry.SOURCES)
    if os.path.basename(path) == indexfoundry.SOURCES:
        return indexfoundry.convert({}, text)
    try:
        project = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}", "correct it") from error
    if not isinstance(project, Mapping) or not {"project_id", "embedding_model", "chunk_config"} & set(project):
        raise ConfigError(f"{path} is no project of IndexFoundry", HINT)
    return indexfoundry.convert(project, _text(beside) if os.path.isfile(beside) else "")
