"""Real trees of files, good and bad: what is found, what is reported and why, and that nothing hangs."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest

from trees import Folder, names, nobody, report, scan, write
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Skipped

OUTSIDE = "symlink that leads out of the folder; `outside_links = true` under [source.folder] follows it"


def test_a_folder_of_bad_files(tmp_path: Path) -> None:
    write(tmp_path, "good.md", "x.md/inside.md")
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / "pipe.other")
    (tmp_path / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "unmounted").symlink_to("/no/such/vault")
    (tmp_path / "picture.png").symlink_to("nowhere.png")
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "self.md").symlink_to("self.md")
    (tmp_path / "pipe-link.md").symlink_to("pipe.md")
    (tmp_path / "device.md").symlink_to("/dev/zero")
    (tmp_path / "large.md").write_bytes(b"")
    os.truncate(tmp_path / "large.md", 10_000_001)
    (tmp_path / "large.jsonl").write_bytes(b"")
    os.truncate(tmp_path / "large.jsonl", 10_000_001)
    found, skipped = report(tmp_path)
    assert found == {"good.md", "x.md/inside.md", "large.jsonl"}
    assert skipped == {
        "x.md": "a folder, not a file",
        "pipe.md": "not a regular file",
        "dangling.md": "dangling symlink",
        "unmounted": "dangling symlink",
        "loop": "symlink loop",
        "self.md": "symlink loop",
        "pipe-link.md": "not a regular file",
        "device.md": OUTSIDE,
        "large.md": "larger than 10 MB; see source.folder.max_bytes",
    }


def test_a_socket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        assert report(tmp_path) == (set(), {"socket.md": "not a regular file"})


def test_the_limit_of_jsonl_is_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.jsonl", text="123456")
    found, skipped = report(tmp_path, Folder(max_bytes=6, max_bytes_records=5))
    assert found == {"a.md"}
    assert skipped["b.jsonl"].endswith("source.folder.max_bytes_records")


def test_names_that_are_not_text(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    os.mkdir(root + b"/bad\xff")
    for name in (b"caf\xe9.md", b"caf\xe9.png", b"bad\xff/inside.md", "café.md".encode()):
        with open(root + b"/" + name, "wb"):
            pass
    os.symlink(b"caf\xe9.md", root + b"/link\xfe.md")
    found, skipped = report(tmp_path)
    assert found == {"café.md"}
    assert skipped == dict.fromkeys(("caf\\xe9.md", "bad\\xff", "link\\xfe.md"), "name is not valid UTF-8")
    with pytest.raises(SourceProblem, match="UTF-8"):
        scan(os.fsdecode(root + b"/bad\xff"))


def test_permission_denied(open_place: Path) -> None:
    write(open_place, "a.md", "closed/b.md", "secret.md")
    (open_place / "closed").chmod(0)
    (open_place / "secret.md").chmod(0)
    with nobody():
        items = scan(str(open_place))
        by_name = {item.name: item for item in items if isinstance(item, Found)}
        assert set(by_name) == {"a.md", "secret.md"}
        refused = Skipped(str(open_place / "closed"), "cannot be read: Permission denied")
        assert [item for item in items if isinstance(item, Skipped)] == [refused]
        assert Folder().read(by_name["secret.md"]) == Skipped(
            str(open_place / "secret.md"), "cannot be read: Permission denied"
        )
        with pytest.raises(SourceProblem, match="Permission denied"):
            scan(str(open_place / "closed"))


def test_ignored_and_excluded_things_are_not_reported(tmp_path: Path) -> None:
    for name in ("ignored.md", "excluded.md", ".hidden.md"):
        (tmp_path / name).symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / ".gitignore").write_text("ignored.md\nfolder.md/\n")
    assert report(tmp_path, Folder(exclude=["excluded.md", "pipe*"])) == (set(), {})


# ---------------------------------------------------------------- symlinks


def test_a_link_that_leads_out_is_followed_only_if_the_user_says_so(tmp_path: Path) -> None:
    write(tmp_path, "root/a.md", "vault/b.md", "vault/deep/c.md", "lone.md", "root-beside/d.md")
    (tmp_path / "root" / "notes").symlink_to(tmp_path / "vault")
    (tmp_path / "root" / "beside").symlink_to("../root-beside")
    (tmp_path / "root" / "0.md").symlink_to("../lone.md")
    (tmp_path / "root" / "hop.md").symlink_to("0.md")
    (tmp_path / "root" / "picture.png").symlink_to("../lone.md")
    found, skipped = report(tmp_path / "root")
    assert found == {"a.md"}
    assert skipped == dict.fromkeys(("notes", "beside", "0.md", "hop.md"), OUTSIDE)
    (tmp_path / "root" / "hop.md").unlink()
    (tmp_path / "root" / "beside").unlink()
    anywhere = Folder(outside_links=True)
    assert names(tmp_path / "root", anywhere) == ["a.md", "notes/b.md", "notes/deep/c.md", "0.md"]
    found, skipped = report(tmp_path / "root", Folder(follow_links=False))
    assert found == {"a.md"}
    assert skipped == dict.fromkeys(("notes", "0.md"), "symlink; see source.folder.follow_links")


def test_a_root_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path, "real/sub/a.md")
    (tmp_path / "link").symlink_to("real")
    (item,) = scan(str(tmp_path / "link"))
    assert isinstance(item, Found)
    assert (item.name, item.uri) == ("sub/a.md", str(tmp_path / "link" / "sub" / "a.md"))


def test_a_thing_with_two_names_is_read_once_and_keeps_its_own(tmp_path: Path) -> None:
    write(tmp_path, "z/a.md", "y.md")
    (tmp_path / "a").symlink_to("z")
    (tmp_path / "b.md").symlink_to("y.md")
    found, skipped = report(tmp_path)
    assert found == {"z/a.md", "y.md"}
    assert skipped == {
        "a": "symlink to a folder that is read already: z/",
        "b.md": "symlink to a file that is read already: y.md",
    }


def test_two_folders_that_link_to_each_other(tmp_path: Path) -> None:
    write(tmp_path, "a/a.md", "b/b.md")
    (tmp_path / "a" / "to_b").symlink_to("../b")
    (tmp_path / "b" / "to_a").symlink_to("../a")
    found, skipped = report(tmp_path)
    assert found == {"a/a.md", "b/b.md"}
    assert set(skipped) == {"a/to_b", "b/to_a"}


def test_a_loop_outside_the_root(tmp_path: Path) -> None:
    write(tmp_path, "root/r.md", "out/a/a.md", "out/b/b.md")
    (tmp_path / "out" / "a" / "to_b").symlink_to("../b")
    (tmp_path / "out" / "b" / "to_a").symlink_to("../a")
    (tmp_path / "root" / "x").symlink_to("../out/a")
    found, skipped = report(tmp_path / "root", Folder(outside_links=True))
    assert found == {"r.md", "x/a.md", "x/to_b/b.md"}
    assert skipped == {"x/to_b/to_a": "symlink loop"}


@pytest.mark.parametrize("target", ["..", "../..", "/"])
def test_a_link_to_a_folder_above_the_root_is_a_loop(tmp_path: Path, target: str) -> None:
    write(tmp_path, "over/root/a.md", "over/not-this.md")
    (tmp_path / "over" / "root" / "up").symlink_to(target)
    assert report(tmp_path / "over" / "root") == ({"a.md"}, {"up": "symlink loop"})


def test_a_linked_folder_that_holds_another_is_read_without_it(tmp_path: Path) -> None:
    write(tmp_path, "root/r.md", "out/top.md", "out/part/p.md")
    (tmp_path / "root" / "a").symlink_to("../out/part")
    (tmp_path / "root" / "b").symlink_to("../out")
    assert names(tmp_path / "root", Folder(outside_links=True)) == ["r.md", "a/p.md", "b/top.md"]


def test_a_link_that_stays_inside_is_followed(tmp_path: Path) -> None:
    write(tmp_path, "real/.hidden/a.md", "real/b.md")
    (tmp_path / "real" / "shown").symlink_to(tmp_path / "real" / ".hidden")
    (tmp_path / "root").symlink_to("real")
    assert names(tmp_path / "root") == ["b.md", "shown/a.md"]


def test_a_linked_folder_can_be_ignored(tmp_path: Path) -> None:
    write(tmp_path, "root/r.md", "out/a.md")
    (tmp_path / "root" / "one").symlink_to("../out")
    (tmp_path / "root" / "two").symlink_to("../out")
    (tmp_path / "root" / ".gitignore").write_text("one/\n")
    assert names(tmp_path / "root", Folder(exclude=["two"])) == ["r.md"]


# ---------------------------------------------------------------- roots that are none


@pytest.mark.parametrize("make", ["missing", "dangling", "fifo"])
def test_a_root_that_cannot_be_read_is_an_error(tmp_path: Path, make: str) -> None:
    root = tmp_path / "root.md"
    if make == "dangling":
        root.symlink_to("nowhere")
    if make == "fifo":
        os.mkfifo(root)
    with pytest.raises(SourceProblem, match=r"root\.md") as problem:
        scan(str(root))
    assert problem.value.hint


# ---------------------------------------------------------------- read


def one(top: Path, folder: Folder | None = None) -> Found:
    (item,) = scan(str(top), folder)
    assert isinstance(item, Found)
    return item


@pytest.mark.parametrize("content", [b"", b"text\r\n", b"\xff\xfe\x00binary", bytes(range(256)) * 5_000])
def test_read_gives_the_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.md").write_bytes(content)
    assert Folder().read(one(tmp_path)) == content


def test_read_of_what_has_changed_since(tmp_path: Path) -> None:
    path = write(tmp_path, "a.md", text="12345") / "a.md"
    folder = Folder(max_bytes=5)
    found = one(tmp_path, folder)
    assert folder.read(found) == b"12345"
    path.write_text("123456")
    assert folder.read(found) == Skipped(str(path), "larger than 5 bytes; see source.folder.max_bytes")
    path.unlink()
    assert folder.read(found) == Skipped(str(path), "cannot be read: No such file or directory")
    path.mkdir()
    assert folder.read(found) == Skipped(str(path), "not a regular file")
    path.rmdir()
    os.mkfifo(path)
    began = time.monotonic()
    assert folder.read(found) == Skipped(str(path), "not a regular file")
    assert time.monotonic() - began < 1.0
    path.unlink()
    path.symlink_to("a.md")
    assert folder.read(found) == Skipped(str(path), "symlink loop")


def test_a_file_that_says_it_is_empty_is_read_to_its_limit(tmp_path: Path) -> None:
    """Files of /proc have no size: what they give must count all the same."""
    source = Path("/proc/self/maps")
    found = Found("maps.txt", str(source), "0 0 0 0")
    content = Folder().read(found)
    assert isinstance(content, bytes)
    assert b"python" in content
    assert isinstance(Folder(max_bytes=100).read(found), Skipped)
