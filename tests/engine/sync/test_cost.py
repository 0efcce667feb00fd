"""The cost of a sync: counted before anything is sent, reported, and confirmed above a limit. The model's server is
local, and checks each request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from embedding_servers import ollama, openai
from watersmeet import Engine
from watersmeet.core.errors import CostRefused, Stopped
from watersmeet.embed import _remote
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import Cost, Progress
from web import Site, running

PRICE = 1e6
"""Dollars for a million tokens, so that a token costs one."""


@pytest.fixture
def site() -> Iterator[Site]:
    _remote.dimensions.clear()
    with running(Site()) as made:
        made.always = ollama()
        yield made


def opened(tmp_path: Path, site: Site, provider: str = "ollama", above: float = 1.0, **options: Any) -> Engine:
    url = site.url + ("/v1" if provider == "openai" else "")
    tables = {
        "index": {"dense": provider, "confirm_above": above},
        "embed": {provider: {"base_url": url, "retries": 0, **options}},
    }
    return Engine(tmp_path / "index", load(start=str(tmp_path), environ={}, flags=tables))


def texts_of(site: Site) -> list[str]:
    """The texts that were sent, without queries and what only asks for the length of a vector."""
    sent = [text for body in site.bodies for text in json.loads(body)["input"]]
    return [text for text in sent if "\n" in text]


def test_a_dry_run_says_what_the_sync_then_sends(tmp_path: Path, vault: Path, site: Site) -> None:
    with opened(tmp_path, site) as engine:
        tried = engine.sync([vault], dry_run=True).cost
        assert tried is not None
        assert not site.bodies
        assert not (tmp_path / "home" / "cache").exists()
        steps: list[Progress] = []
        done = engine.sync([vault], progress=steps.append)
        assert done.cost == tried
        assert [step.cost for step in steps if step.cost] == [tried]
        sent = texts_of(site)
        assert (tried.texts, tried.price, tried.models) == (len(sent), 0.0, ["bge-m3"])
        assert tried.texts == done.chunks == done.embedded
        words = sum(len(text.split()) for text in sent)
        assert words <= tried.tokens <= 4 * words
        again = engine.sync(dry_run=True)
        assert again.cost is not None
        assert (again.cost.texts, again.cost.tokens) == (0, 0)
        (vault / "new.md").write_text("# Terns\n\nA tern is a bird.\n")
        assert "cost" in engine.sync(dry_run=True).to_json()
        known = engine.sync(dry_run=True).cost
        assert known is not None
        assert known.texts == 1
        site.bodies.clear()
        engine.sync(recreate=True)  # the others are in the cache
        assert len(texts_of(site)) == 1


def test_what_costs_too_much_is_refused_until_it_is_confirmed(tmp_path: Path, vault: Path, site: Site) -> None:
    with opened(tmp_path, site, price_per_million_tokens=PRICE) as engine:
        tried = engine.sync([vault], dry_run=True).cost
        assert tried is not None
        assert tried.must_confirm
        with pytest.raises(CostRefused, match=r"index\.confirm_above") as caught:
            engine.sync([vault])
        assert "--yes" in caught.value.hint
        assert caught.value.report.cost == tried
        assert caught.value.report.added == 4
        assert tried.price == tried.tokens
        assert engine.search("rotate keys").results
        with pytest.raises(CostRefused):
            engine.deepen(strict=True, seconds=5)  # as a server does in the background
        assert "cost" in [one.path for one in engine.deepen().warnings]
        assert not site.bodies
        assert engine.deepen(confirm=True).embedded == tried.texts
        assert len(texts_of(site)) == tried.texts
        (vault / "new.md").write_text("# Terns\n\nA tern is a bird.\n")
        with pytest.raises(CostRefused) as again:  # of the new text alone
            engine.sync()
        assert again.value.report.cost.texts == 1
        assert engine.sync(confirm=True).embedded == 1


def test_what_every_text_is_sent_with_is_counted(tmp_path: Path, vault: Path, site: Site) -> None:
    costs = []
    for prefix in ("", "passage: "):
        with opened(tmp_path, site, text_prefix=prefix) as engine:
            costs.append(engine.sync([vault], dry_run=True).cost)
    plain, prefixed = costs
    assert plain is not None
    assert prefixed is not None
    assert prefixed.tokens - plain.tokens >= plain.texts


def test_what_was_approved_is_not_counted_again(tmp_path: Path, vault: Path, site: Site) -> None:
    def stop(step: Progress) -> None:
        if step.doing == "embedding (dense)":
            raise Stopped("before the first request")

    with opened(tmp_path, site) as engine:
        engine.sync([vault], deepen=False)
        with pytest.raises(Stopped):
            engine.deepen(stop)
        assert not texts_of(site)
        second = engine.deepen()
        assert (second.cost.texts if second.cost else -1, second.embedded) == (0, engine.status()["chunks"])


def test_a_million_tokens_without_a_price_count_as_a_dollar(tmp_path: Path, vault: Path, site: Site) -> None:
    site.always = openai()
    with opened(tmp_path, site, "openai", above=0.0) as engine:
        with pytest.raises(CostRefused, match="price_per_million_tokens is not set"):
            engine.sync([vault])
        assert not site.bodies
    with opened(tmp_path, site, "openai", above=0.01) as engine:
        report = engine.sync()
        assert report.cost is not None
        assert (report.cost.price, report.cost.must_confirm) == (None, False)
        assert report.cost.tokens < 10_000
        assert report.embedded == report.chunks


@pytest.mark.parametrize(("deepen", "vectors"), [(False, True), (True, False)])
def test_no_cost_without_remote_vectors(tmp_path: Path, vault: Path, site: Site, deepen: bool, vectors: bool) -> None:
    with opened(tmp_path, site, price_per_million_tokens=PRICE) as engine:
        for dry_run in (True, False):
            report = engine.sync([vault], dry_run=dry_run, deepen=deepen, vectors=vectors)
            assert report.cost is None
            assert "cost" not in report.to_json()
    tables = {"index": {"dense": "hashed"}}
    with Engine(tmp_path / "local", load(start=str(tmp_path), environ={}, flags=tables)) as engine:
        assert engine.sync([vault], dry_run=True).cost is None
        assert engine.sync([vault]).cost is None
    assert not site.bodies


@pytest.mark.parametrize(
    ("price", "shown"),
    [
        (None, "price_per_million_tokens is not set"),
        (0.0, "free of charge"),
        (0.003, "less than $0.01"),
        (12, "$12.00"),
    ],
)
def test_the_line(price: float | None, shown: str) -> None:
    line = str(Cost(["openai"], ["small"], 1234, 56789, price, 1.0, False))
    assert line.startswith("openai (small): 1,234 texts to embed, about 56,789 tokens, ")
    assert line.endswith(shown)
