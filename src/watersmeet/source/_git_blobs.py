"""Contents of files in a repository, by hash, from one `git cat-file` that stays open."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from threading import Lock
from weakref import finalize

from watersmeet.source._git import GitFailed, GitProcess, ObjectReader


class Blobs:
    """A reader of contents. The process is started at first use, and ends with this object."""

    def __init__(self, reader: ObjectReader) -> None:
        self._reader = reader
        self._process: GitProcess | None = None
        self._lock = Lock()

    def read(self, blob: str) -> bytes | None:
        """The content of a hash; None if the repository does not have it (any more)."""
        with self._lock:
            process = self._started()
            try:
                process.stdin.write(f"{blob}\n".encode())
                process.stdin.flush()
                with process.waiting() as stream:
                    head = stream.readline().split()
                    if len(head) != 3:
                        if head[1:] == [b"missing"]:
                            return None
                        raise GitFailed("its object store cannot be read")
                    size = int(head[2])
                    content = stream.read(size)
                    stream.read(1)
            except (OSError, ValueError) as error:
                self.close()
                raise GitFailed(f"git ended: {error}") from None
            except GitFailed:
                self.close()
                raise
            if len(content) != size or head[1] != b"blob":
                self.close()
                raise GitFailed("a content is cut short")
            return content

    def _started(self) -> GitProcess:
        if self._process is None:
            self._process = self._reader.start("cat-file", "--batch", stdin=subprocess.PIPE)
            finalize(self, self._process.close)
        return self._process

    def close(self) -> None:
        if self._process is not None:
            with suppress(OSError):
                self._process.close()
            self._process = None
