"""Document lookup by id, by path as `search` prints it, or by name."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.errors import Ambiguous, NotFound
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.names import is_text, link_key
from watersmeet.core.place import Place
from watersmeet.engine.query.visibility import visible_to

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

MAX_COMPARED = 5_000
"""In a larger index, an unknown name is not compared with all titles."""
MAX_SHOWN = 5
_SPOT = re.compile(r"(.+?) ?(p\. \d{1,9}|slide \d{1,9}|sheet [^/]+|#[^#/ ]+)(?:-\d{1,9})?")
SHORT_HASH = 7
_HASH = re.compile(rf"[0-9a-f]{{{SHORT_HASH},64}}")
_LINES = re.compile(r"(.+?):(\d{1,9})(?:-\d{1,9})?")


class DocumentMatch(NamedTuple):
    """A document, or one chunk of it."""

    document: DocId
    chunk: ChunkId | None = None


def find_document(
    snapshot: Snapshot, identity: str, viewer: Viewer | None = None, exactly: bool = False
) -> DocumentMatch:
    """A document or chunk by id; else, unless `exactly`, by the path of an indexed file or by an unambiguous name.

    `path:line` is the chunk with that line. Only the owner of the index can look up file paths. Documents that the
    viewer may not see are treated as missing, also when they would make a name ambiguous.
    """
    found = _by_id(snapshot, identity, viewer)
    if found is None and not exactly:
        found = _at_line(snapshot, identity, viewer) or _by_name(snapshot, identity, viewer)
        found = found or _at_spot(snapshot, identity, viewer)
    if found is None:
        raise NotFound(f"no document or chunk called {identity!r}", _similar_hint(snapshot, identity, viewer))
    return found


def _by_id(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
    if snapshot.only([DocId(identity)], visible_to(viewer)):
        return DocumentMatch(DocId(identity))
    passage = snapshot.passages([ChunkId(identity)]).get(ChunkId(identity))
    if passage is None or not snapshot.only([passage.document], visible_to(viewer)):
        return None
    return DocumentMatch(passage.document, passage.id)


def _at_line(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
    written = _LINES.fullmatch(identity)
    if not written:
        return None
    document, line = DocId(written[1]), int(written[2])
    documents = [document] if snapshot.only([document], visible_to(viewer)) else _in_file(snapshot, document, viewer)
    for name in documents:
        for passage in snapshot.passages_of(name):
            if passage.lines and passage.lines[0] <= line <= passage.lines[1]:
                return DocumentMatch(name, passage.id)
    only = _one(identity, documents)
    return DocumentMatch(only) if only else None


def _at_spot(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
    """The first chunk at a place as `search` prints it: `report.pdf p. 3`, `setup.html#install`.

    A short section is in the chunk of the one before, so for its anchor it is the whole document."""
    written = _SPOT.fullmatch(identity)
    if not written:
        return None
    spot = Place.read(written[2])
    document = _by_id(snapshot, written[1], viewer) or _by_name(snapshot, written[1], viewer)
    for passage in snapshot.passages_of(document.document) if document else ():
        for asked, span in ((spot.pages, passage.place.pages), (spot.slides, passage.place.slides)):
            if asked and span and span[0] <= asked[0] <= span[1]:
                return DocumentMatch(passage.document, passage.id)
        if passage.place.spot == spot.spot:
            return DocumentMatch(passage.document, passage.id)
    return document if spot.anchor else None


def _by_name(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
    only = _one(identity, _in_file(snapshot, identity, viewer)) or _one(identity, _named(snapshot, identity, viewer))
    return DocumentMatch(only) if only else None


def _in_file(snapshot: Snapshot, path: str, viewer: Viewer | None) -> list[DocId]:
    if "\0" in path or not is_text(path) or (viewer is not None and not viewer.all):
        return []
    return snapshot.at({path, os.path.abspath(path), os.path.realpath(path)}, visible_to(viewer))


def _named(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> list[DocId]:
    """Documents with this name. A full path wins over the end of a path, an alias or a title."""
    key = _key(identity)
    if not key:
        return []
    if _HASH.fullmatch(key) and (commits := _commits(snapshot, key, viewer)):
        return commits
    ranked = snapshot.named(key, visible_to(viewer))
    whole = [document for document, rank in ranked.items() if rank == 0]
    if whole:
        return whole
    return list(dict.fromkeys([*ranked, *snapshot.titled(key, visible_to(viewer))]))


def _commits(snapshot: Snapshot, hash: str, viewer: Viewer | None) -> list[DocId]:
    """Commits whose hash begins so; each has its short hash as another name."""
    found = snapshot.named(hash[:SHORT_HASH], visible_to(viewer))
    return [document for document in found if document.rpartition("/")[2].startswith(hash)]


def _key(name: str) -> str:
    return link_key(DocId(""), name, "wiki")


def _one(identity: str, found: list[DocId]) -> DocId | None:
    if len(found) > 1:
        more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
        raise Ambiguous(f"{identity!r} matches {len(found)} documents", f"name one: {_listed(found)}{more}")
    return found[0] if found else None


def _similar_hint(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> str:
    """The hint for an unknown name: documents with similar names."""
    from difflib import get_close_matches  # lazy: for error messages only

    documents_by_name: dict[str, DocId] = {}
    for document, title in snapshot.titles(visible_to(viewer), MAX_COMPARED) or ():
        for name in (document.casefold(), _key(document), _key(document).rpartition("/")[2], _key(title)):
            documents_by_name.setdefault(name, document)
    written = identity.casefold(), _key(identity)
    close = [
        documents_by_name[name]
        for text in dict.fromkeys(written)
        for name in get_close_matches(text, documents_by_name, MAX_SHOWN)
    ]
    similar = list(dict.fromkeys(close))[:MAX_SHOWN]
    return f"did you mean {_listed(similar)}?" if similar else "`watersmeet list` shows all documents"


def _listed(found: list[DocId]) -> str:
    return ", ".join(map(repr, found[:MAX_SHOWN]))
