"""Import of the documents of a predecessor's index: its sources are synced, and what is gone comes from its texts."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import SourceProblem
from watersmeet.core.files import replace_file
from watersmeet.engine.migration import docmancer_index, indexfoundry_project, ragdocs_index
from watersmeet.engine.migration.indexfoundry import SOURCES
from watersmeet.engine.migration.stored import StoredIndex, StoredSource, StoredText, refuse_home
from watersmeet.engine.sync.page_files import SavedPages, file_name
from watersmeet.engine.sync.report import ProgressCallback, SyncReport

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

SYNCED, STORED, NOTHING = "synced", "stored text", "nothing"
HINT = "name docmancer.db, a folder with index.manifest.json (ragdocs-mcp), or one with sources.jsonl (IndexFoundry)"


@dataclass(slots=True)
class ImportedSource:
    """A source of the predecessor: how it was imported, and why not by reading it."""

    source: str
    how: str
    documents: int
    collection: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("source", "how", "documents", "collection", "reason")}


@dataclass(slots=True)
class ImportReport:
    """What an import did; `sync` has the totals."""

    program: str
    dry_run: bool
    sources: list[ImportedSource] = field(default_factory=list)
    texts: str = ""  # the folder with the stored texts
    written: int = 0
    sync: SyncReport = field(default_factory=SyncReport)

    @property
    def found(self) -> bool:
        """Whether there was anything to import."""
        return any(one.how != NOTHING for one in self.sources)

    def to_json(self) -> dict[str, Any]:
        about = {"program": self.program, "dry_run": self.dry_run, "texts": self.texts or None, "written": self.written}
        return {**self.sync.to_json(), **about, "sources": [one.to_json() for one in self.sources]}


def read_index(place: str, roots: Sequence[str]) -> StoredIndex:
    """The index of a predecessor at a place. `roots`: folders where relative paths may begin."""
    if not os.path.exists(place):
        raise SourceProblem(f"{place} does not exist", HINT)
    if os.path.isdir(place):
        if os.path.isfile(os.path.join(place, SOURCES)):
            return indexfoundry_project.read_index(place, roots)
        for folder in (place, os.path.join(place, ".index_data")):
            if os.path.isfile(os.path.join(folder, ragdocs_index.MANIFEST)):
                return ragdocs_index.read_index(folder, roots)
    if database := docmancer_index.find_database(place):
        return docmancer_index.read_index(database, roots)
    raise SourceProblem(f"{place} is no index of a predecessor that is known", HINT)


def import_documents(
    engine: Engine,
    place: str,
    texts: str,
    *,
    roots: Sequence[str] = (),
    stored_only: bool = False,
    dry_run: bool = False,
    progress: ProgressCallback = lambda _: None,
) -> ImportReport:
    """Sync the sources that an index lists. Texts of files and sites that are gone are written below the folder
    `texts`, which is synced as well. `stored_only`: read no source."""
    old = read_index(place, roots)
    report = ImportReport(old.program, dry_run)
    left: dict[str, StoredSource] = {}
    for source in old.sources:
        reason = "" if stored_only else _sync(engine, source, report, progress)
        read = not (stored_only or reason)
        remaining = [one for one in (_gone(source) if read else source.texts) if one.text.strip()]
        how = SYNCED if read else STORED if remaining else NOTHING
        count = len(source.texts) if read else len(remaining)
        report.sources.append(ImportedSource(source.name, how, count, source.collection, reason))
        if remaining:
            name = file_name(source.collection or old.program).removesuffix(".md").replace("/", "-")
            kept = left.setdefault(name, StoredSource("", name, source.collection, source.meta))
            kept.texts += remaining
    for name, source in left.items():
        report.texts = texts
        folder, saved = os.path.join(texts, name), SavedPages()
        for one in source.texts:
            _write(folder, one, saved, dry_run)
        report.written += len(saved.files)
        if not dry_run:
            _add(report.sync, _synced(engine, folder, source, progress))
    if not dry_run and report.found:
        made = engine.deepen(progress)
        report.sync.embedded, report.sync.cached = made.embedded, made.cached
        report.sync.warnings += made.warnings
    return report


def _synced(engine: Engine, address: str, source: StoredSource, progress: ProgressCallback) -> SyncReport:
    return engine.sync([address], collection=source.collection, meta=source.meta, deepen=False, progress=progress)


def _sync(engine: Engine, source: StoredSource, report: ImportReport, progress: ProgressCallback) -> str:
    """Sync a source; returns why it could not be read."""
    if not source.address:
        return "it is not there any more" if source.texts else "it is not there any more, and nothing of it was stored"
    try:
        if os.path.exists(source.address):
            refuse_home(source.address)
        if not report.dry_run:
            _add(report.sync, _synced(engine, source.address, source, progress))
    except SourceProblem as problem:
        return str(problem)
    return ""


def _gone(source: StoredSource) -> list[StoredText]:
    """Of a source that was read: the texts whose file is not there. Of a site, the pages that it has are enough."""
    return source.gone() if os.path.exists(source.address) else []


def _write(folder: str, one: StoredText, saved: SavedPages, dry_run: bool) -> None:
    """Write a text as a Markdown file, with its address, where no file of this import is, nor one of the user."""
    head = "" if one.text.startswith("---") else f"---\nsource: {json.dumps(one.name, ensure_ascii=False)}\n---\n\n"
    content = (head + one.text.rstrip() + "\n").encode("utf8", "replace")
    name = file_name(one.name.partition("://")[2] or one.name)
    path = os.path.join(folder, saved.free(name))
    while os.path.lexists(path) and not _is_imported(path, head.encode("utf8", "replace"), content):
        path = os.path.join(folder, saved.free(name))
    saved.files.append(path)
    if not dry_run:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        replace_file(path, content, 0o644)


def _is_imported(path: str, head: bytes, content: bytes) -> bool:
    """Whether a file has what would be written, or is of an earlier import of the same text."""
    try:
        with open(path, "rb") as file:
            found = file.read(len(content) + 1)
    except OSError:
        return False
    return found == content or (bool(head) and found.startswith(head))


def _add(total: SyncReport, made: SyncReport) -> None:
    """Add the counts of another sync of the same index."""
    for name in ("added", "changed", "moved", "removed", "unchanged"):
        setattr(total, name, getattr(total, name) + getattr(made, name))
    for name in ("skipped", "warnings", "notes"):
        getattr(total, name).extend(getattr(made, name))
    total.documents, total.chunks = made.documents, made.chunks
