"""A process as on a system without POSIX: `python elsewhere.py CODE ARGUMENT...` runs CODE in it.

What such a system lacks is taken from our code, and from CODE: modules, names of `os`, files by their number in
`utime`, folders in `open`, inodes in `scandir`, and signal 0, which ends a process there. A file that is replaced is
refused once, as if somebody read it. Other packages have code for each system and run that of this one. The one thing
that is put in place of something is `msvcrt.locking`: this system's own lock on the same open file.
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import os
import stat
import sys
from types import ModuleType
from typing import Any

MODULES = frozenset("fcntl grp posix pty pwd resource syslog termios tty".split())
NAMES = frozenset(
    """
    O_CLOEXEC O_DIRECTORY O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC chown chroot fchmod fchown fork forkpty fstatvfs
    getegid geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getresuid getsid getuid initgroups killpg
    lchown lockf mkfifo mknod nice openpty pathconf posix_fadvise posix_spawn pread preadv pwrite pwritev readv
    sched_getaffinity sched_yield sendfile setegid seteuid setgid setgroups setpgid setpriority setsid setuid statvfs
    sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 writev
    """.split()
)


class Os(ModuleType):
    """`os` without what is missing there."""

    supports_fd = frozenset(os.supports_fd - {os.utime})
    supports_effective_ids: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        super().__init__("os")
        self._refused: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in NAMES:
            raise AttributeError(f"module 'os' has no attribute {name!r}")
        return getattr(os, name)

    def utime(self, path: Any, *rest: Any, **more: Any) -> None:
        assert not isinstance(path, int), "only paths have times here"
        os.utime(path, *rest, **more)

    def open(self, path: Any, *rest: Any, **more: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return os.open(path, *rest, **more)

    def kill(self, pid: int, number: int) -> None:
        assert number, "0 ends a process here"
        os.kill(pid, number)

    def replace(self, old: Any, new: Any) -> None:
        if str(new) not in self._refused:
            self._refused.add(str(new))
            raise PermissionError(errno.EACCES, "Access is denied", str(new))
        os.replace(old, new)

    def scandir(self, *folder: Any) -> Any:
        return Listing(os.scandir(*folder))


class Listing:
    """What is in a folder, without inodes."""

    def __init__(self, listing: Any) -> None:
        self._listing = listing

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __iter__(self) -> Any:
        return map(Entry, self._listing)

    def close(self) -> None:
        self._listing.close()


class Entry:
    def __init__(self, entry: os.DirEntry[str]) -> None:
        self._entry = entry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def stat(self, **more: Any) -> os.stat_result:
        found = list(self._entry.stat(**more))
        found[stat.ST_INO] = found[stat.ST_DEV] = found[stat.ST_NLINK] = 0
        return os.stat_result(found)


class Msvcrt(ModuleType):
    LK_UNLCK, LK_NBLCK = 0, 2

    def locking(self, handle: int, mode: int, count: int) -> None:
        assert count == 1
        assert os.lseek(handle, 0, os.SEEK_CUR) >= os.fstat(handle).st_size, "nobody could read what is locked"
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB if mode == self.LK_NBLCK else fcntl.LOCK_UN)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None


def leave() -> None:
    """From here on this process is elsewhere."""
    imported, msvcrt, limited = builtins.__import__, Msvcrt("msvcrt"), Os()

    def import_what_there_is(name: str, importer: Any = None, *rest: Any, **more: Any) -> Any:
        if (importer or {}).get("__name__", "").partition(".")[0] not in ("watersmeet", "__main__"):
            return imported(name, importer, *rest, **more)
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        given = {"os": limited, "msvcrt": msvcrt}
        return given[name] if name in given else imported(name, importer, *rest, **more)

    builtins.__import__ = import_what_there_is


if __name__ == "__main__":
    leave()
    code, sys.argv = sys.argv[1], ["watersmeet", *sys.argv[2:]]
    exec(code, {"__name__": "__main__"})  # noqa: S102 - the test's own
