"""Versions of packages and ranges of them, for Python packages (PEP 440) and npm packages (semver).

Ranges may be written in either way: `18`, `18.x`, `^18.2`, `~1.4`, `~=1.4`, `>=18,<19`, `1.x || 2.x`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from watersmeet.core.errors import ConfigError

MAX_LENGTH = 200
_PEP440 = re.compile(
    r"v?(?:(?P<epoch>\d{1,9})!)?(?P<release>\d{1,18}(?:\.\d{1,18}){0,19})"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_number>\d{0,18}))?"
    r"(?P<post>-(?P<post_short>\d{1,18})|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>\d{0,18}))?"
    r"(?P<dev>[-_.]?dev[-_.]?(?P<dev_number>\d{0,18}))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?",
    re.IGNORECASE,
)
_SEMVER = re.compile(
    r"[v=]*(?P<release>\d{1,18}(?:\.\d{1,18}){0,3})(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]*)?"
)
_STAGES = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_WILD = re.compile(r"v?(?P<release>(?:\d{1,18}\.){0,19}\d{1,18})?(?:\.?[xX*](?:\.[xX*])*)?")
_CLAUSE = re.compile(r"(?:(===|==|~=|!=|>=|<=|\^|~>?|>|<|=)\s*)?([^\s,<>=!~^|]+)")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)")
_LAST: tuple[Any, ...] = (9,)
"""Sorts after every stage of a pre-release: a final release."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A version. Versions that are equal by their rules, such as 2.0 and 2.0.0, compare equal."""

    text: str
    release: tuple[int, ...]
    key: tuple[Any, ...]
    is_prerelease: bool

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.key == other.key

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __hash__(self) -> int:
        return hash(self.key)


def parse(text: str, semver: bool = False) -> Version | None:
    """A version as PEP 440 or semver defines it; None if it is not valid."""
    if len(text) > MAX_LENGTH:
        return None
    return _semver(text) if semver else _pep440(text)


def _pep440(text: str) -> Version | None:
    match = _PEP440.fullmatch(text.strip())
    if match is None:
        return None
    release = _numbers(match["release"])
    stage = match["pre"] and (_STAGES.get(match["pre"].lower(), match["pre"].lower()), int(match["pre_number"] or 0))
    post = int(match["post_short"] or match["post_number"] or 0) if match["post"] else -1
    dev = int(match["dev_number"] or 0) if match["dev"] else None
    if stage:
        before: tuple[Any, ...] = (1, *stage)
    else:  # 1.0.dev1 precedes 1.0a1, but 1.0.post1.dev1 does not
        before = (0,) if dev is not None and post < 0 else _LAST
    after = (0, dev) if dev is not None else (1, 0)
    local = tuple((1, int(part), "") if part.isdigit() else (0, 0, part.lower()) for part in _parts(match["local"]))
    key = (int(match["epoch"] or 0), _without_zeros(release), before, post, after, local)
    return Version(text, release, key, bool(stage) or dev is not None)


def _semver(text: str) -> Version | None:
    match = _SEMVER.fullmatch(text.strip())
    if match is None:
        return None
    release = _numbers(match["release"])
    pre = match["pre"]
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".")) if pre else ()
    return Version(text, release, (0, _without_zeros(release), (1, parts) if pre else _LAST), bool(pre))


def _parts(local: str | None) -> list[str]:
    return re.split(r"[-_.]", local) if local else []


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    """A release without the zeros at its end."""
    end = len(release)
    while end > 1 and release[end - 1] == 0:
        end -= 1
    return release[:end]


@dataclass(frozen=True, slots=True)
class _Bound:
    """One comparison with a version, or (`starts`, `differs`) with the numbers that a version begins with."""

    operator: str
    version: Version
    digits: tuple[int, ...] = ()  # for `starts` and `differs`

    def admits(self, version: Version) -> bool:
        match self.operator:
            case ">=":
                return version >= self.version
            case "<":  # 2.0rc1 is below 2.0, but not meant by <2.0
                return version < self.version and not (
                    version.is_prerelease
                    and not self.version.is_prerelease
                    and _without_zeros(version.release) == _without_zeros(self.version.release)
                )
            case ">":
                return version > self.version
            case "<=":
                return version <= self.version
            case "==":
                return version == self.version
            case "!=":
                return version != self.version
        starts = (*version.release, *(0,) * len(self.digits))[: len(self.digits)] == self.digits
        return starts == (self.operator == "starts")


