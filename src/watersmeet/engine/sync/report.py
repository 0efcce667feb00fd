"""Progress and final report of a sync."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from threading import Event
from typing import Any

from watersmeet.core.errors import Stopped
from watersmeet.core.indexing import Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.writing import Planned


@dataclass(frozen=True, slots=True)
class Cost:
    """What models on other machines have still to embed. `price` is in US dollars; None: not known for all of them."""

    providers: list[str]
    models: list[str]
    texts: int  # at most
    tokens: int  # estimated
    price: float | None
    confirm_above: float
    must_confirm: bool

    def __str__(self) -> str:
        names = " and ".join(f"{name} ({model})" for name, model in zip(self.providers, self.models, strict=True))
        return f"{names}: {self.texts:,} texts to embed, about {self.tokens:,} tokens, {self._priced}"

    @property
    def _priced(self) -> str:
        if self.price is None:
            return "price_per_million_tokens is not set"
        if not self.price:
            return "free of charge"
        return f"about {dollars(self.price)}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def dollars(price: float) -> str:
    return "less than $0.01" if 0 < price < MIN_PRICE else f"${price:,.2f}"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress: `done` of `total` are on disk; `doing` names the current step."""

    doing: str
    done: int
    total: int
    unit: str = "files"
    before: int = 0  # files that are indexed already and need not be read
    cost: Cost | None = None  # of what begins now


ProgressCallback = Callable[[Progress], None]


def cancellable(stop: Event, progress: ProgressCallback = lambda _: None) -> ProgressCallback:
    """A progress callback that cancels the work when the client has gone."""

    def callback(step: Progress) -> None:
        if stop.is_set():
            raise Stopped("the client has gone")
        progress(step)

    return callback


def compared(progress: ProgressCallback) -> ProgressCallback:
    """A progress callback of a dry run, which commits nothing."""

    def callback(step: Progress) -> None:
        progress(replace(step, doing="compared") if step.doing == "committed" else step)

    return callback


COST = "cost"
"""The path of a warning that vectors are missing because of what they cost."""
MIN_PRICE = 0.01
"""Less is not shown as a number."""
ACTIONS = ("added", "changed", "moved", "removed")
"""What a sync does to a document."""
MAX_PLANNED = 1000
"""Documents that the report of a dry run names for each action; further ones are only counted."""
MAX_WARNINGS = 100
"""Warnings of one kind listed for a file; further ones are only counted."""


@dataclass(slots=True)
class WarningList:
    """A limited list of warnings about the documents of one file, which may have a million."""

    path: str
    rest: str  # text after the number of further warnings
    listed: list[Skipped] = field(default_factory=list)
    more: int = 0

    def add(self, reason: str) -> None:
        if len(self.listed) < MAX_WARNINGS:
            self.listed.append(Skipped(self.path, reason))
        else:
            self.more += 1

    def all(self) -> list[Skipped]:
        return [*self.listed, Skipped(self.path, f"{self.more:,} {self.rest}")] if self.more else self.listed


@dataclass(slots=True)
class SyncReport:
    """What a sync did: numbers of files, and what could not be read. `documents` and `chunks` are of the index."""

    added: int = 0
    changed: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)  # files that were not read, and why
    warnings: list[Skipped] = field(default_factory=list)  # what is wrong with files that were read
    notes: list[Skipped] = field(default_factory=list)  # what else is worth knowing
    fresh: list[str] = field(default_factory=list)  # network roots that were read recently, and so not now
    left: int = 0  # files that the time limit has left to the next sync
    documents: int = 0
    chunks: int = 0
    embedded: int = 0  # chunks that a model embedded
    cached: int = 0  # vectors that were known from before
    took_ms: float = 0.0
    planned: list[Planned] | None = None  # of a dry run: what would have been written
    cost: Cost | None = None  # of the vectors, if a model is on another machine

    def to_json(self) -> dict[str, Any]:
        counts = {name: getattr(self, name) for name in (*ACTIONS, "unchanged")}
        lists = {
            name: [{"path": item.path, "reason": item.reason} for item in getattr(self, name)]
            for name in ("skipped", "warnings", "notes")
        }
        totals = {name: getattr(self, name) for name in ("documents", "chunks", "embedded")}
        made = {**counts, **lists, **totals, "took_ms": round(self.took_ms, 1), "cached": self.cached}
        made |= {name: value for name in ("fresh", "left") if (value := getattr(self, name))}
        made |= {"cost": self.cost.to_json()} if self.cost else {}
        return made if self.planned is None else made | {"dry_run": True, "planned": self.planned_by_action()}

    def add(self, part: Mapping[str, Any]) -> None:
        """Add what a part has read, as JSON."""
        for name in (*ACTIONS, "unchanged"):
            setattr(self, name, getattr(self, name) + part[name])
        for name in ("skipped", "warnings", "notes"):
            getattr(self, name).extend(Skipped(one["path"], one["reason"]) for one in part[name])

    def planned_by_action(self) -> dict[str, list[str]]:
        """The documents that a dry run would have changed, by action; not all of them if there are very many."""
        named = {action: [one.document for one in self.planned or () if one.action == action] for action in ACTIONS}
        return {action: list(documents[:MAX_PLANNED]) for action, documents in named.items()}
