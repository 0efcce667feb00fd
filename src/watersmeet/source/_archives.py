"""Archives of strangers (zip, tar): read in memory, never unpacked to disk, with limits on everything that can grow.

Links, devices and sparse files are left out, and so are names that lead out of the archive or are not UTF-8.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Skipped
from watersmeet.core.names import is_text, printable

TAR_ENDINGS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ENDINGS = (*TAR_ENDINGS, ".zip", ".whl")
"""Endings of archives that can be read."""
MAX_RATIO = 200
"""Unpacked bytes per packed byte; documentation has 3 to 10."""
RATIO_FLOOR = 4 << 20
"""Unpacked bytes below which the ratio does not matter."""
MAX_DIRECTORY = 16 << 20
"""Bytes of the table of contents of a zip file: all of it is read into objects."""
MAX_NAME, MAX_DEPTH = 500, 40
_BLOCK = 1 << 16
_BAD = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    struct.error,
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on one archive. Files that are larger are skipped; an archive that is larger is refused."""

    file: int = 5_000_000
    total: int = 300_000_000  # unpacked
    members: int = 50_000
    wanted_files: int = 10_000
    wanted_bytes: int = 64_000_000


class _TooMuch(Exception):
    """The archive is larger than its limits."""


def members(name: str, content: bytes, wanted: Callable[[str], bool], limits: Limits) -> dict[str, bytes | Skipped]:
    """The wanted files of an archive by path, without the folder that holds them all if `name` is a tar file.

    `SourceProblem` if it is damaged or exceeds a limit: nothing of it is used then.
    """
    read = _zip if name.endswith((".zip", ".whl")) else _tar
    found: dict[str, bytes | Skipped] = {}
    size = 0
    try:
        for path, one in read(name, content, wanted, limits):
            found[path] = Skipped(path, "is twice in its archive") if path in found else one
            size += len(one) if isinstance(one, bytes) else 0
            if len(found) > limits.wanted_files or size > limits.wanted_bytes:
                raise _TooMuch(
                    f"has more than {limits.wanted_files:,} files or {limits.wanted_bytes / 1e6:g} MB to read"
                )
    except _TooMuch as problem:
        raise SourceProblem(f"{name} {problem}", "it is not read; is it what you think it is?") from None
    except _BAD as problem:
        raise SourceProblem(f"{name} cannot be unpacked: {problem or type(problem).__name__}", "try again") from problem
    return found


def safe_path(path: str) -> str:
    """The reason why a path in an archive is refused; empty if it is fine."""
    parts = path.split("/")
    if not is_text(path):
        return "name is not valid UTF-8"
    if "\\" in path or not path.isprintable() or len(path) > MAX_NAME or len(parts) > MAX_DEPTH:
        return "name has characters that are not allowed, or is too long"
    if path.startswith("/") or not {"", ".", ".."}.isdisjoint(parts) or ":" in parts[0]:
        return "name leads out of the archive"
    return ""


Entry = tuple[str, "bytes | Skipped"]


def _tar(name: str, content: bytes, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Entry]:
    unpack: Any = bz2.BZ2File if name.endswith("bz2") else lzma.LZMAFile if name.endswith("xz") else _gzip
    stream: Any = _LimitedStream(unpack(io.BytesIO(content)), _room(content, limits))
    with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
        for number, member in enumerate(archive):
            if number >= limits.members:
                raise _TooMuch(f"holds more than {limits.members:,} files")
            path = member.name.removeprefix("./").partition("/")[2]
            if not path or member.isdir() or not wanted(path):
                continue
            refusal = safe_path(member.name.removeprefix("./"))
            if refusal:
                yield printable(path), Skipped(printable(path), refusal)
            elif not member.isreg() or member.issparse():
                yield path, Skipped(path, "not a regular file")
            elif member.size > limits.file:
                yield path, Skipped(path, _too_large(limits.file))
            else:
                file = archive.extractfile(member)
                yield path, file.read() if file else Skipped(path, "not a regular file")


def _room(content: bytes, limits: Limits) -> int:
    """How many bytes an archive may unpack to."""
    return min(limits.total, max(RATIO_FLOOR, MAX_RATIO * len(content)))


def _gzip(stream: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile(fileobj=stream)


def _zip(name: str, content: bytes, wanted: Callable[[str], bool], limits: Limits) -> Iterator[Entry]:
    if _directory_size(content) > MAX_DIRECTORY:
        raise _TooMuch("has a table of contents that is too large")
    room = _room(content, limits)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        listed = archive.infolist()
        if len(listed) > limits.members:
            raise _TooMuch(f"holds more than {limits.members:,} files")
        outer = "" if name.endswith(".whl") else _common_folder([one.filename for one in listed])
        for one in listed:
            path = one.filename.removeprefix(outer)
            if not path or one.is_dir() or not wanted(path):
                continue
            if refusal := _zip_refusal(one, limits):
                yield printable(path), Skipped(printable(path), refusal)
                continue
            with archive.open(one) as file:
                read = file.read(min(limits.file, room) + 1)
            room -= len(read)
            if room < 0:
                raise _TooMuch(f"unpacks to more than {limits.total:,} bytes, or than {MAX_RATIO} times its size")
            yield path, Skipped(path, _too_large(limits.file)) if len(read) > limits.file else read


def _zip_refusal(one: zipfile.ZipInfo, limits: Limits) -> str:
    if not one.filename.isascii() and not one.flag_bits & 0x800:
        return "name is not valid UTF-8"
    if refusal := safe_path(one.filename):
        return refusal
    kind = stat.S_IFMT(one.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "not a regular file"
    if one.flag_bits & 1 or one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is encrypted, or packed in a way that is not read"
    return _too_large(limits.file) if one.file_size > limits.file else ""


def _directory_size(content: bytes) -> int:
    """Bytes of the table of contents of a zip file, as its end says; the 64-bit form is for archives of 4 GB."""
    at = len(content) - 22
    if content[at : at + 4] != b"PK\5\6" or content[-2:] != b"\0\0":
        at = content.rfind(b"PK\5\6", max(0, len(content) - 22 - (1 << 16)))
    if at < 0 or len(content) < at + 22:
        raise zipfile.BadZipFile("it is not a zip file")
    if content[max(0, at - 20) :].startswith(b"PK\6\7"):
        raise zipfile.BadZipFile("it has the form of an archive of 4 GB")
    size: int = struct.unpack_from("<L", content, at + 12)[0]
    return size


def _common_folder(names: list[str]) -> str:
    """The folder that holds all files of an archive, with a slash; empty if there is none."""
    folders = {name.partition("/")[0] if "/" in name else "" for name in names}
    return f"{folders.pop()}/" if len(folders) == 1 and "" not in folders else ""


def _too_large(limit: int) -> str:
    return f"larger than {limit / 1e6:,g} MB"


class _LimitedStream(io.RawIOBase):
    """A stream that ends with `_TooMuch` after so many bytes."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        super().__init__()
        self._stream = stream
        self._most = most
        self._room = most

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        read = self._stream.read(min(size, _BLOCK) if size >= 0 else _BLOCK)
        self._room -= len(read)
        if self._room < 0:
            raise _TooMuch(f"unpacks to more than {self._most:,} bytes")
        return read
