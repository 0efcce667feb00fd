"""Settings file parser with limits, since the file may be a stranger's."""

from __future__ import annotations

import os
import stat
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.system import READ

MAX_BYTES = 100_000
MAX_DOTS = 200
"""Dots in a line: a key of 30,000 parts fits in 60 kB and takes the parser 2 GB."""
MAX_DEPTH = 20
"""Nesting of tables and lists."""
MAX_BITS = 63
"""Of an integer, as in the TOML standard."""

Table = dict[str, Any]


def read(path: str) -> tuple[Table, bytes]:
    """The tables of a file, and its bytes."""
    try:
        content = read_bytes(path)
        text = content.decode("utf8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", "it must be UTF-8 text that you may read") from error
    if max(line.count(".") for line in text.split("\n")) > MAX_DOTS:
        raise ConfigError(
            f"{path} cannot be read: a line has more than {MAX_DOTS} dots", "write shorter keys, or more lines"
        )
    return parse(text, path), content


def read_bytes(path: str, most: int = MAX_BYTES) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with open(os.open(path, READ), "rb") as file:  # without blocking on a FIFO
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError(
                f"{path} cannot be read: it is not a regular file", "replace it by a settings file, or remove it"
            )
        content = file.read(most + 1)
    if len(content) > most:
        raise ConfigError(f"{path} cannot be read: it is longer than {most} bytes", "shorten it")
    return content


def parse(text: str, origin: str) -> Table:
    """Parse TOML, with limits for numbers and nesting."""
    import tomllib  # here: most searches have no settings file

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin} is not valid TOML: {error}", "correct that line") from error
    except ValueError as error:  # Python refuses integers of more than 4300 digits
        raise _too_large(origin) from error
    except RecursionError as error:
        raise _too_deep(origin) from error
    _check(table, origin)
    return table


def _check(table: Table, origin: str) -> None:
    rest: list[tuple[Any, int]] = [(table, 1)]
    while rest:
        value, depth = rest.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(origin)
        if isinstance(value, dict | list):
            rest += ((inner, depth + 1) for inner in (value.values() if isinstance(value, dict) else value))
        elif isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise _too_large(origin)


def _too_large(origin: str) -> ConfigError:
    return ConfigError(f"{origin} cannot be read: a whole number in it has too many digits", "use at most 18 digits")


def _too_deep(origin: str) -> ConfigError:
    return ConfigError(
        f"{origin} cannot be read: it is nested more than {MAX_DEPTH} deep", "settings need at most three levels"
    )
