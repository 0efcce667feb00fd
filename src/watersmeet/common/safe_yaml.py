"""Safe reading of untrusted YAML: with the safe loader, and with limits on size and depth."""

from __future__ import annotations

import re
from typing import Any

from watersmeet.core.limits import MAX_DEPTH, LimitExceeded, check_yaml

SHORT = 64 * 1024
"""A text of at most so many characters can exceed the number of values only by aliases."""
_DEEP = re.compile(rf"^[ \-?:]{{{MAX_DEPTH}}}", re.MULTILINE)


class NotYaml(ValueError):
    """A parse error; `line` is its line, from 1, if known."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def safe_loader() -> Any:
    """PyYAML's safe loader, the C version if available."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str, loader: Any = None) -> Any:
    """Parsed value of a text; raises `NotYaml` or `LimitExceeded`. `loader`: a subclass of the safe loader."""
    import yaml

    loader = loader or safe_loader()
    try:
        if _needs_check(text):
            check_yaml(text, yaml.parse(text, loader))
        return yaml.load(text, loader)  # noqa: S506 - a safe loader
    except LimitExceeded:
        raise
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise NotYaml(str(problem.problem or problem.context), mark.line + 1 if mark else None) from problem
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, LookupError, AttributeError) as problem:
        raise NotYaml(str(problem).partition("\n")[0]) from problem


def _needs_check(text: str) -> bool:
    """Whether to check the limits before loading: most texts are neither deep nor large."""
    brackets = text.count("[") + text.count("{") > MAX_DEPTH
    return len(text) > SHORT or brackets or _DEEP.search(text) is not None or ("&" in text and "*" in text)
