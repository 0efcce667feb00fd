"""Damage on disk is named, never returned as if it were sound, and made good by the next sync."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.helpers.damage import SERVERS, Index, answers, flips, problems, shown

from watersmeet import Engine
from watersmeet.core.errors import IndexDamaged, WatersmeetError
from watersmeet.core.model import Request

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("damage")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        return Index(folder)


def garbage(index: Index, pattern: str) -> Path:
    """The end of a file overwritten, so that it is long enough still."""
    (path, *_) = sorted(index.fresh().glob(pattern))
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content[:half] + bytes(byte ^ 0x5A for byte in content[half:]))
    return path


def ill(engine: Engine) -> dict[str, tuple[str, str]]:
    return {check.name: (check.detail, check.hint) for check in engine.doctor() if not check.ok}


@pytest.mark.parametrize("part", ["codes", "scales", "exact", "rows"])
def test_damaged_vectors_step_aside_and_are_made_again(index: Index, part: str) -> None:
    path = garbage(index, f"vectors-static-*/*.{part}")
    with index.opened(index.copy) as engine:
        answer = engine.search("badger sett", mode="hybrid")
        assert answer.results
        assert [(f.by, path.name in f.reason, "watersmeet sync" in f.hint) for f in answer.failures] == [
            ("static", True, True)
        ]
        assert path.name in ill(engine)["static vectors"][0]
    with index.opened(index.copy) as engine:
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert {key: shown(a) for key, a in answers(engine).items()} == {k: shown(a) for k, a in index.right.items()}


@pytest.mark.parametrize("tier", ["static", "sparse"])
@pytest.mark.parametrize("emptied", [False, True])
def test_vectors_without_their_commit_file_are_lost_and_not_yet_to_come(index: Index, tier: str, emptied: bool) -> None:
    (path,) = index.fresh().glob(f"vectors-{tier}-*/commit.json")
    path.write_bytes(b"") if emptied else path.unlink()
    with index.opened(index.copy) as engine:
        (failure,) = engine.search("badger sett", mode=tier).failures
        assert "are missing" in failure.reason
        assert f"{tier} vectors" in ill(engine)
    with index.opened(index.copy) as engine:
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert {key: shown(a) for key, a in answers(engine).items()} == {k: shown(a) for k, a in index.right.items()}


@pytest.mark.parametrize("table", ["roots", "meta"])
def test_recreating_keeps_what_it_can_of_a_catalogue(index: Index, table: str) -> None:
    """What is registered, and that there were sparse vectors, also where the roots or the meta entries are gone."""
    path = index.fresh() / "catalogue.db"
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    index.flip(Path("catalogue.db"), (page - 1) * size, 0xFF)
    with index.opened(index.copy) as engine:
        engine.sync([index.vault], recreate=True)
        assert engine.get("/s1")["fields"]["record"]["description"] == SERVERS[1]["description"]
        assert not engine.search("badger sett", mode="sparse").failures


def test_damaged_postings_step_aside_and_are_made_again(index: Index) -> None:
    path = garbage(index, "vectors-sparse-*/*.postings")
    with index.opened(index.copy) as engine:
        (failure,) = engine.search("badger sett", mode="sparse").failures
        assert (failure.by, path.name in failure.reason) == ("sparse", True)
    with index.opened(index.copy) as engine:
        engine.sync([index.vault])
        assert not engine.search("badger sett", mode="sparse").failures


@pytest.mark.parametrize("ending", ["idx", "store", "pos", "term", "fieldnorm", "fast"])
def test_damaged_words_are_named_and_made_again(index: Index, ending: str) -> None:
    path = garbage(index, f"text-*/*.{ending}")
    with index.opened(index.copy) as engine:
        with pytest.raises(IndexDamaged, match=path.name) as problem:
            engine.search("badger sett")
        assert "watersmeet sync" in problem.value.hint
        assert path.name in ill(engine)["text store"][0]
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert {key: shown(a) for key, a in answers(engine).items()} == {k: shown(a) for k, a in index.right.items()}


def test_what_the_disk_lost_in_silence_is_found_by_doctor_and_stands_aside_from_then_on(index: Index) -> None:
    (file,) = [file for file in index.files() if file.name.endswith(".exact") and "static" in str(file)]
    index.fresh()
    index.flip(file, 4001, 0x40, silent=True)
    with index.opened(index.copy) as engine:
        assert not engine.search("badger sett").failures  # it has its size and its time
        assert file.name in ill(engine)["static vectors"][0]
    with index.opened(index.copy) as engine:
        assert [failure.by for failure in engine.search("badger sett").failures] == ["static"]
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert not engine.search("badger sett").failures


@pytest.fixture
def misread(index: Index) -> Iterator[Engine]:
    """One byte of one chunk's text is another."""
    index.flip_text(b"See D7 ")
    with index.opened(index.copy) as engine:
        yield engine


def test_a_text_that_is_not_what_was_written_is_not_returned(index: Index, misread: Engine) -> None:
    answer = misread.search("rotate keys D7")
    assert "page7.md" not in [result.document for result in answer.results[:1]]
    assert not any("E7" in result.text for result in answer.results)
    assert [(f.by, "page7.md" in f.reason, "watersmeet sync" in f.hint) for f in answer.failures] == [
        ("catalogue", True, True)
    ]
    assert answer.results[0].score == 1.0
    with pytest.raises(IndexDamaged, match=r"page7\.md") as problem:
        misread.get("page7.md")
    assert "watersmeet sync" in problem.value.hint
    assert "page7.md" in ill(misread)["catalogue"][0]
    assert misread.get("page8.md") == index.opened(index.whole).get("page8.md")


