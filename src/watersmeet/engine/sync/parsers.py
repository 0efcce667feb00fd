"""Which parser reads what: each says itself which media types and endings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from watersmeet.core.indexing import Parser
from watersmeet.engine import plugins
from watersmeet.engine.components import build, find, names
from watersmeet.engine.settings.settings import Settings


@cache
def readers() -> Mapping[str, str]:
    """From a media type or an ending such as `.md` to the parser that reads it: one of ours if there is one."""
    found: dict[str, str] = {}
    for name in (*names("parse"), *plugins.usable("parse")):
        for form in find("parse", name).reads:
            found.setdefault(form.casefold(), name)
    return found


@cache
def endings() -> tuple[str, ...]:
    """The endings of files that some parser reads."""
    return tuple(sorted(form for form in readers() if form.startswith(".")))


def parsers(settings: Settings) -> dict[str, Parser]:
    """A parser for each media type and ending."""
    made = {name: build("parse", name, settings.of("parse", name)) for name in dict.fromkeys(readers().values())}
    return {form: made[name] for form, name in readers().items()}
