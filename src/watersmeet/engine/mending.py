"""A text store that was lost is made again: the catalogue has all that it held."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing

from watersmeet.core.errors import IndexDamaged, NoIndex
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.engine.entries import prepare
from watersmeet.engine.opening import open_text
from watersmeet.store.catalogue import Catalogue
from watersmeet.store.registered import everything
from watersmeet.store.written import correct, written

KEPT = "registered"
"""Where the catalogue keeps what is registered until it is put again."""


def mend(catalogue: Catalogue, kind: str, meta: Mapping[str, str]) -> dict[str, str]:
    """What is new in the index's own facts; nothing if the text store has every live row, as it should.

    The new store is whole before the catalogue names it. Entities are put again afterwards: not all of the words that
    they are found by are in their chunks.
    """
    _, live = catalogue.counts()
    if not live or not _lacks(catalogue.folder, kind, meta["text_folder"], live):
        return {}
    fresh = {"text_folder": next_folder(catalogue.folder, meta["text_folder"]), **registered(catalogue, meta)}
    hashes: dict[Row, bytes] = {}
    with closing(open_text(kind, catalogue.folder, fresh["text_folder"])) as store, closing(store.writer()) as text:
        text.add(_entries(catalogue, hashes))
        text.commit()
    correct(catalogue, hashes, fresh)
    return fresh


def registered(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """A note of all that is registered, which is in no folder."""
    kept = [*json.loads(meta.get(KEPT, "[]")), *everything(catalogue)]
    return {KEPT: json.dumps(list({found["path"]: found for found in kept}.values()))}


def next_folder(folder: str, text_folder: str) -> str:
    """A name for a text store that none has or had."""
    number = 1 + int(text_folder.removeprefix("text-"))
    while os.path.exists(os.path.join(folder, f"text-{number}")):
        number += 1
    return f"text-{number}"


def _lacks(folder: str, kind: str, text_folder: str, live: int) -> bool:
    with closing(open_text(kind, folder, text_folder)) as store:
        try:
            return store.reader().size < live
        except (NoIndex, IndexDamaged):
            return True


def _entries(catalogue: Catalogue, hashes: dict[Row, bytes]) -> Iterator[Entry]:
    """All live rows; `hashes` gets those that now say something else, if only because a tag had capitals."""
    for document, chunks in written(catalogue):
        for prepared, stored in zip(prepare(document, [one.chunk for one in chunks]), chunks, strict=True):
            if prepared.hash != stored.hash:
                hashes[stored.row] = prepared.hash
            yield Entry(stored.row, prepared.fields)
