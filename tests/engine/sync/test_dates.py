"""When a document was last changed: by what it says, its repository, its file. And when it was begun."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, Request
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.dates import named
from watersmeet.present.answer import to_json
from watersmeet.source import _git_dates

pytestmark = pytest.mark.slow

Write = Callable[[dict[str, str]], Path]
LONG_AGO = datetime(2019, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2026-01-31-a-day.md", "2026-01-31"),
        ("20260131.md", "2026-01-31"),
        ("notes of 2026.01.31.md", "2026-01-31"),
        ("2026_01_31.txt", "2026-01-31"),
        ("log-20260131T0930.md", "2026-01-31"),
        ("202601311530 zettel.md", "2026-01-31"),
        ("20260131153059.md", "2026-01-31"),
        ("deep/2019-01-01/2026-01-31.md", "2026-01-31"),
        ("2026-02-31 then 2026-03-01.md", "2026-03-01"),
        ("2026-13-01.md", None),
        ("2026-0131.md", None),
        ("2026-1-3.md", None),
        ("12026-01-31.md", None),
        ("2026-01-315.md", None),
        ("202601319999.md", None),
        ("99991231.md", None),
        ("2026-01-31/setup.md", None),
        ("v1.2.3.md", None),
        ("", None),
    ],
)
def test_a_date_in_a_name(name: str, date: str | None) -> None:
    found = named(name)
    assert (found and found.date().isoformat()) == date
    assert found is None or found.tzinfo is UTC


def git(folder: Path, *arguments: str, date: datetime | None = None) -> None:
    stamp = {} if date is None else {"GIT_COMMITTER_DATE": date.isoformat(), "GIT_AUTHOR_DATE": date.isoformat()}
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env={**os.environ, **stamp})


def commit(folder: Path, date: datetime) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "x", date=date)


def dates(engine: Engine) -> dict[str, str]:
    return {facts["document"]: facts["modified"][:10] for facts in engine.documents()}


def day(*parts: int) -> datetime:
    return datetime(*parts, 12, tzinfo=UTC)


@pytest.fixture
def repository(write: Write) -> Path:
    vault = write({"old.md": "# Old\n\nx\n", "both é.md": "# Both\n\nx\n", "sub/deep.md": "# Deep\n\nx\n"})
    git(vault, "init", "-q")
    commit(vault, day(2020, 1, 1))
    write({"both é.md": "# Both\n\ny\n"})
    commit(vault, day(2021, 1, 1))
    for path in vault.rglob("*.md"):
        os.utime(path, (LONG_AGO.timestamp(), LONG_AGO.timestamp()))
    return vault


def test_the_order_is_matter_git_mtime(engine: Engine, repository: Path, write: Write) -> None:
    said = {"begun.md": "created: 2018-08-08", "both.md": "date: 2018-08-08\nupdated: 2022-02-02"}
    write({name: f"---\n{matter}\n---\n# Said\n\nx\n" for name, matter in said.items()})
    write({"2023-03-03.md": "# Named\n\nx\n"})
    commit(repository, day(2024, 4, 4))
    write({"new.md": "# New\n\nx\n"})
    os.utime(repository / "new.md", (LONG_AGO.timestamp(),) * 2)
    engine.sync([repository])
    assert dates(engine) == {
        "2023-03-03.md": "2024-04-04",
        "begun.md": "2024-04-04",
        "both.md": "2022-02-02",
        "both é.md": "2021-01-01",
        "new.md": "2019-05-01",
        "old.md": "2020-01-01",
        "sub/deep.md": "2020-01-01",
    }
    since = Condition(since=day(2020, 6, 1))
    found = engine.search(Request("both named", condition=since)).results
    assert {r.document: r.created[:10] for r in found} == {
        "both é.md": "",
        "2023-03-03.md": "2023-03-03",
        "both.md": "2018-08-08",
    }


def test_what_was_written_now_is_new_whenever_it_was_begun(engine: Engine, write: Write) -> None:
    vault = write({"a.md": "---\ncreated: 2020-01-01\n---\n# Diary\n\nleeks\n", "2019-05-01 b.md": "# B\n\nleeks\n"})
    engine.sync([vault])
    assert {r.document for r in engine.search("leeks", since="7d").results} == {"a.md", "2019-05-01 b.md"}
    assert not engine.search("leeks", before="7d").results
    assert {r["document"]: r.get("created", "")[:10] for r in to_json(engine.search("leeks"))["results"]} == {
        "a.md": "2020-01-01",
        "2019-05-01 b.md": "2019-05-01",
    }


def test_a_touched_file_has_its_new_date(engine: Engine, write: Write) -> None:
    vault = write({"a.md": "# A\n\nleeks\n", "b.jsonl": '{"_id": "1", "text": "leeks"}\n{"_id": "2", "text": "x"}\n'})
    for path in vault.iterdir():
        os.utime(path, (LONG_AGO.timestamp(),) * 2)
    engine.sync([vault])
    assert set(dates(engine).values()) == {"2019-05-01"}
    for path in vault.iterdir():
        os.utime(path, (day(2021, 1, 1).timestamp(),) * 2)
    assert engine.sync([vault]).unchanged == 3
    assert dates(engine) == dict.fromkeys(("a.md", "1", "2"), "2021-01-01")


def test_an_edit_that_changes_no_words_is_a_change(engine: Engine, write: Write) -> None:
    vault = write({"a.md": "# A\n\nleeks\n"})
    os.utime(vault / "a.md", (LONG_AGO.timestamp(),) * 2)
    engine.sync([vault])
    write({"a.md": "# A\n\n\n\nleeks\n"})
    os.utime(vault / "a.md", (day(2021, 1, 1).timestamp(),) * 2)
    engine.sync([vault])
    assert dates(engine) == {"a.md": "2021-01-01"}


def test_an_index_that_was_dated_by_another_rule_is_dated_again(engine: Engine, repository: Path, write: Write) -> None:
    write({"sub/2018-08-08.md": "---\ncreated: 2017-07-07\n---\n# Said\n\nleeks\n"})
    commit(repository, day(2024, 4, 4))
    for path in repository.rglob("*.md"):
        os.utime(path, (LONG_AGO.timestamp(),) * 2)
    engine.sync([repository])
    with sqlite3.connect(Path(engine.folder) / "catalogue.db") as db:  # as an earlier version left it
        db.execute("UPDATE documents SET modified = 1500000000, fields = json_remove(fields, '$.\"@created\"')")
        db.execute("UPDATE documents SET hash = substr(hash, 1, 16)")  # it had no sums
        db.execute("DELETE FROM meta WHERE key LIKE 'dates%' OR key = 'check'")
        db.execute("UPDATE files SET seen = seen + 10000000000")
    db.close()
    assert set(dates(engine).values()) == {"2017-07-14"}
    engine.sync([repository / "sub"])
    assert dates(engine)["sub/2018-08-08.md"] == "2024-04-04"
    assert dates(engine)["old.md"] == "2017-07-14"
    report = engine.sync([repository])
    assert (report.changed, report.unchanged) == (0, 4)
    assert dates(engine)["old.md"] == "2020-01-01"
    assert engine.search("leeks").results[0].created[:10] == "2017-07-07"


def test_what_was_changed_after_its_commit_has_its_own_date(engine: Engine, repository: Path, write: Write) -> None:
    write({"old.md": "# Old\n\nedited\n"})
    os.utime(repository / "old.md", (LONG_AGO.timestamp(),) * 2)
    engine.sync([repository])
    assert dates(engine)["old.md"] == "2019-05-01"
    git(repository, "add", "old.md")
    write({"old.md": "# Old\n\nedited again\n"})
    os.utime(repository / "old.md", (day(2017, 7, 7).timestamp(),) * 2)
    engine.sync([repository])
    assert dates(engine)["old.md"] == "2017-07-07"


def test_a_part_of_a_repository_and_a_repository_inside(engine: Engine, repository: Path, write: Write) -> None:
    write({"sub/inner/page.md": "# Page\n\nx\n"})
    git(repository / "sub" / "inner", "init", "-q")
    commit(repository / "sub" / "inner", day(2022, 1, 1))
    engine.sync([repository / "sub"])
    assert dates(engine) == {"deep.md": "2020-01-01", "inner/page.md": "2022-01-01"}


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """A git that keeps a list of what it was asked."""
    real, folder = shutil.which("git"), tmp_path / "bin"
    folder.mkdir()
    log = folder / "log"
    (folder / "git").write_text(f'#!/bin/sh\necho "$GIT_OPTIONAL_LOCKS $*" >> {log}\nexec {real} "$@"\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def asked() -> list[str]:
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines

    return asked


def test_git_is_asked_twice_for_all_and_not_for_what_is_unchanged(
    engine: Engine, repository: Path, write: Write, calls: Callable[[], list[str]]
) -> None:
    write({f"many/{n}.md": f"# {n}\n\nx\n" for n in range(250)})
    commit(repository, day(2023, 1, 1))
    calls()
    engine.sync([repository])
    asked = calls()
    assert len(asked) == 2
    assert all(line.startswith("0 --no-optional-locks --no-pager") for line in asked)
    assert dates(engine)["many/7.md"] == "2023-01-01"
    engine.sync([repository])
    assert [line for line in calls() if " log " in line] == []
    write({"old.md": "# Old\n\nedited\n"})
    engine.sync([repository])
    assert [line for line in calls() if " log " in line] == []


def test_history_is_followed_only_so_far(
    engine: Engine, repository: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write({"busy.md": f"# Busy\n\n{number}\n"})
        commit(repository, day(2022, 1, 1 + number))
    monkeypatch.setattr(_git_dates, "MAX_COMMITS", 3)
    engine.sync([repository])
    assert dates(engine)["busy.md"] == "2022-01-05"
    assert dates(engine)["old.md"] == "2022-01-03"  # no later than the last commit that was looked at


def test_a_git_that_hangs_or_is_not_there(
    engine: Engine, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setattr(_git_dates, "TIMEOUT_SECONDS", 0.2)
    monkeypatch.setenv("PATH", str(folder))
    engine.sync([repository])
    assert set(dates(engine).values()) == {"2019-05-01"}
    (folder / "git").unlink()
    engine.sync([repository], recreate=True)
    assert set(dates(engine).values()) == {"2019-05-01"}


def test_a_repository_cannot_have_its_own_programs_run(engine: Engine, repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    (tmp_path / "evil").write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    (tmp_path / "evil").chmod(0o755)
    (repository / ".gitattributes").write_text("*.md diff=evil filter=evil\n")
    programs = ("core.pager", "core.fsmonitor", "diff.external", "diff.evil.textconv", "filter.evil.clean")
    for key in (*programs, "gpg.program"):
        git(repository, "config", key, str(tmp_path / "evil"))
    git(repository, "config", "log.showSignature", "true")
    trap.unlink(missing_ok=True)
    engine.sync([repository])
    assert dates(engine)["old.md"] == "2020-01-01"
    assert not trap.exists()


def test_an_empty_repository_and_a_folder_that_only_looks_like_one(engine: Engine, write: Write) -> None:
    vault = write({"a/x.md": "# X\n\nx\n", "b/y.md": "# Y\n\ny\n"})
    git(vault / "a", "init", "-q")
    (vault / "b" / ".git").write_text("gitdir: /no/such/place\n")
    for path in vault.rglob("*.md"):
        os.utime(path, (LONG_AGO.timestamp(),) * 2)
    engine.sync([vault])
    assert set(dates(engine).values()) == {"2019-05-01"}


def test_the_order_is_a_setting(tmp_path: Path, repository: Path, write: Write) -> None:
    write({"2022-02-02.md": "---\nupdated: 2018-08-08\n---\n# Named\n\nx\n"})
    os.utime(repository / "2022-02-02.md", (LONG_AGO.timestamp(),) * 2)

    def synced(order: str) -> dict[str, str]:
        environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__DATES": order}
        with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
            engine.sync([repository], recreate=True)
            return {facts["document"]: (facts["modified"] or "none")[:10] for facts in engine.documents()}

    assert set(synced('["mtime"]').values()) == {"2019-05-01"}
    assert synced('["name", "matter"]')["2022-02-02.md"] == "2022-02-02"
    assert synced('["git", "matter"]')["2022-02-02.md"] == "2018-08-08"
    assert synced('["matter"]')["old.md"] == "none"
    with pytest.raises(ConfigError, match="mtimes"):
        synced('["mtimes"]')
