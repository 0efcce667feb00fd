"""The file that a document was read from, as it was when it was indexed."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from watersmeet.core.errors import NotFound, VersionConflict
from watersmeet.core.index import Index, Snapshot
from watersmeet.core.model import ANY, DocId
from watersmeet.core.system import READ, is_within, slashed
from watersmeet.core.text_fields import digest_of
from watersmeet.core.writing import Root

MAX_BYTES = 256 * 1024 * 1024
FOLDER = "folder"
"""The source whose documents are files of this machine."""
PDF, TEXT, OTHER = "application/pdf", "text/plain; charset=utf-8", "application/octet-stream"


class Original(NamedTuple):
    """Content of a file. Its type is that of a PDF, of text, or of neither: never one that a browser would run."""

    name: str
    type: str
    content: bytes


def original(index: Index, snapshot: Snapshot, document: DocId) -> Original:
    """The file of a document that the caller may see.

    It must be a regular file below a folder of the index, also after links are followed, with the content that was
    indexed; and it must hold this document only, since others in it may be hidden."""
    record = snapshot.record(document)
    missing = NotFound(f"{document!r} is not a file that can be opened", "read its text instead")
    if record is None or not os.path.isabs(record.path) or "\0" in record.path:
        raise missing
    if snapshot.at([record.path], ANY) != [document] or not hasattr(index, "known_roots"):
        raise missing
    known = index.known_roots(lambda root: _holds(root, record.path))
    for state in known.values():
        name = slashed(os.path.relpath(record.path, state.root.path))
        file = state.files.get(os.path.basename(record.path) if name == "." else name)
        if file is None:
            continue
        content = _content(record.path, state.root.path)
        if content is None:
            break
        if digest_of([content]) != file.hash:
            raise VersionConflict(
                "the file has changed since it was indexed", "run `watersmeet sync`, and search again"
            )
        return Original(os.path.basename(record.path), _type(content), content)
    raise missing


def _holds(root: Root, path: str) -> bool:
    return root.kind == FOLDER and is_within(path, root.path)


def _content(path: str, root: str) -> bytes | None:
    """Content of a regular file inside of a folder; None if it is none."""
    real = os.path.realpath(path)
    if not is_within(real, os.path.realpath(root)):
        return None
    try:
        handle = os.open(real, READ | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return stream.read(MAX_BYTES)


def _type(content: bytes) -> str:
    """Media type by the content: an ending may say anything. HTML and pictures with scripts are text."""
    if content.startswith(b"%PDF-"):
        return PDF
    if b"\0" in content[:8192]:
        return OTHER
    try:
        content.decode("utf8")
    except UnicodeDecodeError:
        return OTHER
    return TEXT
