"""A text store written anew: one that was lost or damaged, or one that holds too many dead rows.

The catalogue has all that it needs. Its rows are the live ones and no others, so it scores as a fresh index does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress

from watersmeet.core.documents import Document
from watersmeet.core.entities import TOOL, entity_of, not_embedded
from watersmeet.core.errors import IndexDamaged, NoIndex
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import TextStore
from watersmeet.core.text_fields import prepare
from watersmeet.store.local._counts import shared
from watersmeet.store.local._private_words import PUBLIC_TEXT, Words, analysed, private
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.read_back import correct, read_back
from watersmeet.store.local.records import LocalRecords

OpenText = Callable[[str, str], TextStore]
"""A text store of a kind, in a folder."""
MANY = 256
"""So many documents are written between two signs of life."""


def rebuild(
    catalogue: Catalogue, open_text: OpenText, kind: str, meta: Mapping[str, str], renew: Callable[[], None]
) -> dict[str, str]:
    """What is new in the index's own facts; nothing if the text store has every live row that it should have, and
    never had a private one."""
    live, public = shared(catalogue.db), meta.get(PUBLIC_TEXT)
    exposed = bool(private(catalogue.db)) if public is None else public != meta["text_folder"]
    folder = os.path.join(catalogue.folder, meta["text_folder"])
    if not exposed and not (live and _lacks(open_text(kind, folder), live)):
        return {}
    return rewrite(catalogue, open_text, kind, meta, renew)


def rewrite(
    catalogue: Catalogue, open_text: OpenText, kind: str, meta: Mapping[str, str], renew: Callable[[], None]
) -> dict[str, str]:
    """The live rows in a text store of another name, which is whole before the catalogue names it.

    A catalogue of an older version does not give back every word: such files are to be read again, and what is
    registered so is put again by the next writer. `renew` is called now and then, while the work gets on.
    """
    name = next_folder(catalogue.folder, meta["text_folder"])
    fresh = {"text_folder": name, PUBLIC_TEXT: name}
    hashes: dict[Row, bytes] = {}
    again: set[str] = set()
    words: dict[Row, Words] = {}
    folder = os.path.join(catalogue.folder, name)
    with closing(open_text(kind, folder)) as store, closing(store.writer()) as text:
        text.add(_entries(catalogue, hashes, again, words, text.analyse, renew))
        text.commit()
    if again:
        fresh |= registered(catalogue, meta)
    with suppress(FileNotFoundError):  # queries of this moment may still have to open it
        os.utime(os.path.join(catalogue.folder, meta["text_folder"]))
    correct(catalogue, hashes, fresh, words)
    return fresh


def registered(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """A note of all that is registered, which is in no folder."""
    kept = [*json.loads(meta.get(WAITING_RECORDS, "[]")), *(found.record for found in LocalRecords(catalogue))]
    return {WAITING_RECORDS: json.dumps(list({found["path"]: found for found in kept}.values()))}


def next_folder(folder: str, text_folder: str) -> str:
    """A name for a text store that none has or had."""
    number = 1 + int(text_folder.removeprefix("text-"))
    while os.path.exists(os.path.join(folder, f"text-{number}")):
        number += 1
    return f"text-{number}"


def _lacks(opened: TextStore, live: int) -> bool:
    with closing(opened) as store:
        try:
            return store.reader().size < live
        except (NoIndex, IndexDamaged):
            return True


def _entries(
    catalogue: Catalogue,
    hashes: dict[Row, bytes],
    again: set[str],
    words: dict[Row, Words],
    analyse: Callable[[str, str], str],
    renew: Callable[[], None],
) -> Iterator[Entry]:
    """All live rows but private ones, whose words go into `words`. `hashes` gets those that now say something else, and
    `again` those of them that are registered."""
    withheld = private(catalogue.db)
    for number, (document, chunks) in enumerate(read_back(catalogue)):
        if number % MANY == 0:
            renew()
        made = prepare(document, [one.chunk for one in chunks], _also(document))
        for prepared, stored in zip(made, chunks, strict=True):
            if prepared.hash != stored.hash:
                hashes[stored.row] = prepared.hash
                again |= {document.id} if "record" in document.fields else set()
            if document.id in withheld:
                words[stored.row] = analysed(prepared.fields, analyse)
            else:
                yield Entry(stored.row, prepared.fields)


def _also(document: Document) -> str:
    """What a registered entity is found by, besides its text."""
    record = document.fields.get("record")
    return not_embedded(entity_of(record)) if record and document.kind != TOOL else ""