@dataclass(frozen=True, slots=True)
class Range:
    """A range of versions: any of several alternatives, each with comparisons that must all hold."""

    text: str
    semver: bool
    alternatives: tuple[tuple[_Bound, ...], ...]

    def admits(self, version: Version) -> bool:
        return any(all(bound.admits(version) for bound in bounds) for bounds in self.alternatives)

    @property
    def names_prerelease(self) -> bool:
        return any(bound.version.is_prerelease for bounds in self.alternatives for bound in bounds)


def parse_range(text: str, semver: bool = False) -> Range:
    """A range; `ConfigError` if it is not valid. An empty text, `*`, `x` and `latest` are all versions."""
    hint = "for example 18.x, ^18.2 or '>=18,<19'"
    if len(text) > MAX_LENGTH:
        raise ConfigError("this range of versions is too long", hint)
    alternatives = []
    for part in text.split("||"):
        hyphen = _HYPHEN.fullmatch(part.strip())
        part = f">={hyphen[1]} <={hyphen[2]}" if hyphen else part
        rest = _CLAUSE.sub("", part).replace(",", " ").strip()
        bounds = [_bounds(clause[1] or "", clause[2], semver) for clause in _CLAUSE.finditer(part)]
        if rest or None in bounds:
            raise ConfigError(f"{text!r} is not a version or a range of versions", hint)
        alternatives.append(tuple(bound for group in bounds for bound in group or ()))
    return Range(text, semver, tuple(alternatives))


def _bounds(operator: str, text: str, semver: bool) -> tuple[_Bound, ...] | None:
    """The comparisons of one clause; None if it is not valid."""
    if text.lower() == "latest":
        return ()
    version = parse(text, semver)
    wild = _WILD.fullmatch(text)
    if version is None and wild is not None:
        if wild["release"] is None:
            return ()
        digits = _numbers(wild["release"])
        version = _plain(digits, semver)
        operator = {"": "starts", "=": "starts", "==": "starts", "!=": "differs"}.get(operator, operator)
        if operator in ("starts", "differs"):
            return (_Bound(operator, version, digits),)
    if version is None:
        return None
    release = version.release
    match operator:
        case "":
            return (_Bound("starts", version, release),) if _is_partial(version) else (_Bound("==", version),)
        case "=" | "==" | "===":
            return (_Bound("==", version),)
        case "^":
            first = next((at for at, digit in enumerate(release) if digit), len(release) - 1)
            return _Bound(">=", version), _Bound("<", _plain(_increment(release[: first + 1]), semver))
        case "~" | "~>":
            return _Bound(">=", version), _Bound("<", _plain(_increment(release[:2]), semver))
        case "~=":
            return _Bound(">=", version), _Bound("starts", version, release[: max(1, len(release) - 1)])
        case "<=" if _is_partial(version):
            return (_Bound("<", _plain(_increment(release), semver)),)
        case ">" if _is_partial(version):
            return (_Bound(">=", _plain(_increment(release), semver)),)
    return (_Bound(operator, version),)


def _is_partial(version: Version) -> bool:
    """Whether a version stands for all those that begin with it: one or two numbers only."""
    return len(version.release) < 3 and version.text.lstrip("v") == ".".join(map(str, version.release))


def _increment(release: tuple[int, ...]) -> tuple[int, ...]:
    return (*release[:-1], release[-1] + 1)


def _plain(release: tuple[int, ...], semver: bool) -> Version:
    version = parse(".".join(map(str, release)), semver)
    if version is None:
        raise ConfigError("this version has too many numbers", "for example 18.x")
    return version


def best(wanted: str, texts: Iterable[str], semver: bool = False) -> str | None:
    """The version that fits best: the one written so, else the newest in the range; a pre-release only if the range
    names one or has no other."""
    published = list(texts)
    if wanted in published:
        return wanted
    range_ = parse_range(wanted, semver)
    versions = [version for text in published if (version := parse(text, semver)) is not None]
    fitting = [version for version in versions if range_.admits(version)]
    final = [version for version in fitting if not version.is_prerelease]
    chosen = fitting if range_.names_prerelease else final or fitting
    return max(chosen).text if chosen else None


def newest_first(texts: Iterable[str], semver: bool = False) -> list[str]:
    """Versions in descending order; those that are not valid come last."""
    every = list(texts)
    versions = [version for text in every if (version := parse(text, semver)) is not None]
    valid = [version.text for version in sorted(versions, reverse=True)]
    return [*valid, *sorted(set(every) - set(valid))]
