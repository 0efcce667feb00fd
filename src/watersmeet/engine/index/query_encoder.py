"""The tuned encoder of queries of an index: a record in the index, and a model in the user's cache folder.

Vectors of texts stay as they are, so nothing is embedded again. The model is not in the index folder: that may be a
stranger's, and a stranger's graph must not be loaded. The record names it by a hash; where there is no such model,
as in a copy of the index on another machine, the model of the settings embeds the queries.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import IndexProblem
from watersmeet.core.files import FOLDER_MODE
from watersmeet.core.index import QUERY_ENCODER
from watersmeet.engine.components import find, options
from watersmeet.engine.settings.settings import Settings, cache_folder, merge

if TYPE_CHECKING:
    from watersmeet.core.index import Index, Tier

SETTING = "query_model"
"""The option of an embedder that names the model of queries."""
LOCK_SECONDS = 60.0
GRAPH = "model.onnx"
_NAME = re.compile(r"[0-9a-f]{24}")


def encoders_folder() -> str:
    return os.path.join(cache_folder(), "encoders")


def recorded(facts: Mapping[str, str]) -> dict[str, Any]:
    """The record of the tuned encoder; empty if there is none, or if it cannot be read."""
    try:
        found = json.loads(facts.get(QUERY_ENCODER) or "{}")
    except ValueError:
        return {}
    valid = isinstance(found, dict) and _NAME.fullmatch(str(found.get("encoder", "")))
    return found if valid else {}


def _folder(record: Mapping[str, Any], tier: Tier) -> str:
    """The model's folder; empty if the record is for other vectors."""
    if not record or record.get("vectors") != tier.fingerprint:
        return ""
    return os.path.join(encoders_folder(), record["encoder"])


def with_query_encoder(settings: Settings, facts: Mapping[str, str], tier: Tier, component: str) -> Settings:
    """Settings with the index's tuned encoder of queries, unless they name one themselves."""
    folder = _folder(recorded(facts), tier)
    if not folder or SETTING in settings.of("embed", component) or SETTING not in options(find("embed", component)):
        return settings
    if not os.path.isfile(os.path.join(folder, GRAPH)):
        return settings
    return replace(settings, tables=merge(settings.tables, {"embed": {component: {SETTING: folder}}}))


def query_encoder_state(facts: Mapping[str, str], tier: Tier) -> str:
    """`tuned`; `missing` if the model is not on this machine; empty if the tier has none."""
    folder = _folder(recorded(facts), tier)
    if not folder:
        return ""
    return "tuned" if os.path.isfile(os.path.join(folder, GRAPH)) else "missing"


def keep(index: Index, model: str, vectors: str, report: Mapping[str, Any]) -> str:
    """Copy a model folder to the user's encoders, and record it in the index; returns its new folder.

    `vectors`: fingerprint of the text vectors that it was tuned for. The record is written last."""
    with open(os.path.join(model, GRAPH), "rb") as file:
        name = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=12)).hexdigest()
    place = os.path.join(encoders_folder(), name)
    if not os.path.isdir(place):
        os.makedirs(encoders_folder(), FOLDER_MODE, exist_ok=True)
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory(dir=encoders_folder()) as scratch:
            copied = shutil.copytree(model, os.path.join(scratch, name))
            with suppress(OSError):  # another process was faster
                os.replace(copied, place)
    before = _record(index, json.dumps({"encoder": name, "vectors": vectors, **report}))
    if before and before["encoder"] != name:
        _delete(before)
    return place


def undo(index: Index) -> bool:
    """Delete the record and the model; returns whether there was one."""
    before = _record(index, "")
    if before:
        _delete(before)
    return bool(before)


def _record(index: Index, value: str) -> dict[str, Any]:
    """Write the record; returns the one before."""
    if not hasattr(index, "writer"):
        raise IndexProblem(f"{index.place} can only be searched", "tune it on the machine that has it")
    with index.bookkeeping(LOCK_SECONDS) as catalogue:
        before = recorded(catalogue.meta())
        catalogue.set_meta({QUERY_ENCODER: value})
    return before


def _delete(record: Mapping[str, Any]) -> None:
    import shutil

    shutil.rmtree(os.path.join(encoders_folder(), record["encoder"]), ignore_errors=True)
