"""Wheels of installed distributions: what runs here is packed again, file by file, as it was checked when installed.

Nothing is built and no code of a package runs. Of a package that is installed in editable mode, such as watersmeet in a
checkout, the package's folder is packed. Scripts outside of the packages do not come along: entry points are made
anew by whoever installs the wheel.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution
from importlib.util import find_spec

from watersmeet.core.errors import ConfigError

MOMENT = (2020, 1, 1, 0, 0, 0)
"""Time stamp of every file, so that the same package gives the same wheel."""
NOT_PACKED = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "RECORD.jws", "RECORD.p7s"})
COMPRESSION = 6
_TAG = re.compile(r"^Tag: (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A packed wheel."""

    file: str
    sha256: str
    size: int


def pack_wheel(distribution: Distribution, folder: str, module: str = "") -> Wheel:
    """Pack an installed distribution into a wheel. `module`: the package to pack where only its folder is known."""
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"])
    info = f"{name}-{distribution.version}.dist-info"
    files = dict(_files(distribution, info, module))
    if not any(not path.startswith(f"{info}/") for path in files):
        raise ConfigError(
            f"the files of {distribution.metadata['Name']} cannot be found", "install it again, not in editable mode"
        )
    tags = _TAG.findall(distribution.read_text("WHEEL") or "") or ["py3-none-any"]
    file = f"{name}-{distribution.version}-{_joined(tags)}.whl"
    _write(os.path.join(folder, file), files, info)
    with open(os.path.join(folder, file), "rb") as packed:
        digest = hashlib.file_digest(packed, "sha256").hexdigest()
    return Wheel(file, digest, os.path.getsize(os.path.join(folder, file)))


def _joined(tags: list[str]) -> str:
    """Compressed tags, as in the name of a wheel: `cp311-cp311-linux_x86_64`."""
    parts = zip(*(tag.split("-") for tag in tags), strict=True)
    return "-".join(".".join(dict.fromkeys(part)) for part in parts)


def _files(distribution: Distribution, info: str, module: str) -> Iterator[tuple[str, str]]:
    """The files of a wheel: path inside of it, and path on disk."""
    packed = False
    for file in distribution.files or ():
        path = file.as_posix()
        if path.startswith("../") or os.path.isabs(path) or path.endswith((".pyc", ".pth")):
            continue
        head, _, rest = path.partition("/")
        if head.endswith(".dist-info"):
            if rest not in NOT_PACKED:
                yield f"{info}/{rest}", str(file.locate())
            continue
        packed = True
        yield path, _checked(file)
    if not packed and module:
        yield from _package_files(module)


def _checked(file: object) -> str:
    """The path of a file, if it is as it was installed."""
    path, expected = str(file.locate()), getattr(file, "hash", None)  # type: ignore[attr-defined] # a PackagePath
    if expected is not None:
        with open(path, "rb") as opened:
            digest = hashlib.file_digest(opened, expected.mode).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected.value:
            raise ConfigError(f"{path} was changed after it was installed", "install its package again")
    return path


def _package_files(module: str) -> Iterator[tuple[str, str]]:
    """The files of a package's folder."""
    spec = find_spec(module)
    folder = os.path.dirname(spec.origin) if spec and spec.origin else ""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(place, name)
            if not name.endswith(".pyc") and os.path.isfile(path) and not os.path.islink(path):
                yield f"{module}/{os.path.relpath(path, folder).replace(os.sep, '/')}", path


def _write(path: str, files: dict[str, str], info: str) -> None:
    record: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION) as wheel:
        for name in sorted(files, key=lambda name: (name.startswith(f"{info}/"), name)):
            with open(files[name], "rb") as file:
                content = file.read()
            _add(wheel, name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{_quoted(name)},sha256={digest},{len(content)}")
        _add(wheel, f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode())


def _add(wheel: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, MOMENT)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    wheel.writestr(entry, content)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name
