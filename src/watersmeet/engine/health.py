"""Everything that could be wrong with an index, looked at."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from watersmeet.core.errors import IndexBusy, IndexDamaged, ModelProblem, NoIndex, WatersmeetError
from watersmeet.core.index import Tier
from watersmeet.core.model import ANY, Request
from watersmeet.core.viewers import EVERYONE
from watersmeet.engine.calibration import keeping
from watersmeet.engine.components import find
from watersmeet.engine.documents import size_of
from watersmeet.engine.lock import writer_lock
from watersmeet.engine.opening import ANEW, check_fingerprint, fingerprint, open_text
from watersmeet.engine.settings import Settings
from watersmeet.engine.tiers import TIERS, check_models, embedder_name, model_of, open_store, outdated, tiers_of
from watersmeet.engine.viewing import seen
from watersmeet.store.local import vocabulary
from watersmeet.store.local._connect import FORMAT, is_read_only
from watersmeet.store.local._intact import mark, unmark
from watersmeet.store.local._withheld import PUBLIC_TEXT
from watersmeet.store.local.snapshot import LocalSnapshot, check_there

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

FEW = 10_000
"""So many replaced rows cost nobody anything."""
MENDED = "run `watersmeet sync`: it makes the words again from the catalogue"


REREAD = f"run `watersmeet sync`: it reads the files again that this came from. If that does not help, {ANEW}"
TOLD = 5
"""How many things that are wrong with the catalogue are named."""


class Verified(Protocol):
    @property
    def folder(self) -> str: ...
    def verify(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    ok: bool
    detail: str
    hint: str = ""


def check(folder: str, settings: Settings) -> list[Check]:
    checks = [Check("trust", True, one.what, one.hint) for one in settings.ignored]
    try:
        view = LocalSnapshot(folder, partial(find, "store"))
    except WatersmeetError as error:
        return [*checks, Check("index", False, str(error), error.hint)]
    try:
        checks.append(_catalogue(folder, view))
        try:
            checks += _stores(folder, settings, view)
        except WatersmeetError as error:
            checks.append(Check("stores", False, str(error), error.hint))
    finally:
        view.close()
    return [*checks, _vocabulary(folder), _calibration(folder), _disk(folder), _lock(folder)]


def _catalogue(folder: str, view: LocalSnapshot) -> Check:
    """What is damaged there is marked: the next sync reads the files again that it came from."""
    problems = view.check()
    if not problems:
        unmark(folder)
        return Check("catalogue", True, "sound")
    mark(folder, "; ".join(problems))
    more = f"; and {len(problems) - TOLD} more" if len(problems) > TOLD else ""
    return Check("catalogue", False, "; ".join(problems[:TOLD]) + more, REREAD)


def asked(engine: Engine) -> Check:
    """Whether a document can be found by its own words: what else is damaged shows there."""
    try:
        with engine.snapshot() as view:
            first = [passage.text for passage in view.passages(view.newest(ANY, 1)).values()]
        if not first:
            return Check("search", True, "there is nothing to ask for")
        with engine.traced(Request(" ".join("".join(first).split()[:8]), mode="lexical")) as trace:
            failures = trace.outcome.failures
    except WatersmeetError as error:
        return Check("search", False, str(error), error.hint or ANEW)
    wrong = "; ".join(f"{failure.by}: {failure.reason}" for failure in failures)
    return Check("search", not wrong, wrong or "answers", ANEW if wrong else "")


def _vocabulary(folder: str) -> Check:
    for name in (vocabulary.PUBLIC, vocabulary.PRIVATE):
        path = vocabulary.path_of(folder, name)
        if os.path.exists(path) and vocabulary.load(folder, name) is None:
            return Check("vocabulary", False, f"{path} is damaged", "run `watersmeet sync`: it makes it again")
    return Check("vocabulary", True, "sound")


def _calibration(folder: str) -> Check:
    try:
        kept = keeping.load(folder)
    except WatersmeetError as error:
        return Check("calibration", False, str(error), error.hint)
    return Check("calibration", True, f"{kept.judged} judged, {kept.opened} opened")


def _stores(folder: str, settings: Settings, view: LocalSnapshot) -> list[Check]:
    with view.moment():
        facts = view.statistics()
        meta = view.meta()
        shared, private = view.shared(), view.needed(seen(EVERYONE).gates)
        left = {
            name: facts.chunks - round(view.seen_share(tier.folder, tier.rows) * facts.chunks)
            for name, tier in view.tiers().items()
        }
    built = json.loads(meta.get("fingerprint", "{}"))
    checks = [
        Check(
            "documents",
            facts.documents > 0,
            f"{facts.documents} documents, {facts.chunks} chunks",
            "" if facts.documents else "run `watersmeet sync PATH`",
        )
    ]
    if not built:
        return checks
    if built.get("format", FORMAT) < FORMAT:
        said = f"format {built['format']}, of an earlier version; it answers"
        checks.append(Check("format", True, said, "the next `watersmeet sync` upgrades it; ids and vectors stay"))
    wanted = fingerprint(settings)
    try:
        check_fingerprint(built, wanted, sorted({*built, *wanted} - {"format"}))  # that is the catalogue's own affair
        check_models(settings, meta)
        checks.append(Check("settings", True, "the index was built with these settings"))
    except WatersmeetError as error:
        checks.append(Check("settings", False, str(error), error.hint))
    checks += [_text(folder, built, meta, shared), *_private(meta, bool(private))]
    checks += [_vectors(folder, tier, facts.chunks, left[name], settings) for name, tier in tiers_of(meta).items()]
    checks += [_model(settings, name, embedder) for name in TIERS if (embedder := embedder_name(settings, name))]
    few = facts.dead < FEW
    dead = facts.dead / max(1, facts.chunks + facts.dead)
    checks.append(
        Check(
            "replaced rows",
            few or dead < 0.5,
            f"{facts.dead} ({dead:.0%}) wait for compaction",
            "" if few or dead < 0.5 else "run `watersmeet sync` again; it compacts",
        )
    )
    missing = [path for path in facts.roots if not os.path.exists(path)]
    checks.append(
        Check(
            "sources",
            not missing,
            "all there" if not missing else "gone: " + ", ".join(missing),
            "" if not missing else "mount them; or `watersmeet relocate OLD NEW`, or `watersmeet remove PATH`",
        )
    )
    return checks


def _text(folder: str, built: dict[str, str], meta: dict[str, str], live: int) -> Check:
    """The text store must never lack a live row."""
    try:
        store = open_text(built["text"], folder, meta["text_folder"])
    except (WatersmeetError, KeyError) as error:
        return Check("text store", False, str(error), ANEW)
    try:
        size = _whole(store).reader().size
    except (NoIndex, IndexDamaged) as error:
        return Check("text store", False, str(error), MENDED)
    except WatersmeetError as error:
        return Check("text store", False, str(error), error.hint)
    finally:
        store.close()
    ok = size >= live
    return Check(
        "text store",
        ok,
        f"{built['text']}: {size} rows for {live} live chunks",
        "" if ok else MENDED,
    )


def _private(meta: dict[str, str], there: bool) -> list[Check]:
    """Whether what is counted for everyone is of what everyone may see."""
    if not there:
        return []
    ok = meta.get(PUBLIC_TEXT) == meta["text_folder"]
    said = "in a place of their own" if ok else "the words of private entities count in everyone's scores"
    return [Check("private words", ok, said, "" if ok else "the next `watersmeet sync` or `register` moves them")]


S = TypeVar("S", bound=Verified)


def _whole(store: S) -> S:
    """A store whose files have all been read and compared with their sums. One that is damaged is marked."""
    try:
        store.verify()
    except IndexDamaged as error:
        mark(store.folder, str(error))
        raise
    return store


def _vectors(folder: str, tier: Tier, chunks: int, left: int, settings: Settings) -> Check:
    """A vector store may lack rows, for a while; it must be readable."""
    name = f"{tier.name} vectors"
    try:
        check_there(tier, folder)
        store = open_store(tier, folder)
        _whole(store).reader()
        store.close()
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    component = embedder_name(settings, tier.name)
    with suppress(ModelProblem):  # said by the model's own check
        if component and outdated(tier, model_of(settings, tier.name, component)):
            detail = f"made by an earlier file of {tier.model}; they answer until the new ones are made"
            return Check(name, True, detail, "run `watersmeet sync`")
    detail = f"{tier.model}: {chunks - left} of {chunks} live chunks"
    return Check(name, True, detail, "run `watersmeet deepen`" if left else "")


def _model(settings: Settings, tier: str, component: str) -> Check:
    """A model that cannot be loaded is missed by every search and every sync."""
    name = f"{tier} model"
    try:
        model = model_of(settings, tier, component)
        model.ready()
    except WatersmeetError as error:
        return Check(name, False, str(error), error.hint)
    return Check(name, True, f"{component}: {model.name}")


def _disk(folder: str) -> Check:
    free, size = shutil.disk_usage(folder).free, size_of(folder)
    ok = free > max(50_000_000, size // 4)
    return Check("disk", ok, f"{size / 1e6:.1f} MB used, {free / 1e9:.1f} GB free", "" if ok else "make room")


def _lock(folder: str) -> Check:
    if is_read_only(folder):
        return Check("writer", True, "nobody can write: the index is read-only, and can be searched")
    try:
        with writer_lock(folder, 0):
            return Check("writer", True, "nobody is writing")
    except IndexBusy as error:
        return Check("writer", True, str(error))
