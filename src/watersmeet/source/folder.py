"""The source for a folder of files, or one file.

Files that are not meant for reading are left out silently: hidden files, files ignored by git, other endings, installed
packages. A file that should be readable but is not is reported with the reason.
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import BinaryIO, ClassVar

from watersmeet.common.globs import Pattern, pattern
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import NAME_ONLY, Dating, Found, Located, Offer, Skipped, Source, SourceRoot, Whole
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.names import is_text, printable
from watersmeet.core.options import option
from watersmeet.core.system import is_within, slashed, trimmed
from watersmeet.source._files import error_message, fetch, opened, too_large
from watersmeet.source._ignore import Chain, Rules, above, ignored, of_folder

NEVER = frozenset({".git", "node_modules", "__pycache__"})
_MARKER_FILES = frozenset({"pyvenv.cfg", "catalogue.db"})
"""A folder with one of these files is a virtual environment or an index."""
_NEVER_FOLDERS = (".md", ".markdown", ".mdx", ".txt", ".rst", ".jsonl")
"""Endings that no folder has on purpose; `three.js` is a good name for one."""
_TEMPORARY = ("~", ".tmp", ".swp", ".swx", ".part")
"""Endings of files that programs write for a moment: that one is gone again does not matter."""
_NEITHER = "neither a folder nor a regular file"
_OUTSIDE = "symlink that leads out of the folder; `outside_links = true` under [source.folder] follows it"


@dataclass(frozen=True, slots=True)
class Folder(Source):
    """Files below a root, named by their path; changes are detected by stat."""

    watchable: ClassVar[bool] = True

    endings: tuple[str, ...]  # of files that a parser reads
    names: Collection[str] = frozenset()  # of files that a parser reads whatever they end in
    sizes: Mapping[str, str] = field(default_factory=dict)  # by ending or name: text, binary or records
    include: list[str] = option(
        [],
        "globs of the files to read; none: every ending that a parser reads; one without a slash matches the "
        "name, else the path; case does not matter",
    )
    exclude: list[str] = option([], "globs of files and folders to leave out, whatever `include` says")
    recursive: bool = option(True, "also read the folders below; false: only the files directly in a root")
    gitignore: bool = option(True, "leave out what .gitignore files and .git/info/exclude name")
    hidden: bool = option(False, "also read files and folders whose name begins with a dot")
    follow_links: bool = option(True, "follow symlinks, each folder and file once")
    outside_links: bool = option(False, "also follow symlinks that lead out of the folder")
    other_files: bool = option(False, "also index files that no parser reads, by their name only")
    max_bytes: int = option(10_000_000, "the largest text file to read, in bytes", least=0)
    max_bytes_binary: int = option(100_000_000, "the largest PDF, Office or EPUB file to read, in bytes", least=0)
    max_bytes_records: int = option(1_000_000_000, "the largest .jsonl or .mbox file to read, in bytes", least=0)

    def scan(self, root: SourceRoot, known: Mapping[str, str]) -> Iterator[Offer]:
        """List everything below a folder in a repeatable order, or the one file that was named."""
        place, status = _readable(root.uri)
        if stat.S_ISDIR(status.st_mode):
            return _Walk(self, place).run()
        if not stat.S_ISREG(status.st_mode):
            raise SourceProblem(f"{printable(place)}: {_NEITHER}", "name a folder or a file to read")
        return iter((self._only(place, status), Whole()))

    def scan_part(self, root: SourceRoot, part: str, known: Mapping[str, str]) -> Iterator[Offer]:
        """List one folder of a root by the rules of the whole. What a symlink in it leads to may be read elsewhere by
        another name, so then the whole root is listed."""
        place, status = _readable(root.uri)
        if not part or not stat.S_ISDIR(status.st_mode):
            return self.scan(root, known)
        walk = _Walk(self, place)
        items = [*walk.run_part(part)]
        if walk.has_links:
            return Source.scan_part(self, root, part, known)
        return iter(items)

    def concerned(self, uri: str, paths: Collection[str]) -> list[str]:
        if not os.path.isdir(uri):
            return [path for path in paths if path == uri]
        walk = _Walk(self, uri)
        return [path for path in paths if walk.may_read(path)]

    def count_changes(
        self, uri: str, known: Mapping[str, str], unread: Collection[str], others: Collection[str], seconds: float
    ) -> int | None:
        try:
            _, status = _readable(uri)
        except SourceProblem:
            return None
        if not stat.S_ISDIR(status.st_mode):
            return int(known.get(os.path.basename(uri)) != _stamp(status))
        return _Walk(self, uri).count_changes(known, unread, others, seconds)

    def read(self, found: Found) -> bytes | Skipped:
        if found.media == NAME_ONLY:
            return found.name.encode()
        return fetch(found.uri, *self.limit(found.name))

    def open(self, found: Found) -> BinaryIO | Skipped:
        return opened(found.uri, *self.limit(found.name))

    def dating(self, found: Collection[Found]) -> Dating:
        from watersmeet.source._git_dates import GitDates  # lazy: a look at a folder reads no dates

        return GitDates([item.uri for item in found])

    def locate(self, uri: str) -> Located:
        """Resolve a path and its symlinks."""
        if "\0" in uri or not is_text(uri):
            raise SourceProblem(f"{printable(uri)}: name is not valid UTF-8", "check its spelling, or rename it")
        place = os.path.realpath(uri)
        if not is_text(place):
            raise SourceProblem(f"{printable(place)}: name is not valid UTF-8", "rename it")
        only: Found | Skipped | None = None
        try:
            status = os.stat(place)
            if stat.S_ISREG(status.st_mode):
                only = self._only(place, status)
            elif not stat.S_ISDIR(status.st_mode):
                only = Skipped(place, _NEITHER)
        except OSError:
            status = None
        return Located(place, os.path.basename(place) or "root", status is not None, only, (uri, os.path.abspath(uri)))

    def within(self, uri: str, place: str) -> bool:
        return is_within(uri, place)

    def holds(self, place: str, name: str) -> bool:
        return os.path.lexists(os.path.join(place, name))

    def limit(self, name: str) -> tuple[int, str]:
        """Size limit of a file, and the setting that defines it."""
        size = self.sizes.get(os.path.splitext(name)[1].lower(), "text") if self.sizes else "text"
        if size == "binary":
            return self.max_bytes_binary, "max_bytes_binary"
        return (self.max_bytes_records, "max_bytes_records") if size == "records" else (self.max_bytes, "max_bytes")

    def offer(self, name: str, path: str, status: os.stat_result) -> Found | Skipped:
        """Offer a regular file, unless it is too large or its name is not valid UTF-8."""
        if not is_text(name):
            return Skipped(printable(path), "name is not valid UTF-8")
        stamp = _stamp(status)
        modified = _moment(status.st_mtime)
        if self.other_files and not self.is_parsed(os.path.basename(name).lower()):
            return Found(name, path, stamp, modified, NAME_ONLY)
        limit, setting = self.limit(name)
        if status.st_size > limit:
            return Skipped(path, too_large(limit, setting))
        return Found(name, path, stamp, modified, os.path.splitext(name)[1].casefold())

    def is_parsed(self, name: str) -> bool:
        """Whether a parser reads files of this name, in lower case."""
        return name.endswith(self.endings) or name in self.names

    def _only(self, place: str, status: os.stat_result) -> Found | Skipped:
        name = os.path.basename(place)
        if Included(self).matches(name, name) or self.is_parsed(name.lower()):
            return self.offer(name, place, status)
        return Skipped(printable(place), "not a kind of file that can be read")


def _readable(uri: str) -> tuple[str, os.stat_result]:
    """The absolute path of a root and its status; `SourceProblem` if it cannot be read."""
    place = os.path.abspath(uri)
    if not is_text(place):
        raise SourceProblem(f"{printable(place)}: name is not valid UTF-8", "rename it")
    try:
        status = os.stat(place)
        if stat.S_ISDIR(status.st_mode):
            os.scandir(place).close()
    except OSError as error:
        raise SourceProblem(
            f"{printable(place)}: {error_message(error)}",
            "name a folder or a file that exists and that you may read",
        ) from error
    return place, status


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _moment(seconds: float) -> datetime | None:
    """Date of a time stamp; None if it is out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class Included:
    """Matcher of the `include` globs. Most globs are plain endings, which are fast to compare."""

    __slots__ = ("_all", "_folder", "_globs", "_names", "endings")

    def __init__(self, folder: Folder) -> None:
        endings: list[str] = [] if folder.include else [*folder.endings]
        self._folder = folder
        self._names = frozenset() if folder.include else folder.names
        self._all = folder.other_files and not folder.include
        self._globs: list[tuple[Pattern, bool]] = []
        for glob in folder.include:
            text = glob.lower().removeprefix("./")
            text += "**" if text.endswith("/") else ""
            if text.startswith("*.") and not set("*?[\\/") & set(text[1:]):
                endings.append(text[1:])
            elif (rule := pattern(text, may_negate=False)) is not None:
                self._globs.append((rule, text.endswith("*")))
        self.endings = tuple(endings)

    def matches(self, name: str, path: str) -> bool:
        """Whether a file is included. A glob that ends in a star matches only files that a parser reads."""
        name = name.lower()
        if self._all or name.endswith(self.endings) or name in self._names:
            return True
        return any(
            (not is_open or self._folder.is_parsed(name)) and rule.matches(name, path.lower(), False)
            for rule, is_open in self._globs
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder to list; `name` is its path below the root with a trailing slash, or empty."""

    name: str
    path: str
    chain: Chain


class _Walk:
    """One scan. Symlinks are followed last, so that a file with two names gets its real one."""

    def __init__(self, folder: Folder, root: str) -> None:
        self._folder = folder
        self._included = Included(folder)
        globs = (pattern(glob.lower().removeprefix("./"), may_negate=False) for glob in folder.exclude)
        self._excluded = [glob for glob in globs if glob is not None]
        self._root = root
        self._real = os.path.realpath(root)
        self._outer = ""  # path of the root below the top of its git work tree
        self._places: list[_Place] = []
        self._linked_folders: deque[tuple[_Place, os.stat_result]] = deque()
        self._linked_files: list[tuple[str, str, os.stat_result]] = []
        self._read_names: dict[tuple[int, int], str] = {}
        """Names of the files and folders read, by device and inode; the name of a folder ends in a slash."""
        self._parents: dict[str, _Place | Skipped | None] = {}

    @property
    def has_links(self) -> bool:
        """Whether symlinks were met that can be followed."""
        return bool(self._linked_folders or self._linked_files)

    def run(self) -> Iterator[Offer]:
        top, bad_rules = self._top()
        yield from bad_rules
        self._remember_parents(self._real)
        self._places.append(top)
        while True:
            while self._places:
                yield from self._look_into(self._places.pop())
            if not self._linked_folders:
                break
            yield from self._follow(*self._linked_folders.popleft())
        for name, path, status in self._linked_files:
            read_as = self._read_names.setdefault((status.st_dev, status.st_ino), name)
            if read_as == name:
                yield self._folder.offer(name, path, status)
            else:
                yield Skipped(printable(path), f"symlink to a file that is read already: {read_as}")
        yield Whole()

    def run_part(self, part: str) -> Iterator[Offer]:
        """List one folder below the root; symlinks are only collected."""
        place = self._descend(part)
        if isinstance(place, Skipped):
            yield place
        elif place is not None:
            self._places.append(place)
            while self._places:
                yield from self._look_into(self._places.pop())
        yield Whole()

    def may_read(self, path: str) -> bool:
        """Whether a scan may read this path, or what is below it; a path that no longer exists counts as what it may
        have been."""
        name = slashed(path[len(trimmed(self._root)) + 1 :])
        if not name:
            return True
        folder, _, last = name.rpartition("/")
        if last == ".gitignore":
            last, name = "", folder
        elif self._never(last):
            return False
        if folder not in self._parents:
            self._parents[folder] = self._descend(folder)
        place = self._parents[folder]
        if not isinstance(place, _Place) or (folder and _has_marker(place.path)):
            return isinstance(place, Skipped)
        if not last:
            return self._folder.gitignore
        chain = self._chain_in(place)
        if self._included.matches(last, name):
            return not self._left_out(last, name, chain, False)
        is_folder = os.path.isdir(path)
        if not is_folder and (os.path.lexists(path) or last.endswith(_TEMPORARY)):
            return os.path.islink(path)
        return not self._left_out(last, name, chain, True) and not _has_marker(path)

    def count_changes(
        self, known: Mapping[str, str], unread: Collection[str], others: Collection[str], seconds: float
    ) -> int | None:
        """Number of differences to the stamps in `known`; None if it takes too long, or a folder cannot be listed."""
        end = time.thread_time() + seconds
        found = changed = 0
        linked: set[str] | None = None
        places = [self._top()[0]]
        for count in itertools.count():
            if not places:
                break
            if count % 32 == 31 and time.thread_time() > end:  # reading the clock costs as much as a small folder
                return None
            place = places.pop()
            try:
                with os.scandir(place.path) as listing:
                    entries = [*listing]
            except OSError:
                return None
            if place.name and any(entry.name in _MARKER_FILES for entry in entries):
                continue
            rules = {".gitignore", ".git"}.intersection(entry.name for entry in entries)
            chain = self._chain_in(place) if rules else place.chain
            for entry in entries:
                name = place.name + entry.name
                stamp = known.get(name)
                if stamp is not None:
                    try:
                        status = entry.stat()
                        status = status if status.st_ino else os.stat(entry.path)  # Windows lists a folder without them
                    except OSError:
                        continue  # deleted just now
                    found += 1
                    changed += stamp != _stamp(status) and stamp != ""
                    continue
                if self._never(entry.name):
                    continue
                if entry.is_symlink():
                    # what is behind a symlink is read last, and only if it has no other name
                    linked = {name.rpartition("/")[0] for name in known} if linked is None else linked
                    if not any(folder == name or folder.startswith(f"{name}/") for folder in linked):
                        continue
                if entry.is_dir():
                    if entry.path not in others and not self._left_out(entry.name, name, chain, True):
                        places.append(_Place(name + "/", entry.path, chain))
                elif name not in unread and self._is_new(entry, name, chain):
                    changed += 1
        return changed + len(known) - found

    def _is_new(self, entry: os.DirEntry[str], name: str, chain: Chain) -> bool:
        """Whether a file that is not known would be read."""
        if not self._included.matches(entry.name, name) or self._left_out(entry.name, name, chain, False):
            return False
        try:
            regular = entry.is_file(follow_symlinks=False)
            return regular and isinstance(self._folder.offer(name, entry.path, entry.stat()), Found)
        except OSError:
            return False

    def _top(self) -> tuple[_Place, list[Skipped]]:
        """The root with the rules of the folders above it, and ignore files that cannot be read."""
        if not self._folder.gitignore:
            return _Place("", self._root, ()), []
        rules, self._outer = above(self._real)
        chain = tuple(rule for rule in rules if isinstance(rule, Rules))
        return _Place("", self._root, chain), [bad for bad in rules if isinstance(bad, Skipped)]

    def _descend(self, part: str) -> _Place | Skipped | None:
        """A folder below the root with the rules that apply in it; None if it does not exist or scans leave it out."""
        place, _ = self._top()
        for last in filter(None, part.split("/")):
            name, path = place.name + last, os.path.join(place.path, last)
            try:
                status = os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
            except OSError as error:
                return Skipped(printable(path), error_message(error), closed=True)
            if stat.S_ISLNK(status.st_mode) and os.path.isdir(path):
                self._linked_folders.append((_Place(name + "/", path, ()), status))
            chain = self._chain_in(place)
            if not os.path.isdir(path) or self._never(last) or self._left_out(last, name, chain, True):
                return None
            if place.name and _has_marker(place.path):
                return None
            place = _Place(name + "/", path, chain)
        return place

    def _chain_in(self, place: _Place) -> Chain:
        """The rules for the entries of a folder."""
        if not self._folder.gitignore:
            return ()
        rules = of_folder(place.path, len(self._outer + place.name))
        return (*(rule for rule in rules if isinstance(rule, Rules)), *place.chain)

    def _never(self, name: str) -> bool:
        return (name[0] == "." and not self._folder.hidden) or name in NEVER

    def _remember_parents(self, root: str) -> None:
        """Record the folders above the root: a link to one of them is a loop."""
        while (parent := os.path.dirname(root)) != root:
            status = os.stat(parent)
            self._read_names[status.st_dev, status.st_ino] = ""
            root = parent

    def _look_into(self, place: _Place) -> Iterator[Found | Skipped]:
        try:
            status = os.stat(place.path)
            with os.scandir(place.path) as listing:
                entries = sorted(listing, key=_name_of)
        except OSError as error:
            yield Skipped(place.path, error_message(error), closed=True)
            return
        names = {entry.name for entry in entries}
        if place.name and not names.isdisjoint(_MARKER_FILES):
            return
        if self._read_names.setdefault((status.st_dev, status.st_ino), place.name) != place.name:
            return
        chain = place.chain
        if self._folder.gitignore and (".gitignore" in names or ".git" in names):
            rules = of_folder(place.path, len(self._outer + place.name))
            yield from (bad for bad in rules if isinstance(bad, Skipped))
            chain = (*(rule for rule in rules if isinstance(rule, Rules)), *chain)
        below: list[_Place] = []
        for entry in entries:
            name = entry.name
            if self._never(name):
                continue
            item = self._offer_entry(entry, place.name + name, chain, below)
            if item is not None:
                yield item
        self._places += reversed(below)

    def _offer_entry(
        self, entry: os.DirEntry[str], name: str, chain: Chain, below: list[_Place]
    ) -> Found | Skipped | None:
        """One entry of a folder: a file is offered, a folder is added to `below`, a symlink is queued."""
        try:
            if entry.is_symlink():
                return self._queue_link(entry, name, chain)
            if entry.is_dir(follow_symlinks=False):
                if self._left_out(entry.name, name, chain, True):
                    return None
                if not is_text(name):
                    return Skipped(printable(entry.path), "name is not valid UTF-8")
                below.append(_Place(name + "/", entry.path, chain))
                return self._named_like_a_file(entry)
            if not self._included.matches(entry.name, name) or self._left_out(entry.name, name, chain, False):
                return None
            if not entry.is_file(follow_symlinks=False):
                return Skipped(printable(entry.path), "not a regular file")
            status = entry.stat(follow_symlinks=False)
            if not status.st_ino:  # Windows lists a folder without them
                status = os.lstat(entry.path)
        except OSError as error:
            return Skipped(printable(entry.path), error_message(error), closed=True)
        self._read_names[status.st_dev, status.st_ino] = name
        return self._folder.offer(name, entry.path, status)

    def _queue_link(self, entry: os.DirEntry[str], name: str, chain: Chain) -> Skipped | None:
        """Queue a symlink, to be followed after everything else, if its target can be read."""
        try:
            status = os.stat(entry.path)
            mode = status.st_mode
            problem = self._not_followed(entry.path)
        except FileNotFoundError:
            mode, problem = 0, "dangling symlink"
        except OSError as error:
            mode, problem = 0, error_message(error)
        is_folder = stat.S_ISDIR(mode)
        # The target of a broken link is unknown: without an ending it may have been a folder.
        wanted = is_folder or self._included.matches(entry.name, name) or (not mode and "." not in entry.name)
        if not wanted or self._left_out(entry.name, name, chain, is_folder):
            return None
        if problem:
            return Skipped(printable(entry.path), problem, closed=not mode)
        if not is_text(name):
            return Skipped(printable(entry.path), "name is not valid UTF-8")
        if is_folder:
            self._linked_folders.append((_Place(name + "/", entry.path, chain), status))
            return self._named_like_a_file(entry)
        if not stat.S_ISREG(mode):
            return Skipped(entry.path, "not a regular file")
        self._linked_files.append((name, entry.path, status))
        return None

    def _not_followed(self, path: str) -> str:
        """Reason not to follow a symlink. One that leads out of the folder may expose other files."""
        if not self._folder.follow_links:
            return "symlink; see source.folder.follow_links"
        if self._folder.outside_links or is_within(self._real, os.path.realpath(path)):
            return ""  # one that leads up is reported as a loop
        return "" if is_within(os.path.realpath(path), self._real) else _OUTSIDE

    def _follow(self, place: _Place, status: os.stat_result) -> Iterator[Skipped]:
        read_as = self._read_names.get((status.st_dev, status.st_ino))
        if read_as is None:
            self._places.append(place)
        elif place.name.startswith(read_as):
            yield Skipped(place.path, "symlink loop")
        else:
            yield Skipped(place.path, f"symlink to a folder that is read already: {read_as}")

    def _left_out(self, name: str, path: str, chain: Chain, is_folder: bool) -> bool:
        if is_folder and not self._folder.recursive:
            return True
        if chain and ignored(chain, name, self._outer + path, is_folder):
            return True
        if not self._excluded:
            return False
        name, path = name.lower(), path.lower()
        return any(glob.matches(name, path, is_folder) for glob in self._excluded)

    def _named_like_a_file(self, entry: os.DirEntry[str]) -> Skipped | None:
        name = entry.name.lower()
        if name.endswith(_NEVER_FOLDERS) and name.endswith(self._included.endings or self._folder.endings):
            return Skipped(entry.path, "a folder, not a file")
        return None


def _has_marker(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in _MARKER_FILES)


def _name_of(entry: os.DirEntry[str]) -> str:
    return entry.name
