"""YAML that somebody else wrote: read with the safe loader, and never so large or so deep that it hurts."""

from __future__ import annotations

import re
from typing import Any

from watersmeet.core.limits import DEEPEST, TooMuch, check_yaml

SHORT = 64 * 1024
"""A text of so many characters comes to too many values only by aliases."""
_DEEP = re.compile(rf"^[ \-?:]{{{DEEPEST}}}", re.MULTILINE)


class NotYaml(ValueError):
    """It cannot be read; the message says why, and `line` where, counted from 1, if that is known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def safe_loader() -> Any:
    """The safe loader, the C one where there is one."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, loader: Any = None) -> Any:
    """The value of a text. `loader`: a subclass of the safe one. `NotYaml` or `TooMuch` says why it cannot be read."""
    import yaml

    loader = loader or safe_loader()
    try:
        if _suspicious(text):
            check_yaml(text, yaml.parse(text, loader))
        return yaml.load(text, loader)  # noqa: S506 - a safe loader
    except TooMuch:
        raise
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise NotYaml(str(problem.problem or problem.context), mark.line + 1 if mark else None) from problem
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError, AttributeError) as problem:
        raise NotYaml(str(problem).partition("\n")[0]) from problem


def _suspicious(text: str) -> bool:
    """Whether to look before loading: most that is written is neither deep nor large."""
    brackets = text.count("[") + text.count("{") > DEEPEST
    return len(text) > SHORT or brackets or _DEEP.search(text) is not None or ("&" in text and "*" in text)
