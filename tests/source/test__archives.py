"""Archives of strangers."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from package_registry import tar, zipped
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Skipped
from watersmeet.source._archives import Limits, members, safe_path

SMALL = Limits(file=1000, total=10_000_000, members=50, wanted_files=20, wanted_bytes=5000)


def everything(path: str) -> bool:
    return True


def read(name: str, content: bytes, limits: Limits = SMALL) -> dict[str, bytes | Skipped]:
    return members(name, content, everything, limits)


def reasons(found: dict[str, bytes | Skipped]) -> dict[str, str]:
    return {name: one.reason for name, one in found.items() if isinstance(one, Skipped)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tar.gz", tar({"a.md": b"A", "docs/b.md": b"B"})),
        ("a.tgz", tar({"a.md": b"A", "docs/b.md": b"B"}, "./package/")),
        ("a.tar.bz2", tar({"a.md": b"A", "docs/b.md": b"B"}, compression="bz2")),
        ("a.tar.xz", tar({"a.md": b"A", "docs/b.md": b"B"}, compression="xz")),
        ("a.zip", zipped({"tern-1.0/a.md": b"A", "tern-1.0/docs/b.md": b"B"})),
        ("a.whl", zipped({"a.md": b"A", "docs/b.md": b"B"})),
    ],
)
def test_files_by_path(name: str, content: bytes) -> None:
    assert read(name, content) == {"a.md": b"A", "docs/b.md": b"B"}


def test_only_wanted_files_are_read() -> None:
    content = tar({"a.md": b"A", "b.py": b"B" * 9999})
    assert members("a.tgz", content, lambda path: path.endswith(".md"), SMALL) == {"a.md": b"A"}


@pytest.mark.parametrize("name", ["../evil.md", "docs/../../evil.md", "docs//x.md", "./x.md", "a\\b.md", "a\nb.md"])
def test_paths_that_lead_out_are_skipped(name: str) -> None:
    for found in (read("a.tgz", tar({name: b"x"})), read("a.whl", zipped({name: b"x"}))):
        assert len(reasons(found)) == 1


def test_absolute_paths_are_skipped() -> None:
    assert reasons(read("a.tgz", tar({"etc/passwd": b"x"}, top="/"))) == {"etc/passwd": "name leads out of the archive"}
    assert reasons(read("a.whl", zipped({"/etc/passwd": b"x", "C:/x.md": b"x"}))).keys() == {"/etc/passwd", "C:/x.md"}


def test_links_and_devices_are_skipped() -> None:
    extra = []
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        info = tarfile.TarInfo(f"t/{kind.decode()}.md")
        info.type, info.linkname = kind, "/etc/passwd"
        extra.append(info)
    found = read("a.tgz", tar({"a.md": b"A"}, "t/", extra=extra))
    assert found.pop("a.md") == b"A"
    assert set(reasons(found).values()) == {"not a regular file"}
    assert len(found) == 4
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        link = zipfile.ZipInfo("a.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    assert reasons(read("a.whl", made.getvalue())) == {"a.md": "not a regular file"}


def test_names_that_are_not_utf_8_are_skipped() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz", format=tarfile.GNU_FORMAT, encoding="latin-1") as archive:
        info = tarfile.TarInfo("t/m\xf6we.md")
        archive.addfile(info)
    assert set(reasons(read("a.tgz", made.getvalue())).values()) == {"name is not valid UTF-8"}
    content = zipped({"moewe.md": b"x"}).replace(b"moewe", b"m\x94we1")
    assert set(reasons(read("a.whl", content)).values()) == {"name is not valid UTF-8"}


def test_a_file_that_is_there_twice_is_not_read() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for content in (b"one", b"two"):
            info = tarfile.TarInfo("t/a.md")
            info.size = 3
            archive.addfile(info, io.BytesIO(content))
    assert reasons(read("a.tgz", made.getvalue())) == {"a.md": "is twice in its archive"}


def test_large_files_are_skipped() -> None:
    for found in (read("a.tgz", tar({"a.md": b"x" * 1001})), read("a.whl", zipped({"a.md": b"x" * 1001}))):
        assert "larger than" in reasons(found)["a.md"]


@pytest.mark.parametrize("name", ["a.tgz", "a.tar.bz2", "a.tar.xz"])
def test_tar_bombs_are_refused(name: str) -> None:
    content = tar({"a.md": b"\0" * 30_000_000}, compression={"a.tgz": "gz"}.get(name, name[-3:].strip(".")))
    assert len(content) < 100_000
    with pytest.raises(SourceProblem, match="unpacks to more than"):
        read(name, content)


def test_zip_bombs_are_refused() -> None:
    content = zipped({f"{number}.md": b"\0" * 3_000_000 for number in range(20)})
    with pytest.raises(SourceProblem, match="unpacks to more than"):
        read("a.whl", content, Limits())


def test_a_zip_that_understates_a_size_is_cut_or_refused() -> None:
    content = zipped({"a.md": b"\0" * 900_000})
    content = content.replace(struct.pack("<L", 900_000), struct.pack("<L", 10))
    try:
        found = read("a.whl", content)
    except SourceProblem:
        return
    assert len(found["a.md"]) <= 1000 if isinstance(found["a.md"], bytes) else found["a.md"].reason


@pytest.mark.parametrize("make", [tar, zipped])
def test_too_many_files_are_refused(make: object) -> None:
    name = "a.tgz" if make is tar else "a.whl"
    for count in (30, 60):
        files = {f"{number}.md": b"x" for number in range(count)}
        with pytest.raises(SourceProblem, match="more than"):
            read(name, tar(files) if make is tar else zipped(files))


def test_a_table_of_contents_in_64_bits_is_refused() -> None:
    content = zipped({"a.md": b"A"})
    locator = b"PK\6\7" + b"\0" * 16
    with pytest.raises(SourceProblem, match="4 GB"):
        read("a.whl", content[:-22] + locator + content[-22:])
    huge = bytearray(content)
    huge[-10:-6] = struct.pack("<L", 1 << 30)
    with pytest.raises(SourceProblem, match="table of contents"):
        read("a.whl", bytes(huge))


def test_encrypted_files_are_skipped() -> None:
    content = bytearray(zipped({"a.md": b"A"}))
    content[content.index(b"PK\1\2") + 8] |= 1
    assert "encrypted" in reasons(read("a.whl", bytes(content)))["a.md"]


def test_damaged_archives_are_a_problem() -> None:
    for name in ("a.tgz", "a.tar.xz", "a.tar.bz2", "a.zip"):
        for content in (b"", b"garbage" * 100, tar({"a.md": b"x" * 500})[:60]):
            with pytest.raises(SourceProblem):
                read(name, content)


WHOLE = {"a.tgz": tar({"a.md": b"text " * 50}), "a.whl": zipped({"a.md": b"text " * 50})}


@given(st.sampled_from(["a.tgz", "a.whl"]), st.integers(0, 100_000), st.binary(min_size=1, max_size=8))
def test_any_change_is_read_or_refused(name: str, at: int, change: bytes) -> None:
    content = bytearray(WHOLE[name])
    at %= len(content)
    content[at : at + len(change)] = change
    try:
        found = read(name, bytes(content))
    except SourceProblem:
        return
    assert all(isinstance(one, bytes | Skipped) for one in found.values())


@given(st.text(max_size=60))
def test_safe_paths_stay_inside(path: str) -> None:
    if not safe_path(path):
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        path.encode()
