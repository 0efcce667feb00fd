"""What is asked, and what comes back, the same through every face: named values become a `Request`, and the
`Answer` becomes the contract's JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.model import EXPANSIONS, Answer, Condition, Request
from watersmeet.core.options import REQUIRED, option
from watersmeet.engine.query.modes import MODES
from watersmeet.engine.settings.settings import recipes
from watersmeet.present.answer import breakdown, explain_line, result_json, routed_json
from watersmeet.present.answer import to_json as plain_json

if TYPE_CHECKING:
    from threading import Event

    from watersmeet.core.model import Result
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.query.multi_index import MultiIndex
    from watersmeet.engine.query.why_not import WhyNot
    from watersmeet.present.pack import Pack, Part

SHOWN = 10
PACKED = 100
"""How many results a context pack is made from."""
_LONGEST = 999_999.999
"""Stands for times, which are different in each run: what fits into a budget does not depend on them."""
_DIGITS = 4
"""How exactly a budget's results tell their scores."""

Filters = Mapping[str, Sequence[str]]
"""Values by key; those of a key that ends with `!` are left out."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """A search, declared once: the command line's flags, the bodies of REST and MCP, the page's form and the reference
    are made from this."""

    query: str = option(
        REQUIRED,
        "what is looked for; every character of it is text: there is no query language",
        least=1,
        longest=512,
        metavar="QUERY",
    )
    mode: str = option("", "how it is looked for; else the best there is", choices=lambda: tuple(MODES), metavar="MODE")
    recipe: str = option("", "which recipe answers; else as the settings say", choices=recipes, metavar="NAME")
    top_n: int | None = option(
        None,
        "how many; 10, or what fits the budget",
        least=1,
        most=1000,
        aliases=("limit", "max_results", "top_k", "topK"),
        flags=("-n",),
    )
    filters: Filters = option(
        {},
        "only documents with this; a key that ends with ! (path!=drafts/**): only those without it. "
        "tag=food: that tag or one below it, such as food/bread. path=guides/**: a glob held against the whole id as "
        "`list` shows it, or without a slash, path=*.txt, against the file's name. kind=, collection= or any field of "
        "the front matter, such as status=done: that value, in upper or lower case. Several: any of the values of one "
        "key, and all of the keys",
        metavar="K=V",
        flags=("--filter",),
    )
    exclude: tuple[str, ...] = option((), "leave this document out, by its id", metavar="DOC")
    since: str = option("", "changed since: 2026-01-31, or 7d, 2w, 3m, 1y ago", metavar="DATE")
    before: str = option("", "changed before", metavar="DATE")
    intent: str = option("", "what the answer is for", longest=2000, metavar="TEXT")
    min_score: float = option(
        0.0, "leave out results with a lower score; the best of an answer has 1", least=0, most=1, metavar="SCORE"
    )
    min_confidence: float = option(
        0.0,
        "no results at all if the answer is less sure than this that one of the first three fits",
        least=0,
        most=1,
        metavar="SHARE",
    )
    one_per_document: bool = option(False, "of each document only its best passage")
    expand: str = option(
        "", "show each result with the whole section or page that it is from", choices=lambda: EXPANSIONS, metavar="HOW"
    )
    explain: bool = option(False, "say how each result came to its place")
    why_not: str = option("", "say where this document fell out, and why", longest=200, metavar="DOC")
    budget: int | None = option(
        None,
        "a context pack of the best passages; all that is sent is at most so many tokens",
        least=1,
        most=1_000_000,
        metavar="TOKENS",
    )
    strict: bool = option(
        False,
        "fail if any signal of the recipe could not vote: it failed, or its vectors are missing or too few so far",
    )

    def request(self, viewer: Viewer | None = None, stop: Event | None = None) -> Request:
        return Request(
            self.query,
            self.mode,
            self.recipe,
            self.top_n or (PACKED if self.budget else SHOWN),
            condition(self.filters, self.since, self.before, self.exclude),
            self.intent,
            self.strict,
            viewer,
            stop.is_set if stop else None,
            min_score=self.min_score,
            min_confidence=self.min_confidence,
            one_per_document=self.one_per_document,
            expand=self.expand,
            expand_tokens=self.budget // 2 if self.budget else None,  # room for what else is sent
        )


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """What a face sends, all of which counts against a budget: the pack as text, the answer as JSON, or both."""

    text: bool = False
    dumps: Callable[[Any], str] | None = dumps
    full: bool = False  # results with their texts and all they have, though there is a pack


AS_JSON = Sent()


@dataclass(frozen=True, slots=True)
class SearchReply:
    """What came of it; `notes` is what the asker should know: that nothing fits, or what is wrong with the filters."""

    params: SearchParams
    answer: Answer
    pack: Pack | None = None
    missing: WhyNot | None = None
    notes: Sequence[str] = ()
    sent: Sent = AS_JSON
    listed: int | None = None  # of how many results is told; none: all

    @property
    def shown(self) -> Sequence[Result]:
        return self.answer.results[: self.listed]

    @property
    def found(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.pack.citations if self.pack else self.shown)

    @property
    def brief(self) -> bool:
        return self.pack is not None and not self.sent.full

    def said(self) -> list[str]:
        """What a reader is told beside the results."""
        return [*self.notes, *(f"Without {one.by}: {one.reason}" for one in self.answer.failures)]

    def to_json(self) -> dict[str, Any]:
        made = plain_json(replace(self.answer, results=()))
        made["results"] = [self.result_json(result) for result in self.shown]
        if self.params.explain:
            made["timings"] = {step: round(took, 3) for step, took in self.answer.timings.items()}
            made |= {"expansion": list(self.answer.expansion)} if self.answer.expansion else {}
            made["routed"] = [routed_json(one) for one in self.answer.routed]
        if self.pack is not None:
            made["pack"] = self.pack.to_json(self.brief)
        if self.missing is not None:
            made["why_not"] = self.missing.to_json()
        if self.notes:
            made["notes"] = list(self.notes)
        return made

    def result_json(self, result: Result) -> dict[str, Any]:
        """With a budget: which it is and how good. What it says and where it is from stands in the pack."""
        made = result_json(result)
        if self.params.explain:
            made["why"] = [explain_line(result), *breakdown(result)]
        if not self.brief:
            return made
        made |= {"title": "", "headings": [], "path": "", "text": ""}
        made |= {} if self.params.explain else {"evidence": []}
        for score in ("score", "fusion_score", "similarity"):
            made[score] = made[score] and round(made[score], _DIGITS)
        return made


def run_search(
    engine: Engine | MultiIndex,
    params: SearchParams,
    viewer: Viewer | None = None,
    stop: Event | None = None,
    sent: Sent = AS_JSON,
) -> SearchReply:
    """`stop` is set when nobody waits for the answer any more; `sent` says what a budget has to cover."""
    request = params.request(viewer, stop)
    answer = engine.search(request)
    notes: Sequence[str] = ()
    if (params.filters or "#" in params.query) and not answer.results:
        notes = engine.unknown_fields(request)
    if not answer.results and 0 < (answer.confidence or 0.0) < params.min_confidence:
        notes = [*notes, not_sure_enough(answer.confidence, params.min_confidence)]
    if answer.no_good_match and answer.results:
        notes = [*notes, nothing_fits(answer.confidence)]
    reply = _within_budget(SearchReply(params, answer, None, None, notes, sent))
    if params.why_not:
        shown = len(reply.pack.citations) if reply.pack else params.top_n or SHOWN
        missing = engine.why_not(request, params.why_not, shown)
        reply = _within_budget(SearchReply(params, answer, None, missing, notes, sent))
    return reply


def _within_budget(reply: SearchReply) -> SearchReply:
    """With a pack, if one is wanted: as many passages as fit with all else that is sent, then as many results.

    The first passage comes with its result, and so do the others if the asker wants to know more of them.
    """
    budget, results, sent = reply.params.budget, reply.answer.results, reply.sent
    if not budget:
        return reply
    from watersmeet.core.token_count import hundredths
    from watersmeet.present.pack import Pack, as_text, least, nothing_packed, pack

    def listing(at: int) -> int:
        return hundredths(sent.dumps(frame.result_json(results[at])) + ", ") if sent.dumps else 0

    def cost(at: int, part: Part) -> int:
        price = as_text(at, part) if sent.text else 0
        if sent.dumps:
            price += hundredths(sent.dumps(part.text + "\n\n"))
            price += hundredths(sent.dumps(part.citation.to_json(frame.brief)) + ", ")
        return price + (listing(at) if together or at == 0 else 0)

    together = reply.params.explain or sent.full
    frame = replace(reply, pack=Pack("", int(_LONGEST), int(_LONGEST), ()), listed=0)
    made = pack(results, budget, cost, fixed := _fixed(frame))
    count = len(made.citations)
    if results and not count:
        notes = [*reply.notes, nothing_packed(budget, least(results, cost, fixed))]
        return replace(frame, pack=made, notes=notes)
    listed = count if together else min(count, 1)
    packed = replace(frame, pack=made, listed=listed)
    left = budget * 100 - _fixed(packed)
    while listed < count and (left := left - listing(listed)) >= 0:
        listed += 1
    return replace(packed, listed=listed)


def _fixed(reply: SearchReply) -> int:
    """What an answer costs as it is, in hundredths of a token."""
    from watersmeet.core.token_count import hundredths

    sent, price = reply.sent, 0
    if sent.text:
        passages = [reply.pack.text] if reply.pack and reply.pack.text else []
        price += hundredths("\n\n".join([*reply.said(), *passages]))
    if sent.dumps:
        told = reply.to_json() | {"took_ms": _LONGEST}
        told |= {"timings": dict.fromkeys(told["timings"], _LONGEST)} if "timings" in told else {}
        price += hundredths(sent.dumps(told))
    return price


def without_paths(found: dict[str, Any]) -> dict[str, Any]:
    """An answer for someone who is not at this machine: where a file lies in it is nobody else's business."""
    pack = found.get("pack") or {}
    for one in (found, *found.get("results", ()), *pack.get("citations", ())):
        if "document" in one and one.get("path"):
            one["path"] = one["document"]
    return found


def not_sure_enough(confidence: float | None, wanted: float) -> str:
    return f"nothing is shown: the confidence is {confidence or 0.0:.3g}, and {wanted:g} was asked for"


def nothing_fits(confidence: float | None) -> str:
    return f"nothing here fits well; this is what comes nearest (confidence {confidence or 0.0:.2f})"


def condition(filters: Filters, since: str = "", before: str = "", exclude: Sequence[str] = ()) -> Condition:
    if not (filters or since or before or exclude):
        return Condition()
    from watersmeet.engine.query.filters import condition as build_condition

    return build_condition(filters, since, before, exclude=exclude)


def filters_of(pairs: Iterable[str]) -> Filters:
    """`k=v` and `k!=v` as a person writes it, by key; the latter's key ends with `!`."""
    from watersmeet.engine.query.filters import condition as build_condition

    found = build_condition(pairs)
    return {**found.fields, **{f"{key}!": values for key, values in found.without}}
