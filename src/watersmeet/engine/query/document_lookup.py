"""Which document does someone mean who writes an id, a path as `search` prints it, or a name?"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from watersmeet.core.errors import Ambiguous, NotFound
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, DocId
from watersmeet.core.names import is_text, link_key
from watersmeet.engine.query.visibility import visible_to

if TYPE_CHECKING:
    from watersmeet.core.visibility import Viewer

COMPARABLE = 5_000
"""With more documents than this, a name that there is not is not compared with each."""
SHOWN = 5
_LINES = re.compile(r"(.+?):(\d{1,9})(?:-\d{1,9})?")


class DocumentMatch(NamedTuple):
    """A document, or one chunk of it."""

    document: DocId
    chunk: ChunkId | None = None


def find_document(
    snapshot: Snapshot, identity: str, viewer: Viewer | None = None, exactly: bool = False
) -> DocumentMatch:
    """What an id names: a document or a chunk; else, unless `exactly`, a file that was indexed, or a name that only
    one goes by.

    `path:line` is the chunk that holds the line. Where files lie is known to the owner of the index only. A viewer
    for whom something is not there learns nothing of it: not by its name, nor by another's that it would share.
    """
    found = _exactly(snapshot, identity, viewer)
    if found is None and not exactly:
        found = _at_line(snapshot, identity, viewer) or _by_name(snapshot, identity, viewer)
    if found is None:
        raise NotFound(f"no document or chunk called {identity!r}", _like(snapshot, identity, viewer))
    return found


def _exactly(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
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
    there = [document] if snapshot.only([document], visible_to(viewer)) else _in_file(snapshot, document, viewer)
    for name in there:
        for passage in snapshot.passages_of(name):
            if passage.lines and passage.lines[0] <= line <= passage.lines[1]:
                return DocumentMatch(name, passage.id)
    only = _one(identity, there)
    return DocumentMatch(only) if only else None


def _by_name(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> DocumentMatch | None:
    only = _one(identity, _in_file(snapshot, identity, viewer)) or _one(identity, _called(snapshot, identity, viewer))
    return DocumentMatch(only) if only else None


def _in_file(snapshot: Snapshot, path: str, viewer: Viewer | None) -> list[DocId]:
    if "\0" in path or not is_text(path) or (viewer is not None and not viewer.all):
        return []
    return snapshot.at({path, os.path.abspath(path), os.path.realpath(path)}, visible_to(viewer))


def _called(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> list[DocId]:
    """Those of this name; a whole path goes before the end of one, which is as good as an alias or a title."""
    key = _key(identity)
    if not key:
        return []
    ranked = snapshot.named(key, visible_to(viewer))
    whole = [document for document, rank in ranked.items() if rank == 0]
    if whole:
        return whole
    return list(dict.fromkeys([*ranked, *snapshot.titled(key, visible_to(viewer))]))


def _key(name: str) -> str:
    return link_key(DocId(""), name, "wiki")


def _one(identity: str, found: list[DocId]) -> DocId | None:
    if len(found) > 1:
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise Ambiguous(f"{identity!r} may be any of {len(found)} documents", f"say which: {_listed(found)}{more}")
    return found[0] if found else None


def _like(snapshot: Snapshot, identity: str, viewer: Viewer | None) -> str:
    """The hint for a name that there is not: what is called much like it."""
    from difflib import get_close_matches  # only ever needed on the way out

    known: dict[str, DocId] = {}
    for document, title in snapshot.titles(visible_to(viewer), COMPARABLE) or ():
        for name in (document.casefold(), _key(document), _key(document).rpartition("/")[2], _key(title)):
            known.setdefault(name, document)
    written = identity.casefold(), _key(identity)
    close = [known[name] for text in dict.fromkeys(written) for name in get_close_matches(text, known, SHOWN)]
    named_alike = list(dict.fromkeys(close))[:SHOWN]
    return f"did you mean {_listed(named_alike)}?" if named_alike else "`watersmeet list` shows what there is"


def _listed(found: list[DocId]) -> str:
    return ", ".join(map(repr, found[:SHOWN]))
