"""Front matter: the block of settings, in YAML or TOML, at the very start of a file."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.common.safe_yaml import SHORT, NotYaml, read_yaml, safe_loader
from watersmeet.core.limits import TooMuch
from watersmeet.parse._values import plain

if TYPE_CHECKING:
    from collections.abc import Callable

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MOST_DOTS = 2000
"""In TOML: a dotted key costs memory by the square of its parts."""


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
        if len(source) > SHORT:
            raise _Unreadable(f"front matter is larger than {SHORT // 1024} KiB")
        value = reader(source)
        if value is not None and not isinstance(value, dict):
            raise _Unreadable("front matter is not a list of names and values")
        return Matter(plain(value) if value else {}, match.end())
    except RecursionError:
        reason = "front matter is nested too deeply"
    except _Unreadable as problem:
        reason = str(problem)
    if source.partition("\n")[0].strip():
        return Matter({}, match.end(), source, (reason,))
    return Matter({})


def _read_toml(source: str) -> Any:
    import tomllib

    if source.count(".") > _MOST_DOTS:
        raise _Unreadable(f"front matter has more than {_MOST_DOTS:,} dots")
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise _Unreadable(f"front matter is not valid TOML: {problem}") from problem
    except (ValueError, OverflowError) as problem:
        raise _Unreadable("front matter is not valid TOML: a number or date that cannot be") from problem


def _read_yaml(source: str) -> Any:
    try:
        return read_yaml(source, _loader())
    except TooMuch as problem:
        raise _Unreadable(f"front matter {problem}") from problem
    except NotYaml as problem:
        where = f"line {problem.line + 1}: " if problem.line else ""
        raise _Unreadable(f"front matter is not valid YAML: {where}{problem}") from problem


@cache
def _loader() -> Any:
    """The safe loader, but an impossible date or number stays text.

    So does a number that would be written otherwise: 1.10 is a version, 007 a name, and 12:30 is not 750.
    """
    import yaml

    loader: Any = type("Loader", (safe_loader(),), {})

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
