"""The cost of vectors that models on other machines have still to make, counted before the first request.

Texts whose vectors are in the cache cost nothing. The count is never too low: a text that is there twice counts twice.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import TYPE_CHECKING

from watersmeet.core.errors import CostRefused, ModelProblem
from watersmeet.core.index import Index, Snapshot, Tier
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import Row
from watersmeet.core.text_fields import embedded_text
from watersmeet.core.token_count import estimate
from watersmeet.core.vectors import key_of
from watersmeet.engine.index.tiers import due, embedder_name, is_remote, model_of
from watersmeet.engine.index.vector_cache import cache_place, open_cache
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.deepen import facts_of
from watersmeet.engine.sync.report import Cost, Progress, ProgressCallback, SyncReport, compared, dollars
from watersmeet.engine.sync.roots import SyncOptions, sync

if TYPE_CHECKING:
    from watersmeet.core.vectors import VectorCache
    from watersmeet.core.writing import Put
    from watersmeet.engine.index.tiers import Model

ASSUMED_PRICE = 1.0
"""Dollars for a million tokens where no price is set, to compare with `index.confirm_above`: more than they cost."""
_PAGE = 1000
_HINT = (
    "to go on: `watersmeet sync --yes` or `watersmeet deepen --yes`, `confirm` of a request, or a higher "
    "index.confirm_above. What is indexed can be searched without these vectors meanwhile"
)
Approved = MutableMapping[str, int]
"""By tier, the last row whose cost was low enough or confirmed."""


@dataclass(slots=True)
class _Count:
    """Texts and tokens that the model of a tier has still to embed."""

    tier: str
    provider: str
    model: Model
    fingerprint: str
    texts: int = 0
    tokens: int = 0
    pending: set[bytes] = field(default_factory=set)
    each: int = 0  # tokens that every text is sent with

    def add(self, texts: Sequence[str], cache: VectorCache | None, pending: bool) -> None:
        """Count texts without vectors. `pending`: of the index, and not of a dry run, which counts those again."""
        keys = [key_of(text) for text in texts]
        found = cache.get_many(self.fingerprint, keys).keys() if cache else set()
        for text, key in zip(texts, keys, strict=True):
            if key in found or (not pending and key in self.pending):
                continue
            if pending:
                self.pending.add(key)
            self.texts += 1
            self.tokens += self.each + estimate(text)


class CostCount:
    """The cost of embedding texts with those of these tiers whose models are on another machine."""

    def __init__(self, settings: Settings, tiers: Sequence[str]) -> None:
        self._settings = settings
        self.counts = [_count(settings, tier) for tier in tiers if is_remote(settings, tier)]
        self._cache = open_cache(settings) if self.counts and os.path.isdir(cache_place()) else None

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()

    def planned(self, put: Put) -> None:
        """Count the chunks of a document that a dry run would write."""
        texts = [embedded_text(put.document.title, one.chunk.headings, one.chunk.text) for one in put.chunks]
        for count in self.counts:
            count.add(texts, self._cache, pending=False)

    def pending(self, snapshot: Snapshot, after: MutableMapping[str, int]) -> dict[str, int]:
        """Count the chunks of an index that have no vectors; `after`: only above these rows. Returns the last rows."""
        last: dict[str, int] = {}
        for count in self.counts:
            tier = snapshot.tiers().get(count.tier) or Tier(
                count.tier, count.model.name, count.fingerprint, 0, folder=""
            )
            row = after.get(count.tier, 0)
            while found := snapshot.unseen(tier, _PAGE, (), row):
                row = max(one.row for one in found)
                texts = [embedded_text(one.title, one.headings, one.text) for one in found]
                count.add(texts, self._cache, pending=True)
            last[count.tier] = row
        return last

    def cost(self) -> Cost | None:
        """The cost in all; None if no model is on another machine."""
        if not self.counts:
            return None
        prices = [one.model.price(one.tokens) for one in self.counts]
        known = [price for price in prices if price is not None]
        unknown = sum(one.tokens for one, price in zip(self.counts, prices, strict=True) if price is None)
        limit = self._settings.section("index").confirm_above
        return Cost(
            providers=[one.provider for one in self.counts],
            models=[one.model.name for one in self.counts],
            texts=sum(one.texts for one in self.counts),
            tokens=sum(one.tokens for one in self.counts),
            price=sum(known) if len(known) == len(prices) else None,
            confirm_above=limit,
            must_confirm=sum(known) + ASSUMED_PRICE * unknown / 1e6 > limit,
        )


def affordable(
    index: Index,
    settings: Settings,
    tiers: Sequence[str],
    after: Row | int,
    approved: Approved,
    confirm: bool,
    report: SyncReport,
    progress: ProgressCallback,
) -> tuple[Sequence[str], list[CostRefused]]:
    """The tiers that may be embedded, and why the others may not. The cost is reported before anything is sent.

    What was approved is not counted again: a server embeds in many small steps."""
    count = CostCount(settings, tiers)
    if not count.counts:
        return tiers, []
    with closing(count), index.snapshot() as snapshot:
        last = count.pending(snapshot, {tier: max(after, approved.get(tier, 0)) for tier in tiers})
    report.cost = cost = count.cost()
    assert cost is not None  # noqa: S101 - for the type checker: there are counts
    if cost.texts:
        progress(Progress("cost", 0, cost.texts, "texts", cost=cost))
    if cost.must_confirm and not confirm:
        remote = {one.tier for one in count.counts}
        refused = CostRefused(f"{cost}; that is above {dollars(cost.confirm_above)} (index.confirm_above)", _HINT)
        return [tier for tier in tiers if tier not in remote], [refused]
    approved.update(last)
    return tiers, []


def try_sync(
    index: Index,
    settings: Settings,
    paths: Sequence[str | os.PathLike[str]],
    options: SyncOptions,
    progress: ProgressCallback,
    vectors: bool,
    deep: bool,
) -> SyncReport:
    """A dry run, with the cost of what it would write, and of what the index lacks already."""
    wanted = vectors and settings.section("index").vectors
    count = CostCount(settings, due(settings, facts_of(index) if index.exists() else {}, deep) if wanted else ())
    with closing(count):
        if count.counts and index.exists():
            with index.snapshot() as snapshot:
                count.pending(snapshot, {})
        report = sync(index, settings, paths, replace(options, on_put=count.planned), compared(progress))
        report.cost = count.cost()
    return report


def _count(settings: Settings, tier: str) -> _Count:
    provider = embedder_name(settings, tier)
    model = model_of(settings, tier, provider)
    try:
        fingerprint = model.fingerprint
    except ModelProblem:  # reported when it is to embed
        fingerprint = ""
    prefix: str = settings.of("embed", provider).get("text_prefix", "")
    return _Count(tier, provider, model, fingerprint, each=estimate(prefix))
