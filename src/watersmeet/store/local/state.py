"""The `State` port in a folder: one private file for each name, replaced atomically."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from watersmeet.core.errors import ConfigError, IndexProblem
from watersmeet.core.files import refuse_read_only, replace_file
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.locks import passing_lock, writable
from watersmeet.core.system import READ
from watersmeet.store.local._frozen import is_frozen


@dataclass(frozen=True, slots=True)
class FileState:
    """A named state in a file of that name; a lock file exists beside it only during a change."""

    folder: str
    name: str

    def __post_init__(self) -> None:
        if not self.name or os.path.basename(self.name) != self.name or self.name.startswith("."):
            raise ConfigError(f"a state cannot be called {self.name!r}", "it is the name of a file, without its folder")

    def __str__(self) -> str:
        return self.path

    @property
    def path(self) -> str:
        return os.path.join(self.folder, self.name)

    def version(self) -> object:
        """Time, size and inode: two values written in the same clock tick have different inodes."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def read(self) -> bytes | None:
        try:
            with open(self.path, "rb", opener=_open_without_blocking) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise IndexProblem(f"{self} is not a file", "remove it")
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise IndexProblem(f"{self} cannot be read: {error.strerror}", "check its permissions") from error

    @contextmanager
    def changing(self, wait: float) -> Iterator[FileStateChange]:
        if is_frozen(self.folder):
            raise refuse_read_only(self.folder, "it is a frozen copy")
        with passing_lock(f"{self.path}.lock", wait):
            yield FileStateChange(self)


def _open_without_blocking(path: str, flags: int) -> int:
    """Opener that does not block, in case the path is a pipe."""
    return os.open(path, flags | READ)


@dataclass(frozen=True, slots=True)
class FileStateChange:
    """Read and write access to a state while its lock is held."""

    state: FileState

    def read(self) -> bytes | None:
        return self.state.read()

    def write(self, content: bytes | None) -> None:
        with writable(self.state.folder):
            self._sweep()
            if content is not None:
                replace_file(self.state.path, content)
                return
            with suppress(FileNotFoundError):
                os.unlink(self.state.path)

    def _sweep(self) -> None:
        """Deletes temporary files of a writer that was killed."""
        for name in os.listdir(self.state.folder):
            if name.startswith(f".{self.state.name}-"):
                with suppress(OSError):
                    os.unlink(os.path.join(self.state.folder, name))
