"""Collections with audiences: who finds their documents, what outlives a removal, and what a kill leaves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from repositories import TestRepository
from trees import put
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.model import Request
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.query.filters import build_request
from watersmeet.engine.settings.settings import load

ANN, HR = Viewer("Ann"), Viewer("carl", ("hr",))


@pytest.fixture
def open_notes(tmp_path: Path) -> Path:
    return put(tmp_path / "vault", x="about a quagga", y="about a heron")


@pytest.fixture
def hr(tmp_path: Path) -> Path:
    return put(tmp_path / "vault" / "hr", pay="the zanzibar bonus of a heron")


def found(engine: Engine, query: str, viewer: Viewer | None = EVERYONE) -> set[str]:
    return {result.document for result in engine.search(query, viewer=viewer).results}


def audiences(engine: Engine) -> dict[str, str]:
    return {one["collection"]: one["audience"] for one in engine.collections()}


def test_a_restricted_folder_is_found_by_its_audience(engine: Engine, open_notes: Path, hr: Path) -> None:
    engine.sync([hr], collection="hr", audience="group:hr, owner:Ann")
    engine.sync([open_notes])
    assert audiences(engine) == {"hr": "group:hr,owner:Ann", "default": "public"}
    for viewer in (None, ANN, HR):
        assert found(engine, "zanzibar", viewer) == {"pay.md"}
    for viewer in (EVERYONE, Viewer("ann"), Viewer("Ann x", ("HR",)), Viewer("owner:Ann")):
        assert found(engine, "zanzibar heron", viewer) == {"vault/y.md"}
        assert {one["root"] for one in engine.roots(viewer)} == {str(open_notes)}
        status = engine.status(viewer)
        assert (status["documents"], status["roots"]) == (2, [str(open_notes)])
        assert status["collections"] == {"default": 2}
        with pytest.raises(NotFound):
            engine.get("pay.md", viewer)
    (hr / "more.md").write_text("# More zanzibar\n")  # a later sync, which says nothing of an audience
    engine.sync()
    assert found(engine, "zanzibar") == set()
    assert found(engine, "zanzibar", ANN) == {"pay.md", "more.md"}


def test_a_file_cannot_widen_the_audience(engine: Engine, hr: Path) -> None:
    for n, line in enumerate(('"@audience": public', '"@Audience": [public]', '"@own_audience": [public]')):
        (hr / f"sly{n}.md").write_text(f"---\n{line}\n---\n# Sly zanzibar\n")
    (hr / "narrow.md").write_text('---\n"@audience": "user:zoe"\n---\n# Narrow zanzibar\n')
    engine.sync([hr], audience="group:hr")
    assert found(engine, "zanzibar") == set()
    assert found(engine, "zanzibar", HR) == {"pay.md", "sly0.md", "sly1.md", "sly2.md"}
    assert found(engine, "zanzibar", Viewer("zoe")) == set()
    engine.set_audience("hr", "public")
    assert found(engine, "zanzibar") == {"pay.md", "sly0.md", "sly1.md", "sly2.md"}
    assert "narrow.md" in found(engine, "zanzibar", Viewer("zoe"))


def test_an_audience_that_cannot_be_understood_is_nobody(engine: Engine, open_notes: Path) -> None:
    for n, value in enumerate(("", "[]", "{a: b}", "x" * 300, "[[public]]", "12")):
        (open_notes / f"odd{n}.md").write_text(f'---\n"@audience": {value}\n---\n# Odd zanzibar\n')
    engine.sync([open_notes])
    assert found(engine, "zanzibar") == set()
    assert len(engine.documents(EVERYONE)) == 2
    assert len(found(engine, "zanzibar", None)) == 6


def test_the_others_learn_nothing_from_words_values_or_changed_files(
    engine: Engine, open_notes: Path, tmp_path: Path
) -> None:
    engine.sync([open_notes])

    def told() -> tuple[object, ...]:
        answer = engine.search("zanzibbar heron", viewer=EVERYONE, facets=True)
        hits = [(result.document, round(result.score, 6)) for result in answer.results]
        classified = engine.classify("zanzibar heron", EVERYONE)
        respelled = [one.word for one in answer.spelling]
        return hits, respelled, answer.facets, answer.stale, classified, engine.tags(EVERYONE), engine.status(EVERYONE)

    def steady() -> tuple[object, ...]:
        status = told()[-1]
        assert isinstance(status, dict)
        kept = ("documents", "chunks", "kinds", "collections", "size_bytes", "calibration", "roots")
        return (*told()[:-1], {name: status[name] for name in kept})

    before = steady()
    secret = put(tmp_path / "elsewhere", **{f"s{n}": f"zanzibar heron {n} #hush" for n in range(5)})
    engine.sync([secret], collection="secret", meta={"codename": "zephyr"}, audience="private")
    (secret / "s1.md").write_text("# changed after the sync\n")
    assert steady() == before
    unknown = {name: engine.unknown_fields(_request(name)) for name in ("codename", "nothing")}
    assert unknown["codename"] == [hint.replace("nothing", "codename") for hint in unknown["nothing"]]


def _request(field: str) -> Request:
    return build_request("heron", {"filters": {field: "x"}, "viewer": EVERYONE})


# ---------------------------------------------------------------- what is remembered


def test_a_removed_folder_comes_back_restricted(engine: Engine, hr: Path) -> None:
    engine.sync([hr], audience="private")
    engine.remove(str(hr))
    assert audiences(engine)["hr"] == "private"
    (hr / "deep").mkdir()
    (hr / "deep" / "z.md").write_text("# Deep zanzibar\n")
    engine.sync([hr / "deep"])  # a part of it
    assert found(engine, "zanzibar") == set()
    assert len(found(engine, "zanzibar", None)) == 1
    engine.sync([hr])
    assert found(engine, "zanzibar") == set()
    assert len(found(engine, "zanzibar", None)) == 2


def test_a_folder_around_leaves_it_out_until_somebody_says_otherwise(
    engine: Engine, open_notes: Path, hr: Path
) -> None:
    engine.sync([hr], collection="hr", audience="private")
    engine.remove("hr")
    report = engine.sync([open_notes])
    assert [item.path for item in report.skipped] == [str(hr)]
    assert engine.search("heron").stale == 0  # what is left out does not count as new
    assert found(engine, "zanzibar", None) == set()
    assert engine.sync([hr]).added == 1
    assert found(engine, "zanzibar") == set()
    with pytest.raises(ConfigError, match="which is for private"):
        engine.sync([hr], collection="other")
    assert found(engine, "zanzibar", None) == {"pay.md"}
    engine.sync([hr], collection="other", audience="public")
    assert found(engine, "zanzibar") == {"pay.md"}
    engine.set_audience("hr", "public")  # nothing is left of it
    assert audiences(engine) == {"default": "public", "other": "public"}


def test_a_link_does_not_lead_into_it(engine: Engine, open_notes: Path, hr: Path) -> None:
    (open_notes / ".gitignore").write_text("hr\n")  # so that the folder around does not read it either
    engine.sync([hr], audience="private")
    (open_notes / "sly.md").symlink_to("hr/pay.md")
    (open_notes / "slyer").symlink_to("hr")
    engine.sync([open_notes])
    assert found(engine, "zanzibar") == set()
    engine.remove("hr")
    engine.sync([open_notes])
    assert found(engine, "zanzibar", None) == set()


def test_after_it_was_opened_for_all_nothing_is_remembered(engine: Engine, open_notes: Path, hr: Path) -> None:
    engine.sync([hr], audience="private")
    engine.remove("hr")
    engine.set_audience("hr", "public")
    engine.sync([open_notes])
    assert found(engine, "zanzibar") == {"hr/pay.md"}


@pytest.mark.slow
def test_a_repository_does_not_show_what_is_restricted_in_it(engine: Engine, tmp_path: Path) -> None:
    repository = TestRepository.new(tmp_path / "code")
    repository.commit("The zanzibar plan", **{"hr/pay.md": "# Pay\n\nzanzibar\n", "a.md": "# A\n"})
    engine.sync([repository.folder / "hr"], audience="private")
    for address in (f"git+{repository.folder}", f"history+{repository.folder}"):
        with pytest.raises(ConfigError, match="in collection 'hr', for private"):
            engine.sync([address])
    engine.sync([f"history+{repository.folder}"], audience="group:hr")
    assert found(engine, "zanzibar") == set()


def test_an_index_built_anew_keeps_its_audiences(engine: Engine, open_notes: Path, hr: Path) -> None:
    engine.sync([hr], audience="group:hr")
    engine.sync([open_notes])
    engine.sync([], recreate=True)
    assert found(engine, "zanzibar") == set()
    assert found(engine, "zanzibar", HR) == {"pay.md"}


def test_wrong_audiences_say_what_to_write(engine: Engine, hr: Path) -> None:
    for wrong in ("staff", "group:", "private,group:x", "public,private", "groups:x", ",", "group:a\nb"):
        with pytest.raises(ConfigError, match="is no audience") as caught:
            engine.sync([hr], audience=wrong)
        assert "group:NAME" in caught.value.hint
    engine.sync([hr])
    with pytest.raises(NotFound, match="no collection called 'hrr'"):
        engine.set_audience("hrr", "private")
    with pytest.raises(ConfigError, match="say themselves"):
        engine.sync([hr], collection="registry", audience="private")


def test_a_dry_run_changes_no_audience(engine: Engine, hr: Path) -> None:
    planned = engine.sync([hr], audience="private", dry_run=True).planned
    assert planned is not None
    assert [one.restricted for one in planned] == [True]
    engine.sync([hr])
    assert engine.sync([hr], audience="private", dry_run=True).planned == []
    assert audiences(engine) == {"default": "public"}


# ---------------------------------------------------------------- killed half way


@pytest.mark.kill
def test_a_killed_change_applies_or_does_not(tmp_path: Path) -> None:
    """After each kill everybody finds all documents, or nobody does, with the statistics of that."""
    folder = tmp_path / "notes"
    words = "tide river bridge harbour ticket invoice payment customer order garden".split()
    chance = random.Random(7)  # noqa: S311 - a sample
    for n in range(300):
        put(folder / str(n % 7), **{f"n{n}": " ".join(["zanzibar", *chance.choices(words, k=150)])})
    environ = {"WATERSMEET__INDEX__VECTORS": "false"}
    settings = load(start=str(tmp_path), environ=environ)
    with Engine(tmp_path / "index", settings) as engine:
        engine.sync([folder], collection="notes")
    wanted = ["private", "public"]
    for attempt in range(7):
        audience = wanted[0]
        command = [sys.executable, "-m", "watersmeet", "collection", "notes", "--audience", audience]
        process = subprocess.Popen(
            [*command, "--index", str(tmp_path / "index"), "-q"], env={**os.environ, **environ}, start_new_session=True
        )
        if attempt < 6:  # the last one is not killed
            time.sleep(0.25 + 0.15 * attempt)
            process.send_signal(signal.SIGKILL)
        code = process.wait()
        with Engine(tmp_path / "index", settings) as engine:
            shown = audiences(engine)["notes"]
            with engine.snapshot() as snapshot:
                everyone = engine.visible_index(snapshot, EVERYONE)
                assert everyone.words is not None
                size = everyone.words.size
            assert len(engine.documents(EVERYONE)) == (300 if shown == "public" else 0)
            assert (size > 0) == (shown == "public")
            assert len(engine.documents()) == 300
            assert [check for check in engine.doctor() if not check.ok and check.name != "models"] == []
            assert shown == audience or code != 0
            if shown == audience:
                wanted.reverse()
            engine.sync([folder])
            assert audiences(engine)["notes"] == shown
            assert len(engine.documents(EVERYONE)) == (300 if shown == "public" else 0)
