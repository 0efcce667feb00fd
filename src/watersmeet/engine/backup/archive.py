"""The file of a backup: a tar archive with a header first and the checksums of all parts last.

It is read as a stranger's: plain files only, each within the size that it has, under names that the store accepts, and
nothing is used before the last checksum was compared. It is not packed, so it cannot unpack to more than it is.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any, BinaryIO

from watersmeet import __version__
from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.index import BackupPart, Readable

HEADER, MANIFEST = "watersmeet-backup.json", "checksums.json"
FORMAT = 1
MAX_JSON_BYTES = 8_000_000
MAX_PARTS = 20_000
ANOTHER = "restore another backup"
Copied = Callable[[str, int], None]
"""A callback for each part: its name, and how many bytes were copied so far."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a backup says of itself."""

    store: str
    documents: int
    made: str = ""
    watersmeet: str = __version__


def write(file: BinaryIO, header: Header, parts: Iterator[BackupPart], copied: Copied) -> None:
    """Write an archive; parts are read one after another."""
    sums: dict[str, list[Any]] = {}
    total = 0
    with tarfile.open(fileobj=file, mode="w|", format=tarfile.PAX_FORMAT) as archive:
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        about = {"store": header.store, "documents": header.documents, "made": made, "watersmeet": __version__}
        _add(archive, HEADER, json.dumps({"watersmeet_backup": FORMAT, **about}).encode())
        for part in parts:
            reader = _Hashed(part.content)
            entry = tarfile.TarInfo(part.name)
            entry.size, entry.mode, entry.mtime = part.size, 0o600, int(time.time())
            archive.addfile(entry, reader)  # type: ignore[arg-type] # it only reads
            sums[part.name] = [part.size, reader.hash.hexdigest()]
            total += part.size
            copied(part.name, total)
        _add(archive, MANIFEST, json.dumps(sums, sort_keys=True).encode())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o600
    archive.addfile(entry, BytesIO(content))


class _Hashed:
    """A stream and the checksum of what was read from it."""

    def __init__(self, stream: Readable) -> None:
        self._stream, self.hash = stream, hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        block = self._stream.read(size)
        self.hash.update(block)
        return block


class Archive:
    """An archive to be read, in one pass."""

    def __init__(self, file: BinaryIO, copied: Copied) -> None:
        self._copied = copied
        with _translated():
            self._archive = tarfile.open(fileobj=file, mode="r|")  # noqa: SIM115 - closed by `close`
        self._members = self._plain_members()
        self.header = self._header()

    def close(self) -> None:
        self._archive.close()

    def _header(self) -> Header:
        name, stream = next(self._members, ("", BytesIO()))
        content = _json(stream) if name == HEADER else {}
        if "watersmeet_backup" not in content:
            raise IndexDamaged("this is not a backup of watersmeet", "name a file that `watersmeet backup` wrote")
        if content["watersmeet_backup"] != FORMAT:
            raise IndexMismatch(
                f"the backup has format {str(content['watersmeet_backup'])[:20]}, and this version reads {FORMAT}",
                "upgrade watersmeet",
            )
        return Header(*(content.get(key, "") for key in ("store", "documents", "made", "watersmeet")))

    def parts(self) -> Iterator[BackupPart]:
        """All parts. It raises at the end if any is not what was written, or one is missing: what was made of them must
        not be used then."""
        sums: dict[str, list[Any]] = {}
        total = 0
        for name, stream in self._members:
            if name == MANIFEST:
                if _json(stream) != sums:
                    raise IndexDamaged("the backup is damaged: checksums differ, or parts are missing", ANOTHER)
                return
            if name in sums:
                raise IndexDamaged(f"the backup has {name[:100]!r} twice", ANOTHER)
            reader = _Hashed(stream)
            yield BackupPart(name, stream.size, reader)
            sums[name] = [stream.size, reader.hash.hexdigest()]
            total += stream.size
            self._copied(name, total)
        raise IndexDamaged("the backup ends too early: its checksums are missing", ANOTHER)

    def _plain_members(self) -> Iterator[tuple[str, _Member]]:
        with _translated():
            for number, member in enumerate(self._archive):
                if number > MAX_PARTS:
                    raise IndexDamaged(f"the backup has more than {MAX_PARTS} parts", ANOTHER)
                stream = self._archive.extractfile(member) if member.isreg() and not member.issparse() else None
                if stream is None:
                    raise IndexDamaged(f"the backup has {member.name[:100]!r}, which is no plain file", ANOTHER)
                yield member.name, _Member(stream, member.size)


@dataclass(frozen=True, slots=True)
class _Member:
    """The content of a member of the archive."""

    stream: IO[bytes]
    size: int

    def read(self, size: int, /) -> bytes:
        with _translated():
            return self.stream.read(size)


@contextmanager
def _translated() -> Iterator[None]:
    """Turns errors of a damaged archive into an error with a hint."""
    try:
        yield
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise IndexDamaged(f"the backup cannot be read: {error}", ANOTHER) from error


def _json(stream: Readable) -> dict[str, Any]:
    content = stream.read(MAX_JSON_BYTES + 1)
    try:
        found = json.loads(content) if len(content) <= MAX_JSON_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise IndexDamaged("the backup is damaged: what it says of itself cannot be read", ANOTHER)
    return found
