"""IndexFoundry's project files, as its documentation describes them: project.json, and sources.jsonl beside it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from watersmeet.engine.migration.conversion import Conversion, DocumentSource, Rule, same, set_embedder, to, walk

PROGRAM, RECIPE = "indexfoundry", "identifiers"
PROJECT, SOURCES = "project.json", "sources.jsonl"
TYPES = ("url", "sitemap", "folder", "pdf", "text")
_MAP = re.compile(r"[^/]*$")


def _strategy(made: Conversion, name: str, value: Any) -> None:
    if value in ("heading", "recursive", "paragraph", "hierarchical"):
        made.same(name, value, "chunks follow headings, then paragraphs, then sentences")
    else:
        made.none(name, value, "chunks follow headings, then paragraphs, then sentences")


def _skip(made: Conversion, name: str, value: Any) -> None:
    """Part of a group that is converted as a whole."""


RULES: dict[str, Rule] = {
    "project_id": same("an index has no name: it is .watersmeet in the folder"),
    "name": same("an index has no name: it is .watersmeet in the folder"),
    "description": same("an index has no description"),
    "created_at": same("`watersmeet status` says when each source was read"),
    "updated_at": same("`watersmeet status` says when each source was read"),
    "embedding_model": _skip,
    "chunk_config.strategy": _strategy,
    "chunk_config.max_chars": to("chunk.headings.max_chars"),
    "chunk_config.overlap_chars": to("chunk.headings.overlap"),
    "chunk_config.min_chars": to("chunk.headings.min_chars"),
    "stats.*": same("`watersmeet status` counts"),
}


def convert(project: Mapping[str, Any], listed: str = "") -> Conversion:
    """`listed`: the lines of sources.jsonl."""
    made = Conversion(PROGRAM, RECIPE)
    walk(made, project, RULES)
    model = project.get("embedding_model")
    if isinstance(model, Mapping) and model.get("model_name"):
        provider, name = str(model.get("provider") or "openai"), str(model["model_name"])
        key = {"api_key_env": model.get("api_key_env")} if provider == "openai" else {}
        set_embedder(made, "embedding_model", provider, name, **key)
    for source in read_sources(listed):
        if address := address_of(source):
            collection = collection_of(source)
            made.sources.append(DocumentSource(address, collection, tags_of(source)))
            named = f" --collection {shlex.quote(collection)}" if collection else ""
            made.commands.append(f"watersmeet sync {shlex.quote(address)}{named}{_meta(source)}")
        else:
            made.none(
                f"source {source.get('source_name') or source.get('source_id')}",
                source.get("type"),
                "it has no address; `watersmeet import` takes its stored text",
            )
    return made


def read_sources(text: str) -> list[dict[str, Any]]:
    """The records of sources.jsonl; broken lines are left out."""
    found = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.get("type") in TYPES:
            found.append(record)
    return found


def address_of(source: Mapping[str, Any]) -> str:
    """What `sync` takes for a source: of a sitemap, the site around it; empty: its text is nowhere else."""
    uri = str(source.get("uri") or "")
    if source["type"] == "text":
        return ""
    return _MAP.sub("", uri) if source["type"] == "sitemap" else uri


def collection_of(source: Mapping[str, Any]) -> str:
    return str(source.get("source_name") or "")


def tags_of(source: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Tags of a source as metadata of its collection: `--filter label_api=yes` finds what is tagged api."""
    tags = source.get("tags")
    return tuple((f"label_{tag}", "yes") for tag in tags if tag) if isinstance(tags, list) else ()


def _meta(source: Mapping[str, Any]) -> str:
    return "".join(f" --meta {shlex.quote(f'{key}={value}')}" for key, value in tags_of(source))
