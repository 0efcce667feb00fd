"""Front matter: the block of settings, in YAML or TOML, at the very start of a file."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.parse._values import plain

if TYPE_CHECKING:
    from collections.abc import Callable

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DEEP = re.compile(r"^[ \-?:]{64}", re.MULTILINE)
_LARGEST = 64 * 1024
_MOST_ALIASES = 10
_DEEPEST = 64


class Matter(NamedTuple):
    """`end` is where the body begins; text before that which could not be understood is in `lost`."""

    fields: dict[str, Any]
    end: int = 0
    lost: str = ""
    warnings: tuple[str, ...] = ()


class _Unreadable(ValueError):
    """The block cannot be understood; the message says why."""


def front_matter(text: str) -> Matter:
    """What the block says, if there is one. `---` and a blank line may also be just a rule."""
    reader: Callable[[str], Any]
    if text.startswith("---"):
        match, reader = _YAML.match(text), _read_yaml
    elif text.startswith("+++"):
        match, reader = _TOML.match(text), _read_toml
    else:
        return Matter({})
    if match is None:
        return Matter({})
    source = match[1]
    try:
        if len(source) > _LARGEST:
            raise _Unreadable(f"front matter is larger than {_LARGEST // 1024} KiB")
        value = reader(source)
        if value is not None and not isinstance(value, dict):
            raise _Unreadable("front matter is not a list of names and values")
        return Matter(plain(value) if value else {}, match.end())
    except RecursionError:
        reason = "front matter refers to itself"
    except _Unreadable as problem:
        reason = str(problem)
    if source.partition("\n")[0].strip():
        return Matter({}, match.end(), source, (reason,))
    return Matter({})


def _read_toml(source: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise _Unreadable(f"front matter is not valid TOML: {problem}") from problem


def _read_yaml(source: str) -> Any:
    import yaml

    try:
        _refuse_bombs(source)
        return yaml.load(source, _loader())  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        where = f"line {mark.line + 2}: " if mark else ""
        detail = problem.problem or problem.context
        raise _Unreadable(f"front matter is not valid YAML: {where}{detail}") from problem
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError, AttributeError) as problem:
        if isinstance(problem, _Unreadable):
            raise
        reason = str(problem).partition("\n")[0]
        raise _Unreadable(f"front matter is not valid YAML: {reason}") from problem


def _refuse_bombs(source: str) -> None:
    """The C loader recurses without a limit, and aliases multiply: look before loading what might do either."""
    nested = source.count("[") + source.count("{") > _DEEPEST or _DEEP.search(source)
    if not nested and not ("&" in source and "*" in source):
        return
    import yaml

    depth = aliases = 0
    for event in yaml.parse(source, _loader()):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > _DEEPEST:
            raise _Unreadable("front matter is nested too deeply")
        if aliases > _MOST_ALIASES:
            raise _Unreadable("front matter has too many aliases")


@cache
def _loader() -> Any:
    """The safe loader, the C one where there is one, but an impossible date or number stays text.

    So does a number that would be written otherwise: 1.10 is a version, 007 a name, and 12:30 is not 750.
    """
    import yaml

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("Loader", (safe,), {})

    def lenient(build: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def construct(self: Any, node: Any) -> Any:
            written = str(node.value)
            try:
                value = build(self, node)
            except (ValueError, AttributeError, LookupError):
                return written
            return written if isinstance(value, int | float) and str(value) != written else value

        return construct

    for name in ("timestamp", "int", "float"):
        build = getattr(yaml.constructor.SafeConstructor, f"construct_yaml_{name}")
        loader.add_constructor(f"tag:yaml.org,2002:{name}", lenient(build))
    return loader
