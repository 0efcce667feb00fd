"""Search parameters and replies, the same for every interface: parameters become a `Request`, and the `Answer`
becomes the contract's JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import NoIndex
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import EXPANSIONS, Answer, Condition, Request
from watersmeet.core.options import REQUIRED, option
from watersmeet.engine.query.modes import MODES
from watersmeet.engine.settings.settings import recipes
from watersmeet.present.answer import breakdown, explain_line, result_json, routed_json, spelling_json
from watersmeet.present.answer import to_json as plain_json

if TYPE_CHECKING:
    from threading import Event

    from watersmeet.core.model import Result
    from watersmeet.core.visibility import Viewer
    from watersmeet.engine.engine import Engine
    from watersmeet.engine.query.multi_index import MultiIndex
    from watersmeet.engine.query.releases import ResolvedVersion
    from watersmeet.engine.query.why_not import WhyNot
    from watersmeet.engine.sync.folder_cache import Indexing
    from watersmeet.present.pack import Pack, Part

DEFAULT_TOP_N = 10
PACK_CANDIDATES = 100
"""How many results a context pack is made from."""
_MAX_TIME = 999_999.999
"""Stands in for times when a budget is computed, so that what fits does not vary from run to run."""
_MAX_STALE = 9999
"""The same for the number of changed files."""
_MAX_DOCUMENT_TOKENS = 99_999_999
"""The same for the tokens of the documents that a pack stands for."""
_SCORE_DIGITS = 4
"""Decimal places of scores in results under a budget."""

RELEASE = "release"
"""Field with the package and version of a document."""
FILES = "files"
"""Field with the files that a commit changed; its filter takes globs."""
MAX_FILES = 5_000
Filters = Mapping[str, Sequence[str]]
"""Filter values by key; a key that ends with `!` excludes its values."""


@dataclass(frozen=True, slots=True)
class SearchParams:
    """Search parameters, declared once: the command line's flags, the bodies of REST and MCP, the page's form and the
    reference are generated from them."""

    query: str = option(
        REQUIRED,
        'what to search for: plain text, with "a phrase", -word, tag:, path: and kind: as operators',
        least=1,
        longest=512,
        metavar="QUERY",
        brief="a question, or a name as it is written",
    )
    mode: str = option(
        "",
        "the search mode; default: hybrid, or lexical where there are no vectors",
        choices=lambda: tuple(MODES),
        metavar="MODE",
    )
    recipe: str = option("", "the recipe to use; default: as the settings say", choices=recipes, metavar="NAME")
    top_n: int | None = option(
        None,
        "how many results; default: 10, or as many as fit the budget. As text: how many documents; default: 5, fewer "
        "where scores drop",
        least=1,
        most=1000,
        aliases=("limit", "max_results", "top_k", "topK"),
        flags=("-n",),
        brief="default 10",
    )
    offset: int = option(0, "leave out so many of the best results, to get those after them", least=0, most=999)
    filters: Filters = option(
        {},
        "only documents with this value; a key that ends with ! (path!=drafts/**) excludes them instead. "
        "tag=food: that tag or one below it, such as food/bread. path=guides/**: a glob matched against the whole id "
        "as `list` shows it; without a slash, path=*.txt, against the file name. kind=, collection= or any field of "
        "the front matter, such as status=done: that value, ignoring case. files=src/**: commits that changed such a "
        "file. Several values of one key: any of them; several keys: all of them",
        metavar="K=V",
        flags=("--filter",),
        brief='by key: {"tag": "a", "path": "guides/**"}; "key!" excludes; kind, collection, any front matter field',
    )
    exclude: tuple[str, ...] = option((), "leave out the document with this id", metavar="DOC")
    since: str = option(
        "",
        "only documents changed since this date: 2026-01-31, or 7d, 2w, 3m, 1y ago",
        metavar="DATE",
        brief="changed since: 2026-01-31, 7d, 1y",
    )
    before: str = option("", "only documents changed before this date", metavar="DATE")
    version: str = option(
        "",
        "only packages (pypi:, npm:) in this version, or the best one of a range that is indexed: 2.31.0, 18.x, ^18.2, "
        "'>=18,<19'; the answer says which",
        longest=200,
        metavar="RANGE",
    )
    intent: str = option(
        "",
        "what the answer is needed for, if the query alone is ambiguous",
        longest=2000,
        metavar="TEXT",
        brief="what it is needed for, if ambiguous",
    )
    min_score: float = option(
        0.0, "leave out results with a lower score; the best result always has 1", least=0, most=1, metavar="SCORE"
    )
    min_confidence: float = option(
        0.0,
        "return no results if the confidence that one of the first three fits is lower than this",
        least=0,
        most=1,
        metavar="SHARE",
    )
    one_per_document: bool = option(False, "only the best passage of each document")
    facets: bool = option(False, "count the documents found by kind, collection, tag and date")
    expand: str = option(
        "", "show each result with the whole section or page around it", choices=lambda: EXPANSIONS, metavar="HOW"
    )
    explain: bool = option(False, "show how each result got its rank")
    why_not: str = option("", "show at which step this document was dropped, and why", longest=200, metavar="DOC")
    budget: int | None = option(
        None,
        "return a context pack of the best passages; the whole output has at most this many tokens",
        least=1,
        most=1_000_000,
        metavar="TOKENS",
        brief="most tokens of the whole answer",
    )
    strict: bool = option(
        False,
        "fail if a signal of the recipe is not used: it failed, or its vectors are missing or too few so far",
    )

    def request(self, viewer: Viewer | None = None, stop: Event | None = None) -> Request:
        return Request(
            self.query,
            self.mode,
            self.recipe,
            self.top_n or (PACK_CANDIDATES if self.budget else DEFAULT_TOP_N),
            condition(self.filters, self.since, self.before, self.exclude),
            self.intent,
            self.strict,
            viewer,
            stop.is_set if stop else None,
            min_score=self.min_score,
            min_confidence=self.min_confidence,
            one_per_document=self.one_per_document,
            expand=self.expand,
            expand_tokens=self.budget // 2 if self.budget else None,  # leaves room for the rest of the output
            offset=self.offset,
            facets=self.facets,
        )


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """Output format of an interface: the pack as text, the answer as JSON, or both; all counts against a budget."""

    text: bool = False
    dumps: Callable[[Any], str] | None = dumps
    full: bool = False  # results with their texts and all fields, in addition to the pack
    nearest: int | None = None  # so many results if nothing fits; none: as many as otherwise


AS_JSON = OutputFormat()


@dataclass(frozen=True, slots=True)
class SearchReply:
    """A search reply. `notes` are remarks for the user: that nothing fits, or what is wrong with the filters."""

    params: SearchParams
    answer: Answer
    pack: Pack | None = None
    missing: WhyNot | None = None
    notes: Sequence[str] = ()
    output: OutputFormat = AS_JSON
    listed: int | None = None  # number of results in the output; none: all
    version: ResolvedVersion | None = None
    indexing: Indexing | None = None  # how far the sync of the folder is, if it is not done

    @property
    def shown(self) -> Sequence[Result]:
        return self.answer.results[: self.listed]

    @property
    def found(self) -> bool:
        """Whether there is anything to read."""
        return bool(self.pack.citations if self.pack else self.shown)

    @property
    def brief(self) -> bool:
        return self.pack is not None and not self.output.full

    def remarks(self) -> list[str]:
        """Notes and failures, to show beside the results."""
        return [*self.notes, *(f"Without {one.by}: {one.reason}" for one in self.answer.failures)]

    def fits(self, line: str) -> bool:
        """Whether a further line keeps the output within the budget."""
        from watersmeet.core.token_count import hundredths

        return _fixed(self) + hundredths(f"\n{line}\n") <= (self.params.budget or 0) * 100

    def to_json(self) -> dict[str, Any]:
        made = plain_json(replace(self.answer, results=()))
        made |= {"spelling": [spelling_json(one) for one in self.answer.spelling]} if self.answer.spelling else {}
        made["results"] = [self.result_json(result) for result in self.shown]
        if not self.brief:
            self._add_copies(made["results"])
        if self.params.explain:
            made["timings"] = {step: round(took, 3) for step, took in self.answer.timings.items()}
            made["counts"] = dict(self.answer.counts)
            made |= {"expansion": list(self.answer.expansion)} if self.answer.expansion else {}
            made["routed"] = [routed_json(one) for one in self.answer.routed]
        if self.answer.facets is not None:
            made["facets"] = self.answer.facets.to_json()
        if self.answer.operators:
            made["operators"] = [one._asdict() for one in self.answer.operators]
        if self.pack is not None:
            made["pack"] = self.pack.to_json(self.brief)
        if self.missing is not None:
            made["why_not"] = self.missing.to_json()
        if self.version is not None:
            made["version"] = self.version.to_json()
        if self.notes:
            made["notes"] = list(self.notes)
        if self.indexing is not None:
            made["indexing"] = self.indexing.to_json()
        return made

    def _add_copies(self, results: list[dict[str, Any]]) -> None:
        """Name the near copies of each result among the others; they stay in the list."""
        from watersmeet.present.groups import same_text

        copies = same_text(self.shown)
        for one in results:
            if one["id"] in copies:
                listed = [{"id": c.id, "document": c.document, "where": c.where} for c in copies[one["id"]]]
                one["same_text"] = listed

    def result_json(self, result: Result) -> dict[str, Any]:
        """The JSON of a result. With a budget only its id and scores: text and source are in the pack."""
        made = result_json(result)
        if self.params.explain:
            made["why"] = [explain_line(result), *breakdown(result)]
        if not self.brief:
            return made
        made |= {"title": "", "headings": [], "path": "", "text": ""}
        made |= {} if self.params.explain else {"evidence": []}
        for score in ("score", "fusion_score", "similarity"):
            made[score] = made[score] and round(made[score], _SCORE_DIGITS)
        return made


def run_search(
    engine: Engine | MultiIndex,
    params: SearchParams,
    viewer: Viewer | None = None,
    stop: Event | None = None,
    output: OutputFormat = AS_JSON,
    indexing: Indexing | None = None,
) -> SearchReply:
    """Run a search. `stop` is set when the client has gone; `output` says what a budget has to cover; `indexing`, how
    far the index is if it is still being made: without any index yet, nothing is found."""
    try:
        version = _resolve_version(engine, params, viewer)
        filters = {**params.filters, RELEASE: version.releases} if version else params.filters
        filters = _files_by_glob(engine, filters, viewer)
        request = replace(params, filters=filters).request(viewer, stop)
        answer = engine.search(request)
        if answer.no_good_match:
            answer = replace(answer, results=answer.results[: output.nearest])
    except NoIndex:
        if indexing is None:
            raise
        answer = Answer(params.query, params.mode or "lexical", params.recipe or engine.settings.recipe, (), (), 0.0)
        return _within_budget(SearchReply(params, answer, notes=[indexing.note], output=output, indexing=indexing))
    notes: Sequence[str] = ()
    if (params.filters or "#" in params.query) and not answer.results:
        notes = engine.unknown_fields(request)
    if not answer.results and 0 < (answer.confidence or 0.0) < params.min_confidence:
        notes = [*notes, below_confidence(answer.confidence, params.min_confidence)]
    notes = [*notes, *(str(one) for one in answer.operators if not one.applied)]
    if answer.no_good_match and answer.results:
        notes = [*notes, no_good_match(answer.confidence)]
    if answer.stale:
        notes = [*notes, stale_note(answer.stale)]
    if indexing is not None:
        notes = [*notes, indexing.note]
    notes = [str(version), *notes] if version else notes
    reply = SearchReply(params, answer, notes=notes, output=output, version=version, indexing=indexing)
    reply = _within_budget(reply)
    if params.why_not:
        shown = len(reply.pack.citations) if reply.pack else params.top_n or DEFAULT_TOP_N
        missing = engine.why_not(request, params.why_not, shown)
        reply = _within_budget(replace(reply, pack=None, listed=None, missing=missing))
    return _beside_documents(engine, reply, viewer)


def with_pack(
    engine: Engine | MultiIndex, reply: SearchReply, tokens: int, viewer: Viewer | None = None
) -> SearchReply:
    """A reply without a budget, with a context pack of at most so many tokens beside its results."""
    from watersmeet.present.pack import pack

    return _beside_documents(engine, replace(reply, pack=pack(reply.answer.results, tokens)), viewer)


def _beside_documents(engine: Engine | MultiIndex, reply: SearchReply, viewer: Viewer | None) -> SearchReply:
    """The reply with the size of the documents that its pack stands for."""
    if reply.pack is None or not reply.pack.citations:
        return reply
    cited = reply.answer.results[: len(reply.pack.citations)]
    return replace(reply, pack=reply.pack.beside(engine.text_bytes(cited, viewer)))


def _resolve_version(
    engine: Engine | MultiIndex, params: SearchParams, viewer: Viewer | None
) -> ResolvedVersion | None:
    if not params.version:
        return None
    from watersmeet.engine.query.releases import resolve

    return resolve(params.version, engine.releases(viewer), params.filters)


def _files_by_glob(engine: Engine | MultiIndex, filters: Filters, viewer: Viewer | None) -> Filters:
    """The filters with globs for the files of commits, such as src/**/*.py, replaced by the files that match."""
    keys = [key for key in (FILES, f"{FILES}!") if any(set(value) & set("*?[") for value in filters.get(key, ()))]
    if not keys:
        return filters
    from watersmeet.common.globs import pattern

    known, found = engine.field_values(FILES, viewer), dict(filters)
    for key in keys:
        rules = [rule for value in filters[key] if (rule := pattern(value.lower(), may_negate=False)) is not None]
        named = [
            file for file in known if any(rule.matches(file.rpartition("/")[2], file.lower(), False) for rule in rules)
        ]
        found[key] = named[:MAX_FILES] or filters[key]  # none: a note says so
    return found


def _within_budget(reply: SearchReply) -> SearchReply:
    """The reply with a context pack, if there is a budget: as many passages as fit, then as many results as fit.

    The first passage always comes with its result; with `explain` or full output, so do all others.
    """
    budget, results, output = reply.params.budget, reply.answer.results, reply.output
    if not budget:
        return reply
    from watersmeet.core.token_count import hundredths
    from watersmeet.present.pack import Pack, as_text, least, nothing_packed, pack

    def listing(at: int) -> int:
        return hundredths(output.dumps(frame.result_json(results[at])) + ", ") if output.dumps else 0

    def cost(at: int, part: Part) -> int:
        price = as_text(at, part) if output.text else 0
        if output.dumps:
            price += hundredths(output.dumps(part.text + "\n\n"))
            price += hundredths(output.dumps(part.citation.to_json(frame.brief)) + ", ")
        return price + (listing(at) if together or at == 0 else 0)

    together = reply.params.explain or output.full
    frame = replace(reply, pack=Pack("", int(_MAX_TIME), int(_MAX_TIME), (), _MAX_DOCUMENT_TOKENS), listed=0)
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
    """The token cost of a reply as it is, in hundredths of a token."""
    from watersmeet.core.token_count import hundredths

    output, price = reply.output, 0
    if output.text:
        passages = [reply.pack.text] if reply.pack and reply.pack.text else []
        price += hundredths("\n\n".join([*reply.remarks(), *passages]))
    if output.dumps:
        content = reply.to_json() | {"took_ms": _MAX_TIME, "stale": _MAX_STALE}
        content |= {"timings": dict.fromkeys(content["timings"], _MAX_TIME)} if "timings" in content else {}
        price += hundredths(output.dumps(content))
    return price


def without_paths(found: dict[str, Any]) -> dict[str, Any]:
    """An answer without local paths, for a caller on another machine."""
    pack = found.get("pack") or {}
    for one in (found, *found.get("results", ()), *pack.get("citations", ())):
        if "document" in one and one.get("path"):
            one["path"] = one["document"]
    return found


def below_confidence(confidence: float | None, wanted: float) -> str:
    return f"no results: the confidence {confidence or 0.0:.3g} is below the requested {wanted:g}"


def stale_note(files: int) -> str:
    changed = "1 file changed" if files == 1 else f"{files:,} files changed"
    return f"{changed} since the last sync; `watersmeet sync` or `search --sync` reads what is new"


def no_good_match(confidence: float | None) -> str:
    return f"no good match; these are the closest results (confidence {confidence or 0.0:.2f})"


def condition(filters: Filters, since: str = "", before: str = "", exclude: Sequence[str] = ()) -> Condition:
    if not (filters or since or before or exclude):
        return Condition()
    from watersmeet.engine.query.filters import condition as build_condition

    return build_condition(filters, since, before, exclude=exclude)


def filters_of(pairs: Iterable[str]) -> Filters:
    """Filters from `k=v` and `k!=v` as typed, by key; the key of the latter ends with `!`."""
    from watersmeet.engine.query.filters import condition as build_condition

    found = build_condition(pairs)
    return {**found.fields, **{f"{key}!": values for key, values in found.without}}
