"""Health checks of an index, of its settings and of its models."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from watersmeet.core import vocabulary
from watersmeet.core.errors import ModelProblem, WatersmeetError
from watersmeet.core.index import Check, Index, Tier
from watersmeet.core.languages import named
from watersmeet.core.model import ANY, Request
from watersmeet.engine import plugins
from watersmeet.engine.calibration import state
from watersmeet.engine.index.fingerprint import REBUILD_HINT, check_fingerprint, fingerprint
from watersmeet.engine.index.languages import HINT, language_shares, unread
from watersmeet.engine.index.state_names import CALIBRATION
from watersmeet.engine.index.tiers import TIERS, check_models, embedder_name, model_of, outdated
from watersmeet.engine.index.vocabulary import terms_in, terms_of
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.parsers import readers
from watersmeet.engine.sync.sources import Sources

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

ORDER = (
    *("trust", "index", "catalogue", "documents", "format", "settings", "text store", "private words"),
    *("static vectors", "sparse vectors", "dense vectors", "static model", "sparse model", "dense model"),
    *("replaced rows", "sources", "stores", "languages", "vocabulary", "calibration", "disk", "writer"),
)
"""Order of the checks."""
MIN_REPORTED = 0.05
"""Share of passages in languages that a model does not read, from which `doctor` names it."""


def check(index: Index, settings: Settings) -> list[Check]:
    checks = [*(Check("trust", True, one.what, one.hint) for one in settings.ignored), *_plugins()]
    stored = index.check()
    if any(one.name == "index" and not one.ok for one in stored):
        return [*checks, *stored]
    checks += [_with_model(one, index, settings) for one in stored]
    with suppress(WatersmeetError):  # a check has reported it
        checks += _built(index, settings)
    checks += [_languages(index, settings), _vocabulary(index), _calibration(index)]
    return sorted(checks, key=lambda one: ORDER.index(one.name) if one.name in ORDER else 0)


def _plugins() -> list[Check]:
    """Checks of plug-ins."""
    checks = []
    for plugin in plugins.installed():
        wrong, hint = plugins.problem(plugin)
        detail = f"{plugin.origin}: {wrong}" if wrong else "; ".join([plugin.origin, *_read_by_others(plugin)])
        checks.append(Check(f"plug-in {plugin.name} ({plugin.kind})", not wrong, detail, hint))
    return checks


def _read_by_others(plugin: plugins.Plugin) -> list[str]:
    """Formats of a plug-in parser that another parser reads."""
    forms = plugin.load().reads if plugin.kind == "parse" else ()
    readers_of = {form: readers()[form.casefold()] for form in forms}
    return [f"{form} is read by {name}" for form, name in readers_of.items() if name != plugin.name]


def _built(index: Index, settings: Settings) -> list[Check]:
    """Checks of documents, settings, models and sources."""
    with index.snapshot() as snapshot:
        facts, meta = snapshot.statistics(), dict(snapshot.facts())
    filled = facts.documents > 0
    detail = f"{facts.documents} documents, {facts.chunks} chunks"
    checks = [Check("documents", filled, detail, "" if filled else "run `watersmeet sync PATH`")]
    built = json.loads(meta.get("fingerprint", "{}"))
    if not built:
        return checks
    current = fingerprint(settings, index.format)
    try:
        check_fingerprint(built, current, sorted({*built, *current} - {"format"}))  # the store checks its format itself
        check_models(settings, meta)
        checks.append(Check("settings", True, "the index was built with these settings"))
    except WatersmeetError as error:
        checks.append(Check("settings", False, str(error), error.hint))
    checks += [_model(settings, name, embedder) for name in TIERS if (embedder := embedder_name(settings, name))]
    missing = Sources(settings).gone(facts.roots)
    hint = "mount them; or `watersmeet relocate OLD NEW`, or `watersmeet remove PATH`"
    detail = "missing: " + ", ".join(missing) if missing else "all found"
    return [*checks, Check("sources", not missing, detail, hint if missing else "")]


def _with_model(check: Check, index: Index, settings: Settings) -> Check:
    """A check of vectors, with a note if an earlier file of their model made them."""
    tier = check.name.removesuffix(" vectors")
    component = embedder_name(settings, tier) if check.ok and tier in TIERS else ""
    if not component:
        return check
    with (
        suppress(ModelProblem, WatersmeetError),
        index.snapshot() as snapshot,
    ):  # a broken model has its own check
        found: Tier = snapshot.tiers()[tier]
        if outdated(found, model_of(settings, tier, component)):
            detail = f"made by an earlier file of {found.model}; they are used until the new ones are made"
            return Check(check.name, True, detail, "run `watersmeet sync`")
    return check


def _model(settings: Settings, tier: str, component: str) -> Check:
    """Whether the model of a tier can be loaded."""
    name = f"{tier} model"
    try:
        model = model_of(settings, tier, component)
        model.ready()
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    return Check(name, True, f"{component}: {model.name}")


def _languages(index: Index, settings: Settings) -> Check:
    """Share of the passages in languages that no model of the settings reads; for information."""
    shares = language_shares(index)
    if not shares:
        return Check("languages", True, "not measured yet")
    detail = ", ".join(f"{named([language])} {share:.0%}" for language, share in list(shares.items())[:3])
    share_unread = {}
    for tier in TIERS:
        component = embedder_name(settings, tier)
        with suppress(WatersmeetError):  # a broken model has its own check
            share_unread[tier] = unread(shares, model_of(settings, tier, component).reads) if component else 0.0
    tiers = [tier for tier, share in share_unread.items() if share >= MIN_REPORTED]
    if not tiers:
        return Check("languages", True, detail)
    share = max(share_unread.values())
    return Check("languages", True, f"{detail}; {' and '.join(tiers)} cannot read {share:.0%} of the passages", HINT)


def _vocabulary(index: Index) -> Check:
    for name in (vocabulary.PUBLIC, vocabulary.PRIVATE):
        state = terms_in(index.state, name)
        if state.version() is not None and terms_of(state) is None:
            return Check("vocabulary", False, f"{state} is damaged", "run `watersmeet sync`, which rebuilds it")
    return Check("vocabulary", True, "sound")


def _calibration(index: Index) -> Check:
    try:
        stored = state.load(index.state(CALIBRATION))
    except WatersmeetError as error:
        return Check("calibration", False, str(error), error.hint)
    return Check("calibration", True, f"{stored.judged} judged, {stored.opened} opened")


def check_search(engine: Engine) -> Check:
    """A test search for the words of one document, which shows other damage."""
    try:
        with engine.snapshot() as snapshot:
            first = [passage.text for passage in snapshot.passages(snapshot.newest(ANY, 1)).values()]
        if not first:
            return Check("search", True, "the index has no documents to search for")
        with engine.open_search(Request(" ".join("".join(first).split()[:8]), mode="lexical")) as search_run:
            failures = search_run.outcome.failures
    except WatersmeetError as error:
        return Check("search", False, str(error), error.hint or REBUILD_HINT)
    wrong = "; ".join(f"{failure.by}: {failure.reason}" for failure in failures)
    return Check("search", not wrong, wrong or "answers", REBUILD_HINT if wrong else "")
