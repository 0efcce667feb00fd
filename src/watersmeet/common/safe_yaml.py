"""Safe reading of untrusted YAML: with the safe loader, and with limits on size and depth."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, TypeVar

from watersmeet.core.limits import MAX_DEPTH, MAX_YAML_VALUES, LimitExceeded, check_yaml

SHORT = 64 * 1024
"""A text of at most so many characters can exceed the number of values only by aliases."""
T = TypeVar("T")
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
    return _guarded(text, loader, MAX_YAML_VALUES, lambda: yaml.load(text, loader))  # noqa: S506 - a safe loader


def read_written_yaml(text: str, most: int, documents: int) -> list[Any]:
    """Values of the first `documents` documents of a text, each scalar as it is written: `3.10`, `on` and `!Ref x` too.

    `most`: number of values, aliases written out, that a text may have. Raises `NotYaml` or `LimitExceeded`.
    """
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    return _guarded(
        text, loader, most, lambda: list(islice(yaml.load_all(text, loader), documents))
    )  # builds only texts


def _guarded(text: str, loader: Any, most: int, load: Callable[[], T]) -> T:
    """What `load` returns, after a check of the limits, and with its errors in words."""
    import yaml

    try:
        if _needs_check(text):
            check_yaml(text, yaml.parse(text, loader), most)
        return load()
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