def test_its_file_is_read_again(index: Index, misread: Engine) -> None:
    assert misread.search("rotate keys D7").failures
    misread.sync([index.vault])  # the search has left a note
    assert ill(misread) == {}
    assert shown(misread.search(Request("rotate keys D7", top_n=8))) == shown(index.right["rotate keys D7", "hybrid"])


def test_what_is_registered_is_put_again_from_its_record(index: Index) -> None:
    """The text is damaged, in both chunks or one; the record, which stands behind it in the file, is not."""
    with closing(sqlite3.connect(index.fresh() / "catalogue.db")) as db:
        db.execute("UPDATE chunks SET text = replace(text, 'otter', 'orter') WHERE text LIKE '%otter stones%'")
        db.commit()
    with index.opened(index.copy) as engine:
        with pytest.raises(WatersmeetError, match="/s1"):
            engine.get("/s1")
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert engine.get("/s1") == index.got["/s1"]


@pytest.mark.parametrize("change", ["title", "path", "fields"])
def test_so_are_titles_paths_and_fields(index: Index, change: str) -> None:
    with closing(sqlite3.connect(index.fresh() / "catalogue.db")) as db:
        db.execute(f"UPDATE documents SET {change} = replace({change}, 'age', 'aga') WHERE name = 'page3.md'")
        db.execute("UPDATE documents SET fields = replace(fields, 'Wild', 'Mild') WHERE name = 'page3.md'")
        db.commit()
    with index.opened(index.copy) as engine:
        with pytest.raises(IndexDamaged, match=r"page3\.md"):
            engine.get("page3.md")
        assert "page3.md" in ill(engine)["catalogue"][0]
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert engine.get("page3.md") == index.got["page3.md"]


def test_tags_and_links_are_checked_by_doctor(index: Index) -> None:
    with closing(sqlite3.connect(index.fresh() / "catalogue.db")) as db:
        db.execute("UPDATE facets SET value = 'other' WHERE value = 'part2'")
        db.commit()
    with index.opened(index.copy) as engine:
        assert "tags, names or links" in ill(engine)["catalogue"][0]
        engine.sync([index.vault])
        assert ill(engine) == {}
        assert engine.search("badger", filters={"tag": "part2"}).results


def test_an_index_of_the_version_before_answers_unchecked_until_it_is_written(index: Index) -> None:
    """Neither sums in the catalogue nor in the other stores."""
    with closing(sqlite3.connect(index.fresh() / "catalogue.db")) as db:
        db.execute("UPDATE chunks SET hash = substr(hash, 1, 16)")
        db.execute("UPDATE documents SET hash = substr(hash, 1, 16)")
        db.execute("DELETE FROM meta WHERE key = 'check'")
        (tiers,) = db.execute("SELECT value FROM meta WHERE key = 'tiers'").fetchone()
        older = {name: {k: v for k, v in tier.items() if k != "level_text"} for name, tier in json.loads(tiers).items()}
        db.execute("UPDATE meta SET value = ? WHERE key = 'tiers'", (json.dumps(older),))
        db.commit()
    for file in index.copy.glob("text-*/sums.json"):
        file.unlink()
    from watersmeet.store.local import _file_commits as commits

    for folder in index.copy.glob("vectors-*"):
        body = json.loads(commits.read_bytes(folder))["commit"]
        body.pop("sums", None)
        for segment in body.get("segments", []):
            del segment["sum"], segment["changed"]
        commits.publish(folder, body)
    with index.opened(index.copy) as engine:
        ranked = {key: shown(answer)[0] for key, answer in answers(engine).items()}  # confidence needs the next sync
        assert ranked == {key: shown(answer)[0] for key, answer in index.right.items()}
        assert ill(engine) == {}
        assert engine.status()["signals"]["static"]["level"] == 0.0
        (index.vault / "new.md").write_text("# New\n\nA heron.\n")
        try:
            engine.sync([index.vault])
            assert ill(engine) == {}
            assert engine.status()["signals"]["static"]["level"] > 0.0
            assert [result.document for result in engine.search("heron").results][:1] == ["new.md"]
        finally:
            (index.vault / "new.md").unlink()
    assert json.loads(commits.read_bytes(next(index.copy.glob("vectors-static-*"))))["commit"]["sums"]


def test_recreating_keeps_what_is_registered(index: Index) -> None:
    """Also where the catalogue is damaged beyond repair, as long as the records are sound."""
    path = index.fresh() / "catalogue.db"
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'links'").fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    index.flip(Path("catalogue.db"), (page - 1) * size, 0xFF)
    with index.opened(index.copy) as engine:
        assert "catalogue" in ill(engine)
        with pytest.raises(IndexDamaged) as problem:
            engine.sync([index.vault])
        assert "--recreate" in problem.value.hint
        engine.sync([index.vault], recreate=True)
        assert ill(engine) == {}
        assert engine.get("/s1")["fields"]["record"]["description"] == SERVERS[1]["description"]


@pytest.mark.parametrize("silent", [False, True])
def test_any_flipped_byte(index: Index, silent: bool) -> None:
    """A short run; `python scripts/attack.py --only storage` is the long one."""
    for file, at, mask in flips(index, 12, 7 + silent):
        index.fresh()
        index.flip(file, at, mask, silent=silent)
        assert list(problems(index, silent=silent)) == [], (file, at, mask)
