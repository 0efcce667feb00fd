"""A document for reading: its text as a tree of elements, with its links resolved and the passage that was found."""

from __future__ import annotations

import mimetypes
import os
from dataclasses import dataclass, field
from typing import Any

from watersmeet.core.errors import NotFound
from watersmeet.core.index import Snapshot
from watersmeet.core.model import ChunkId, Condition, DocId, Passage
from watersmeet.core.names import link_key
from watersmeet.core.visibility import Viewer
from watersmeet.engine.query.document_lookup import DocumentMatch
from watersmeet.engine.query.documents import get
from watersmeet.engine.query.visibility import visible_to
from watersmeet.present import rich_text
from watersmeet.present.web_address import is_web_address, web_address

MAX_RESOLVED = 5_000
"""Links of one document that are looked up; the others are dead."""
MIN_LINE = 12
"""Characters of a line that a passage is recognised by."""


@dataclass(slots=True)
class LinkTargets:
    """Documents that links of one document lead to, as the viewer sees them."""

    snapshot: Snapshot
    document: DocId
    visible: Condition
    _found: dict[tuple[str, str], DocId | None] = field(default_factory=dict)

    def find(self, target: str, type: str) -> DocId | None:
        if (target, type) not in self._found and len(self._found) < MAX_RESOLVED:
            self._found[target, type] = self._closest(link_key(self.document, target, type))
        return self._found.get((target, type))

    def _closest(self, key: str) -> DocId | None:
        """As links are resolved for ranking: the same folder first, then the closest name, then the shortest path; the
        document itself only if there is no other."""
        if not key or "\0" in key:
            return None
        ranks = self.snapshot.named(key, self.visible)
        folder = self.document.rpartition("/")[0]

        def distance(one: DocId) -> tuple[bool, bool, int, int, DocId]:
            return one == self.document, one.rpartition("/")[0] != folder, ranks[one], len(one), one

        return min(ranks, key=distance, default=None)


def read(snapshot: Snapshot, match: DocumentMatch, viewer: Viewer | None = None) -> dict[str, Any]:
    """A document to be shown; if a chunk was named, with that passage marked."""
    found = get(snapshot, DocumentMatch(match.document), viewer)
    record = snapshot.record(match.document)
    if record is None:
        raise NotFound(f"no document called {match.document!r}")
    passages = snapshot.passages_of(match.document)
    chosen = next((one for one in passages if one.id == match.chunk), None)
    targets = LinkTargets(snapshot, match.document, visible_to(viewer))
    base = record.path if is_web_address(record.path) else ""
    form = rich_text.form_of(record.kind, record.document, record.path)
    spot = _spot(found["text"], chosen) if chosen else None
    tags = found["fields"].get("tags") or []
    return {
        "document": found["document"],
        "kind": found["kind"],
        "title": found["title"],
        "path": found["path"],
        "where": chosen.where if chosen else "",
        "chunk": chosen.id if chosen else "",
        "modified": record.modified.date().isoformat() if record.modified else "",
        "tags": [str(tag) for tag in (tags if isinstance(tags, list) else [tags])],
        "form": form,
        "content": rich_text.rich_text(found["text"], form, targets.find, base, spot),
        "anchors": _anchors(passages),
        "address": web_address(record.path, chosen.place, chosen.text) if chosen else base,
        "file": file_type(record.path) if not found.get("file_missing") else "",
        "page": chosen.place.pages[0] if chosen and chosen.place.pages else 0,
        **({"file_missing": True} if found.get("file_missing") else {}),
    }


def file_type(path: str) -> str:
    """Media type of a document's file; empty for what is in no file of this machine."""
    if not os.path.isabs(path):
        return ""
    return mimetypes.guess_type(path)[0] or "application/octet-stream"


def _spot(text: str, passage: Passage) -> rich_text.Passage | None:
    """Where a passage is in the text of its document. A passage may repeat rows or a paragraph of the one
    before it: then its longest lines are looked for."""
    start = text.find(passage.text)
    if start >= 0:
        return rich_text.Passage(start, start + len(passage.text))
    lines = [line for line in passage.text.split("\n") if len(line.strip()) >= MIN_LINE]
    places = [(at, at + len(line)) for line in lines if (at := text.find(line)) >= 0 and text.count(line) == 1]
    return rich_text.Passage(min(places)[0], max(end for _, end in places)) if places else None


def _anchors(passages: list[Passage]) -> dict[str, str]:
    """Anchors that the original has, with those of the same headings here."""
    placed = [one for one in passages if one.place.anchor and one.headings]
    return {one.place.anchor: rich_text.slug(one.headings[-1]) for one in placed}


def chunk_of(snapshot: Snapshot, chunk: str, document: DocId) -> ChunkId | None:
    """A chunk of this document; None if it has none of that id, as after a change."""
    passage = snapshot.passages([ChunkId(chunk)]).get(ChunkId(chunk))
    return passage.id if passage is not None and passage.document == document else None
