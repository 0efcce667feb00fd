from __future__ import annotations

import shutil
from pathlib import Path

from watersmeet.store.local._file_checks import mark, marked
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.health import check_files
from watersmeet.testing.contracts.corpus import STATIC, page, vectors

GIVEN = [page(f"{name}.md", ((), f"A tide of {name}.")) for name in "abc"]


def checks(filling) -> dict[str, tuple[bool, str, str]]:
    return {one.name: (one.ok, one.detail, one.hint) for one in check_files(filling.index.place, filling.index.make)}


def test_a_sound_index_has_nothing_wrong_and_says_what_there_is(harbour) -> None:
    found = checks(harbour)
    assert all(ok for ok, _, _ in found.values())
    assert found["catalogue"][1] == "sound"
    assert found["private words"][1] == "stored apart from the text store"
    for part in ("catalogue", "words", "static", "texts in it", "not compressed"):
        assert f" {part} " in found["disk"][1].partition("bytes a chunk:")[2]
    assert list(found) == [
        "catalogue",
        "text store",
        "private words",
        "static vectors",
        "replaced rows",
        "disk",
        "writer",
    ]


def test_no_index_is_one_check_with_a_hint(harbour, tmp_path: Path) -> None:
    (check,) = check_files(str(tmp_path / "none"), harbour.index.make)
    assert (check.name, check.ok) == ("index", False)
    assert "sync" in check.hint


def test_a_text_store_that_is_lost_is_named_with_what_to_do(local, tmp_path: Path) -> None:
    filling = local(*GIVEN)
    with filling.index.snapshot() as snapshot:
        folder = Path(filling.index.place) / snapshot.generation
    folder.rename(tmp_path / "lost")
    ok, _, hint = checks(filling)["text store"]
    assert (ok, "watersmeet sync" in hint) == (False, True)


def test_vectors_may_lack_rows_and_must_be_readable(local) -> None:
    filling = local(*GIVEN)
    filling.embed(STATIC, vectors(GIVEN[:1]))
    ok, description, hint = checks(filling)["static vectors"]
    assert (ok, hint) == (
        True,
        "a running `serve` or `mcp` embeds the rest in the background, `watersmeet deepen` at once",
    )
    assert "1 of 3 live chunks" in description
    with filling.index.snapshot() as snapshot:
        folder = Path(filling.index.place) / snapshot.tiers()["static"].folder
    filling.index.close()
    shutil.rmtree(folder)
    assert checks(filling)["static vectors"][0] is False


def test_damage_of_the_catalogue_is_marked_and_the_mark_goes_when_it_is_sound(local) -> None:
    import sqlite3

    filling = local(*GIVEN)
    place = filling.index.place
    mark(place, "somebody said so")
    assert checks(filling)["catalogue"][0]
    assert marked(place) == ""
    with sqlite3.connect(f"{place}/catalogue.db") as db:
        db.execute("UPDATE chunks SET text = 'x'")
    db.close()
    ok, description, hint = checks(filling)["catalogue"]
    assert (ok, "a.md" in description, "watersmeet sync" in hint) == (False, True, True)
    assert marked(place)


def test_who_writes_is_named_and_is_nothing_wrong(local) -> None:
    filling = local(*GIVEN)
    assert checks(filling)["writer"] == (True, "nobody is writing", "")
    with writer_lock(filling.index.place, 0):
        ok, description, _ = checks(filling)["writer"]
    assert ok
    assert description != "nobody is writing"
