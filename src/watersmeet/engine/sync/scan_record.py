"""What a scan of a root left unread and by which settings, recorded in the index.

A later look at the folder can then count changes without loading a parser, and without counting what is never read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, field, replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import UnknownComponent
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.components import find

if TYPE_CHECKING:
    from watersmeet.core.index import Index
    from watersmeet.core.writing import Facts, Root
    from watersmeet.engine.settings.settings import Settings

MAX_UNREAD = 5000
"""Unread files that are recorded; with more, changes are not counted."""


@dataclass(frozen=True, slots=True)
class ScanRecord:
    """The record of the last scan of a root."""

    settings: str  # those that decide what is read
    endings: tuple[str, ...]
    names: tuple[str, ...]
    sizes: Mapping[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] | None = ()  # files that were offered and not read; None: too many


def _fact(root: Root) -> str:
    return f"scan.{root.id}"


def scan_record(facts: Mapping[str, str], root: Root) -> ScanRecord | None:
    """The record of a root; None if an earlier version has synced it."""
    found = facts.get(_fact(root))
    if not found:
        return None
    values = json.loads(found)
    unread = values.pop("unread")
    return ScanRecord(
        values["settings"],
        tuple(values["endings"]),
        tuple(values["names"]),
        values["sizes"],
        None if unread is None else tuple(unread),
    )


def roots_of(index: Index) -> list[Root]:
    """The roots of an index as of the last commit."""
    roots: list[Root] = []

    def collect(root: Root) -> bool:
        roots.append(root)
        return False  # their files are not needed

    index.known_roots(collect)
    return roots


def is_watchable(root: Root) -> bool:
    """Whether the system reports changes of a root. False for one whose source is not installed."""
    try:
        return find("source", root.kind).watchable is True
    except (UnknownComponent, AttributeError):
        return False


def reading_settings(settings: Settings) -> str:
    """The settings, and flags, that decide which files are read."""
    return json.dumps(
        {kind: settings.tables.get(kind, {}) for kind in ("source", "parse")}, sort_keys=True, default=str
    )


def record_scan(catalogue: Facts, settings: Settings, root: Root, scope: str, unread: Collection[str]) -> None:
    """Record the scan of a root, or of the part `scope` of it, if it differs from the last record."""
    from watersmeet.engine.sync.parsers import endings, sizes, whole_names

    facts = catalogue.meta()
    before = scan_record(facts, root)
    made = ScanRecord(reading_settings(settings), endings(), tuple(sorted(whole_names())), sizes())
    outside = before.unread if scope and before else ()
    names = None if outside is None else sorted({*unread, *(one for one in outside if not one.startswith(scope))})
    made = replace(made, unread=None if names is None or len(names) > MAX_UNREAD else tuple(names))
    text = json.dumps(asdict(made))
    if facts.get(_fact(root)) != text:
        catalogue.set_meta({_fact(root): text})
