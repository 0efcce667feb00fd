"""What is asked, and what comes back, the same through every face: named values become a `Request`, and the
`Answer` becomes the contract's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.model import Answer, Condition, Request
from watersmeet.present.answer import breakdown, explain_line
from watersmeet.present.answer import to_json as plain_json

if TYPE_CHECKING:
    from threading import Event

    from watersmeet.core.viewers import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.whynot import WhyNot
    from watersmeet.present.pack import Pack

SHOWN = 10
PACKED = 100
"""How many results a context pack is made from."""

Filters = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asking:
    """A search by the names that the command line, MCP and REST share."""

    query: str
    mode: str = ""
    recipe: str = ""
    top_n: int | None = None
    filters: Filters = field(default_factory=dict)
    since: str = ""
    before: str = ""
    intent: str = ""
    explain: bool = False
    why_not: str = ""
    budget: int | None = None
    strict: bool = False

    def request(self, viewer: Viewer | None = None, stop: Event | None = None) -> Request:
        many = self.top_n or (PACKED if self.budget else SHOWN)
        found = condition(self.filters, self.since, self.before)
        return Request(
            self.query,
            self.mode,
            self.recipe,
            many,
            found,
            self.intent,
            self.strict,
            viewer,
            stop.is_set if stop else None,
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of it; `notes` is what the asker should know: that nothing fits, or what is wrong with the filters."""

    asking: Asking
    answer: Answer
    pack: Pack | None = None
    missing: WhyNot | None = None
    notes: Sequence[str] = ()

    @property
    def shown(self) -> int:
        """How many results are shown: a pack is made from more."""
        return self.asking.top_n or max(SHOWN, len(self.pack.citations) if self.pack else 0)

    def to_json(self) -> dict[str, Any]:
        shown = self.answer
        if self.pack is not None:
            shown = replace(shown, results=shown.results[: self.shown])
        made = plain_json(shown)
        if self.asking.explain:
            made["timings"] = {step: round(took, 3) for step, took in shown.timings.items()}
            made |= {"expansion": list(shown.expansion)} if shown.expansion else {}
            for result, told in zip(shown.results, made["results"], strict=True):
                told["why"] = [explain_line(result), *breakdown(result)]
        if self.pack is not None:
            made["pack"] = self.pack.to_json()
        if self.missing is not None:
            made["why_not"] = self.missing.to_json()
        if self.notes:
            made["notes"] = list(self.notes)
        return made


def ask(engine: Engine, asking: Asking, viewer: Viewer | None = None, stop: Event | None = None) -> Answered:
    """`stop` is set when nobody waits for the answer any more."""
    request = asking.request(viewer, stop)
    answer = engine.search(request)
    made = None
    notes: Sequence[str] = ()
    if (asking.filters or "#" in asking.query) and not answer.results:
        notes = engine.unknown_fields(request)
    if answer.no_good_match and answer.results:
        notes = [*notes, nothing_fits(answer.confidence)]
    if asking.budget:
        from watersmeet.present.pack import pack

        made = pack(answer.results, asking.budget)
    answered = Answered(asking, answer, made, None, notes)
    if asking.why_not:
        missing = engine.why_not(request, asking.why_not, answered.shown)
        answered = replace(answered, missing=missing)
    return answered


def without_places(found: dict[str, Any]) -> dict[str, Any]:
    """An answer for someone who is not at this machine: where a file lies in it is nobody else's business."""
    pack = found.get("pack") or {}
    for one in (found, *found.get("results", ()), *pack.get("citations", ())):
        if "document" in one and "path" in one:
            one["path"] = one["document"]
    return found


def nothing_fits(confidence: float | None) -> str:
    return f"nothing here fits well; this is what comes nearest (confidence {confidence or 0.0:.2f})"


def condition(filters: Filters, since: str = "", before: str = "") -> Condition:
    if not (filters or since or before):
        return Condition()
    from watersmeet.engine import asked

    return asked.condition(filters, since, before)


def filters_of(pairs: Iterable[str]) -> Filters:
    """`k=v` as a person writes it, by key."""
    from watersmeet.engine import asked

    return asked.condition(pairs).fields
