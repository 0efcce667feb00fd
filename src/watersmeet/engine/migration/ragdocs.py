"""ragdocs-mcp's config.toml: `[indexing]`, `[chunking]`, `[search]`, `[[projects]]` and others."""

from __future__ import annotations

import os
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

PROGRAM, RECIPE = "ragdocs", "notes"
SECTIONS = frozenset(
    {"server", "indexing", "parsers", "chunking", "git_indexing", "search", "llm", "embedding", "store", "projects"}
)
PARSERS = ("MarkdownParser", "PlainTextParser")
LAST = ("unit", "top")
"""Stages before which others are put."""
USUAL_MODELS = ("local", "BAAI/bge-small-en-v1.5", "nomic-embed-text-v2-moe:latest", "nomic-embed-text-v2-moe")
WEIGHTS = {"semantic_weight": "dense", "keyword_weight": "lexical", "code_search_weight": "exact"}
CONFIDENCE = (
    "every answer has a confidence, which is learned and not a scaled score; "
    "`--min-confidence` and `--min-score` of a search hold results back"
)
LEXICAL_OF_TERMS = "its limits are fixed: the 20,000 most frequent terms"


def _stage(name: str, *settings: tuple[str, Any]) -> Rule:
    """A switch for a stage."""

    def rule(made: Conversion, key: str, value: Any) -> None:
        if not value:
            made.same(key, value, f"the recipe {made.recipe} has no stage {name}")
            return
        made.set(key, value, "pipeline.stages", made.put_before("pipeline.stages", name, LAST))
        for setting, chosen in settings:
            made.set(key, value, setting, chosen)

    return rule


def _weight(made: Conversion, key: str, value: Any) -> None:
    signal = WEIGHTS[key.rpartition(".")[2]]
    if value == 1.0:
        made.same(key, value, "every signal weighs 1 unless fusion.rrf.weights says otherwise")
    else:
        made.set(key, value, f"fusion.rrf.weights.{signal}")


def _recency(made: Conversion, key: str, value: Any) -> None:
    made.same(key, value, "ragdocs does not use it; the factors by age are stage.recency.*, in the recipe notes")


def _expansion(made: Conversion, key: str, value: Any) -> None:
    steps = [one for one in made.get("pipeline.understand") if one != "expand"]
    made.set(key, value, "pipeline.understand", made.get("pipeline.understand") if value else steps)


def _code(made: Conversion, key: str, value: Any) -> None:
    if value:
        made.set(key, value, "pipeline.signals", made.put_before("pipeline.signals", "exact", ("dense",)))
    else:
        made.same(key, value, "the recipe notes has no signal exact; the recipe default has")


def _per_document(made: Conversion, key: str, value: Any) -> None:
    if value == 0:
        made.same(key, value, "no limit, as in the recipe")
    else:
        _stage("per_document", ("stage.per_document.max_chunks", value))(made, key, value)


def _hidden(made: Conversion, key: str, value: Any) -> None:
    if value is True:
        made.same(key, value, "hidden files and folders are left out (source.folder.hidden)")
    else:
        made.set(key, value, "source.folder.hidden", not value)


def _include(made: Conversion, key: str, value: Any) -> None:
    if value == ["**/*"]:
        made.same(key, value, "every file that a parser reads")
    else:
        made.set(key, value, "source.folder.include")


def _exclude(made: Conversion, key: str, value: Any) -> None:
    note = "files that git ignores, hidden folders, node_modules and virtual environments are left out anyway"
    made.set(key, value, "source.folder.exclude", note=note)


def _documents(made: Conversion, key: str, value: Any) -> None:
    path = os.path.expanduser(str(value))
    made.sources.append(DocumentSource(path))
    made.same(key, value, "folders are named once, when they are synced")
    made.commands.append(f"watersmeet sync {shlex.quote(path)}")


def _index(made: Conversion, key: str, value: Any) -> None:
    made.same(key, value, "the index is .watersmeet in the folder; `--index DIR` names another")


def _projects(made: Conversion, key: str, value: Any) -> None:
    for project in value if isinstance(value, list) else []:
        if not isinstance(project, Mapping) or not project.get("name") or not project.get("path"):
            made.none(key, project, "a project needs `name` and `path`")
            continue
        name, path = str(project["name"]), os.path.expanduser(str(project["path"]))
        made.sources.append(DocumentSource(path, name))
        made.same(f"{key}.{name}", path, f"a collection: --filter collection={name} searches it alone")
        made.commands.append(f"watersmeet sync {shlex.quote(path)} --collection {shlex.quote(name)}")


def _parsers(made: Conversion, key: str, value: Any) -> None:
    """A table of glob and class: only those files are read."""
    for glob, parser in value.items() if isinstance(value, Mapping) else ():
        if parser not in PARSERS:
            made.none(
                f"{key}.{glob}", parser, "a class of your own; a parser here is a plug-in (docs/how-to/extend.md)"
            )
    globs = [glob for glob, parser in value.items() if parser in PARSERS] if isinstance(value, Mapping) else []
    if globs and not made.tables.get("source", {}).get("folder", {}).get("include"):
        made.set(key, value, "source.folder.include", globs, "without it, every format that a parser reads is indexed")
    elif globs:
        made.same(key, value, "`include` says which files are read")


