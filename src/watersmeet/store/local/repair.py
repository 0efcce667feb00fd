"""What a writer does about a catalogue that was found damaged: the files that it came from are read again."""

from __future__ import annotations

import json
from collections.abc import Mapping

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.store.local._checksums import damage
from watersmeet.store.local._connect import ANEW, guarded
from watersmeet.store.local._file_checks import marked, unmark
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.read_back import reread


def heal(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """Nothing, unless a search or `doctor` has met damage; then what is new in the index's own facts.

    What SQLite's indexes have lost is in its tables. Documents that are not as they were written are read again with
    the next look at their files; what is registered is put again from its record.
    """
    if not marked(catalogue.folder):
        return {}
    with guarded(catalogue.path):
        if not _structure(catalogue):
            catalogue.db.execute("REINDEX")
            if not _structure(catalogue):
                raise IndexDamaged(f"{catalogue.path}: {'; '.join(damage(catalogue.db)[:3])}", ANEW)
        kept = {found["path"]: found for found in json.loads(meta.get(WAITING_RECORDS, "[]"))}
        kept |= {found["path"]: found for found in reread(catalogue)}
    fresh = {WAITING_RECORDS: json.dumps(list(kept.values()))} if kept else {}
    catalogue.set_meta(fresh)
    unmark(catalogue.folder)
    return fresh


def _structure(catalogue: Catalogue) -> bool:
    return [text for (text,) in catalogue.db.execute("PRAGMA integrity_check(1)")] == ["ok"]
