"""Git is the judge: the same tree and the same patterns must leave the same files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trees import Folder, scan
from watersmeet.core.indexing import Found, Skipped

EVERYTHING = Folder(include=["*[!~]"])


def git(top: Path, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    settings = ("-c", f"core.excludesFile={os.devnull}", "-c", "core.ignoreCase=false")
    command = ["git", "-C", str(top), *settings, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def kept_by_git(top: Path) -> set[str]:
    listed = git(top, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    return {name for name in listed if name and not name.endswith(".gitignore")}


def kept_by_us(top: Path) -> set[str]:
    found = scan(str(top), EVERYTHING)
    assert all(isinstance(item, Found) for item in found)
    return {item.name for item in found if isinstance(item, Found)}


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "nested"),
    [
        ("*.md\n!keep.md\n", ""),
        ("/a.md\n", "!/a.md\n"),
        ("docs/\n!docs/keep.md\n", ""),
        ("docs/*\n!docs/keep.md\n", ""),
        ("docs/**\n!docs/sub/\n!docs/sub/**\n", ""),
        ("**/sub\n", ""),
        ("docs/**/a.md\n", ""),
        ("sub/a.md\n", ""),
        ("a.md   \nkeep.md\\ \n", ""),
        ("\\#hash.md\n#keep.md\n", ""),
        ("\\!bang.md\n", ""),
        ("[a-k]*.md\n![!a]*\n", ""),
        ("*.md\n", "!*.md\na.md\n"),
        ("\ufeffa.md\r\nkeep.md\r\n", ""),
        ("*\n!*/\n!*.txt\n", ""),
    ],
)
def test_listed_patterns(tree: Callable[[dict[str, str]], Path], rules: str, nested: str) -> None:
    names = ["a.md", "keep.md", "keep.md ", "#hash.md", "!bang.md", "note.txt", "docs/a.md", "docs/keep.md"]
    names += ["docs/sub/a.md", "docs/sub/sub/keep.md", "sub/a.md", "zoo/sub/a.md", "zoo/note.txt"]
    top = tree(dict.fromkeys(names, "") | {".gitignore": rules, "docs/.gitignore": nested})
    git(top, "init", "-q")
    kept = kept_by_us(top)
    assert kept == kept_by_git(top)
    assert kept != set(names), "the patterns ignore nothing, so this shows nothing"


NAMES = ("a", "b", "ab", "a b", "[a]", "a-b", "A", "!a", "#a", "a ", "\\a", "x.c")
WILD = ("*", "**", "***", "?", "**/", "/**", "/**/", "*.c")
SETS = ("[a-b]", "[!a]", "[^b]", "[]a]", "[a-]", "[[:upper:]b]", "[a/b]", "[b-a]", "[[:x:]]", "[")
PLAIN = ("a", "b", "/", "-", "!", "#", " ", "\\", "\\a", "\\*", "\\/", "\\ ")
PIECES = st.sampled_from([*WILD, *SETS, *PLAIN])
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=5).map("".join), max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("forest")
    git(top, "init", "-q")
    for number, name in enumerate(NAMES):
        for below in ("a", "ab", "b/a"):
            file = top / name / below / NAMES[number - 1] if number % 2 else top / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
    return top


@pytest.mark.slow
@given(rules=LINES, nested=LINES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_patterns(forest: Path, rules: str, nested: str) -> None:
    (forest / ".gitignore").write_text(rules)
    (forest / "b" / ".gitignore").write_text(nested)
    assert kept_by_us(forest) == kept_by_git(forest)


def test_first_difference_from_git_characters_are_compared(tree: Callable[[dict[str, str]], Path]) -> None:
    """To git `é` is two bytes, so that `?` is half of it."""
    top = tree({".gitignore": "?.md\n[à-ü].txt\n", "é.md": "", "a.md": "", "ab.md": "", "é.txt": "", "z.txt": ""})
    git(top, "init", "-q")
    assert "é.md" in kept_by_git(top)
    assert {"a.md", "ab.md"} & kept_by_git(top) == {"ab.md"}
    assert kept_by_us(top) == {"ab.md", "z.txt"}


def test_second_difference_from_git_a_link_to_a_folder_is_one(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({".gitignore": "linked/\n", "deep/real/a.md": ""})
    (top / "linked").symlink_to("deep/real")
    git(top, "init", "-q")
    assert "linked" in kept_by_git(top)
    found = scan(str(top), EVERYTHING)
    assert [item.name for item in found if isinstance(item, Found)] == ["deep/real/a.md"]
    assert not any(isinstance(item, Skipped) for item in found), "it is left out, not met a second time"


@pytest.mark.parametrize("seed", range(4))
def test_git_agrees_on_seeded_patterns(tmp_path: Path, seed: int) -> None:
    """Letters of other scripts too, but no wildcard for just one of them: that is the first difference."""
    random = Random(seed)  # noqa: S311
    pieces = [*WILD, *SETS, *PLAIN, "é", "漢", ".md", "ab"]
    pieces = [piece for piece in pieces if "?" not in piece and not piece.startswith(("[!", "[^"))]
    names = sorted({"".join(random.choices(["a", "b", "ab", "é", "漢", "-", ".md"], k=3)) for _ in range(25)})
    paths = [f"{folder}{name}" for folder in ("", "a/", "b/é/") for name in names if not name.startswith(".")]
    git(tmp_path, "init", "-q")
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for _ in range(40):
        rules = "\n".join("".join(random.choices(pieces, k=random.randint(1, 5))) for _ in range(3))
        (tmp_path / ".gitignore").write_text(rules)
        assert kept_by_us(tmp_path) == kept_by_git(tmp_path), rules


def test_rules_from_above_the_root_count(tree: Callable[[dict[str, str]], Path]) -> None:
    files = ["docs/a.md", "docs/b.md", "docs/c.md", "docs/deep/a.md", "docs/d.md"]
    top = tree(
        dict.fromkeys(files, "")
        | {".gitignore": "docs/a.md\nb.md\n", ".git/info/exclude": "/docs/c.md\n", ".git/HEAD": ""}
    )
    assert kept_by_us(top / "docs") == {"deep/a.md", "d.md"}


def test_rules_above_a_folder_outside_git_do_not_count(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({".gitignore": "*.md\n", "docs/a.md": "", "docs/b.md": "", "docs/.gitignore": "b.md\n"})
    assert kept_by_us(top / "docs") == {"a.md"}


def test_the_root_may_be_named_though_git_ignores_it(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({".git/HEAD": "", ".gitignore": "build/\n", "build/a.md": "", "b.md": ""})
    assert kept_by_us(top) == {"b.md"}
    assert kept_by_us(top / "build") == {"a.md"}


def test_a_second_work_tree_shares_the_excludes(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    main.mkdir()
    git(main, "init", "-q")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(main, *identity, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", str(other))
    (main / ".git" / "info").mkdir(exist_ok=True)
    (main / ".git" / "info" / "exclude").write_text("secret.md\n")
    for name in ("secret.md", "open.md"):
        (other / name).touch()
    assert kept_by_us(other) == {"open.md"}


def test_a_gitignore_that_is_no_file_is_none(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({"a.md": "", "rules": "*.md\n", "sub/b.md": "", "deep/c.md": ""})
    os.mkfifo(top / ".gitignore")
    (top / "sub" / ".gitignore").symlink_to("../rules")
    (top / "deep" / ".gitignore").mkdir()
    assert kept_by_us(top) >= {"a.md", "sub/b.md", "deep/c.md"}


def test_a_gitignore_that_cannot_be_used_is_reported(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({"a.md": "", ".gitignore": "a.md\n" * 2_100_000})
    reported = [item for item in scan(str(top)) if isinstance(item, Skipped)]
    assert [item.path for item in reported] == [str(top / ".gitignore")]
    assert "larger than 10 MB" in reported[0].reason


def test_gitignore_can_be_switched_off(tree: Callable[[dict[str, str]], Path]) -> None:
    top = tree({"a.md": "", ".gitignore": "*.md\n"})
    assert scan(str(top)) == []
    assert len(scan(str(top), Folder(gitignore=False))) == 1
