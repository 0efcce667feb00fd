"""The versions of packages that an index holds, and the choice of those that a search asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watersmeet.common.versions import best, newest_first
from watersmeet.core.errors import ConfigError, NotFound

_SEMVER = frozenset({"npm"})
"""Ecosystems whose versions follow semver; others follow PEP 440."""
_MAX_SHOWN = 10


@dataclass(frozen=True, slots=True)
class ResolvedVersion:
    """A version or range, and for each package the version that fits best, of those that are indexed."""

    requested: str
    versions: Mapping[str, str]
    releases: tuple[str, ...]

    def __str__(self) -> str:
        return f"version {self.requested}: {', '.join(f'{name} {one}' for name, one in self.versions.items())}"

    def to_json(self) -> dict[str, Any]:
        return {"asked": self.requested, "resolved": dict(self.versions)}


def resolve(
    requested: str, releases: Iterable[str], filters: Mapping[str, Sequence[str]] | None = None
) -> ResolvedVersion:
    """The releases to search: for each package, of those that the filters allow, the best version in the index.

    `NotFound` if no package has one, with those that there are.
    """
    packages = _packages(releases, filters or {})
    if not packages:
        raise NotFound(
            "no package with a version is indexed" + (" that the filters allow" if filters else ""),
            "`watersmeet sync pypi:NAME@VERSION` or `npm:NAME@VERSION` adds one",
        )
    chosen: dict[tuple[str, str], str] = {}
    problems: list[ConfigError] = []
    for package, versions in packages.items():
        try:
            version = best(requested, versions, package[0] in _SEMVER)
        except ConfigError as problem:  # perhaps a version by the rules of the other ecosystem
            problems.append(problem)
            continue
        if version is not None:
            chosen[package] = version
    if len(problems) == len(packages):
        raise problems[0]
    if not chosen:
        shown = [
            f"{name} {', '.join(newest_first(versions, ecosystem in _SEMVER)[:_MAX_SHOWN])}"
            for (ecosystem, name), versions in list(packages.items())[:_MAX_SHOWN]
        ]
        more = "; ..." if len(packages) > _MAX_SHOWN else ""
        raise NotFound(f"no version in this index fits {requested}", f"it has {'; '.join(shown)}{more}")
    times = Counter(name for _, name in chosen)
    return ResolvedVersion(
        requested,
        {name if times[name] == 1 else f"{kind}:{name}": version for (kind, name), version in chosen.items()},
        tuple(f"{kind}:{name}@{version}" for (kind, name), version in chosen.items()),
    )


def _packages(releases: Iterable[str], filters: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], list[str]]:
    """Versions by ecosystem and package, sorted."""
    found: dict[tuple[str, str], list[str]] = {}
    for release in sorted(releases):
        label, _, version = release.rpartition("@")
        ecosystem, _, name = label.partition(":")
        if version and name and _allowed(filters, "ecosystem", ecosystem) and _allowed(filters, "package", name):
            found.setdefault((ecosystem, name), []).append(version)
    return found


def _allowed(filters: Mapping[str, Sequence[str]], key: str, value: str) -> bool:
    wanted = _values(filters, key)
    return (not wanted or value in wanted) and value not in _values(filters, f"{key}!")


def _values(filters: Mapping[str, Sequence[str]], key: str) -> Collection[str]:
    return {str(value).casefold() for name, values in filters.items() if name.casefold() == key for value in values}