def _history(made: Conversion, key: str, value: Any) -> None:
    if value:
        made.same(key, value, "commits are a source of their own, in a collection: `watersmeet sync PATH --history`")
        made.commands.append("watersmeet sync . --history")
    else:
        made.same(key, value, "commits are read only on request: `watersmeet sync PATH --history`")


def _skip(made: Conversion, name: str, value: Any) -> None:
    """Part of a group that is converted as a whole."""


RULES: dict[str, Rule] = {
    "projects": _projects,
    "parsers": _parsers,
    "server.host": same("a flag: `watersmeet serve --host`"),
    "server.port": same("a flag: `watersmeet serve --port`"),
    "server.*": lacking("there is no such setting of a server"),
    "indexing.documents_path": _documents,
    "indexing.index_path": _index,
    "indexing.recursive": to("source.folder.recursive", usual=True),
    "indexing.include": _include,
    "indexing.exclude": _exclude,
    "indexing.exclude_hidden_dirs": _hidden,
    "indexing.reconciliation_interval_seconds": to("watch.reconcile_seconds", usual=3600),
    "indexing.debounce_window_seconds": to("watch.quiet_seconds", usual=0.5),
    "indexing.rebuild_checkpoint_interval": same("a sync commits every writer.batch_seconds, and continues from there"),
    "indexing.move_detection_threshold": same("a file is moved if its content is the same"),
    "indexing.*": lacking("there is no queue of tasks and no pool of workers to set up"),
    "chunking.strategy": same("chunks follow the headings"),
    "chunking.min_chunk_chars": to("chunk.headings.min_chars", usual=200),
    "chunking.max_chunk_chars": to("chunk.headings.max_chars"),
    "chunking.overlap_chars": to("chunk.headings.overlap"),
    "chunking.include_parent_headers": same("the headings above are always part of a chunk"),
    "chunking.parent_retrieval_enabled": _stage("context", ("stage.context.parent", True)),
    "chunking.*": lacking("stage.context.tokens limits the text around a hit, in tokens"),
    "git_indexing.enabled": _history,
    "git_indexing.max_delta_lines": to("parse.commit.diff_lines", usual=200),
    "git_indexing.poll_interval_seconds": same("a server looks for commits as it looks for files (watch.*)"),
    "git_indexing.*": lacking("a history is named by its repository; nothing else is to be set"),
    "search.semantic_weight": _weight,
    "search.keyword_weight": _weight,
    "search.code_search_weight": _weight,
    "search.recency_bias": _recency,
    "search.rrf_k_constant": to("fusion.rrf.k"),
    "search.min_confidence": same(CONFIDENCE),
    "search.abstention_threshold": same(CONFIDENCE),
    "search.score_calibration_threshold": lacking(CONFIDENCE),
    "search.score_calibration_steepness": lacking(CONFIDENCE),
    "search.max_chunks_per_doc": _per_document,
    "search.dedup_enabled": _stage("dedupe"),
    "search.dedup_similarity_threshold": lacking("a cosine; stage.dedupe.min_similarity compares words"),
    "search.dedup_threshold": lacking("a cosine; stage.dedupe.min_similarity compares words"),
    "search.ngram_dedup_enabled": _stage("dedupe"),
    "search.ngram_dedup_threshold": to("stage.dedupe.min_similarity"),
    "search.mmr_enabled": _stage("dedupe"),
    "search.mmr_lambda": lacking("near copies are dropped (stage.dedupe), others are not moved"),
    "search.rerank_enabled": _stage("crossencoder"),
    "search.reranking_enabled": _stage("crossencoder"),
    "search.rerank_model": to("stage.crossencoder.model"),
    "search.reranker_model": to("stage.crossencoder.model"),
    "search.rerank_top_n": to("stage.crossencoder.top_n"),
    "search.query_expansion_enabled": _expansion,
    "search.query_expansion_max_terms": lacking(LEXICAL_OF_TERMS),
    "search.query_expansion_min_frequency": lacking(LEXICAL_OF_TERMS),
    "search.adaptive_weights_enabled": lacking("the recipe default weighs signals by the kind of query"),
    "search.code_search_enabled": _code,
    "search.project_uplift_multiplier": lacking("a collection is a filter, not a bonus: --filter collection=NAME"),
    "search.advanced.hyde_enabled": same("--intent says what an answer is needed for; serve.tools_of has the tool"),
    "search.*": lacking("there is no such step; `search --explain` shows those there are"),
    "llm.embedding_model": _skip,
    "embedding.*": _skip,
    "store.*": lacking("an index is files in a folder; nothing is to be chosen"),
}


def convert(config: Mapping[str, Any]) -> Conversion:
    made = Conversion(PROGRAM, RECIPE)
    ordered = {key: config[key] for key in sorted(config, key=lambda one: one == "parsers")}  # `include` first
    walk(made, ordered, RULES)
    embedding, llm = config.get("embedding"), config.get("llm")
    embedding = embedding if isinstance(embedding, Mapping) else {}
    model = str(embedding.get("model_name") or (llm.get("embedding_model") if isinstance(llm, Mapping) else "") or "")
    provider = str(embedding.get("provider") or "sentence-transformers")
    name = "embedding.model_name" if embedding.get("model_name") else "llm.embedding_model"
    if model in USUAL_MODELS:
        made.same(name, model, f"ragdocs' own choice is not carried over: {BUILT_IN}")
    elif model:
        set_embedder(made, name, provider, model, base_url=embedding.get("base_url"))
    return made
