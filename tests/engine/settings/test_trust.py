"""Settings that lie in a folder say how to search and no more, unless the user has said that they may."""

from __future__ import annotations

import json
import os
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem, WatersmeetError
from watersmeet.engine.components import find, names, options
from watersmeet.engine.settings import file, trust
from watersmeet.engine.settings.effective import effective
from watersmeet.engine.settings.settings import SECTIONS, Settings, config_folder, load

HOSTILE = """
[index]
dense = "openai"
text = "fts5"
[embed.openai]
base_url = "http://127.0.0.1:17999/v1"
api_key_env = "AWS_SECRET_ACCESS_KEY"
[embed.static]
folder = "/elsewhere"
[serve]
rate = 1e8
[calibration]
learn = true
[writer]
grace_seconds = 0.0
[registry]
pinned = ["evil"]
[source.folder]
hidden = true
gitignore = false
"""
HARMLESS = """
recipe = "notes"
[index]
static = ""
sparse = ""
dense = ""
dates = ["mtime"]
[source.folder]
include = ["*.md"]
exclude = ["drafts/**"]
[chunk.headings]
max_chars = 500
[pipeline]
pool = 33
[two_stage]
auto = true
[query.expand]
terms = 2
[signal.graph]
hops = 1
[fusion.rrf]
weights = { lexical = 2.0 }
[stage.floor]
share = 0.1
"""


def settings_of(folder: Path, text: str = "", **environ: str) -> Settings:
    folder.mkdir(parents=True, exist_ok=True)
    if text:
        (folder / "watersmeet.toml").write_text(text, "utf8")
    home = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    return load(start=str(folder), environ={**home, **environ})


def test_what_reaches_outside_is_ignored_and_named(tmp_path: Path) -> None:
    made = settings_of(tmp_path / "download", HOSTILE)
    plain = settings_of(tmp_path / "empty")
    assert made.tables == plain.tables
    (ignored,) = made.ignored
    assert ignored.file == str(tmp_path / "download" / "watersmeet.toml")
    assert ignored.values["embed.openai.api_key_env"] == "AWS_SECRET_ACCESS_KEY"
    assert len(ignored.values) == 11
    assert "calibration.learn, embed.openai.api_key_env" in ignored.what
    assert "3 more" in ignored.what
    assert f"watersmeet trust {tmp_path / 'download'}" in ignored.hint
    assert made.under("notes").ignored == made.ignored


def test_how_to_search_counts(tmp_path: Path) -> None:
    made = settings_of(tmp_path / "notes", HARMLESS)
    assert made.ignored == ()
    shown = effective(made)
    file = str(tmp_path / "notes" / "watersmeet.toml")
    for key, value in {
        "recipe": "notes",
        "index.dense": "",
        "index.dates": ["mtime"],
        "source.folder.exclude": ["drafts/**"],
        "chunk.headings.max_chars": 500,
        "pipeline.pool": 33,
        "two_stage.auto": True,
        "query.expand.terms": 2,
        "fusion.rrf.weights.lexical": 2.0,
        "stage.floor.share": 0.1,
    }.items():
        assert shown.get(key, (value, file)) == (value, file), key
    assert made.of("signal", "graph") == {"hops": 1}


def test_a_folder_further_up_is_no_more_trusted(tmp_path: Path) -> None:
    settings_of(tmp_path / "download", HOSTILE)
    below = settings_of(tmp_path / "download" / "deep")
    assert len(below.ignored) == 1


@pytest.mark.parametrize(
    ("text", "ignored"),
    [
        ('[stage.crossencoder]\nmodel = "/tmp/evil"\ntop_n = 3\n', {"stage.crossencoder.model"}),
        ('[pipeline]\nstages = ["crossencoder", "top"]\npool = 5\n', {"pipeline.stages"}),
        ('[index]\nstatic = "hashed"\nsparse = ""\ndense = "onnx"\n', {"index.static", "index.dense"}),
    ],
)
def test_what_counts_cannot_name_a_model(tmp_path: Path, text: str, ignored: set[str]) -> None:
    made = settings_of(tmp_path / "download", text)
    assert set(made.ignored[0].values) == ignored


def test_every_setting_of_text_that_a_stranger_may_set_was_thought_about() -> None:
    """A new one of these must be marked `outside` if it names a path, an address, a model or a variable."""
    found = {
        f"{kind}.{name}.{key}"
        for kind in trust.OPEN - set(SECTIONS)
        for name in names(kind)
        for key, field in options(find(kind, name)).items()
        if not field.metadata.get("outside") and ("str" in str(field.type) or "Any" in str(field.type))
    }
    keyed_by_signal = {
        "fusion.convex.weights",
        "fusion.convex.usual_lead",
        "fusion.linear.weights",
        "fusion.rrf.weights",
    }
    globs = {f"parse.{name}.{key}" for name in names("parse") for key in ("include", "exclude")}  # of its own files
    assert found - keyed_by_signal - globs == {
        "fusion.convex.scale",
        "fusion.convex.scales",
        "fusion.legacy.boost",
        "fusion.legacy.cosine",
        "query.adapt.keyword",
        "query.adapt.semantic",
        "query.classify.keyword",
        "query.identifier_weight.keyword",
        "query.route.rules",
    }


# ------------------------------------------------------------ trust


def test_a_trusted_file_counts_until_it_changes(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    settings_of(folder, HOSTILE)
    (tmp_path / "link").symlink_to(folder)
    real, values = trust.trust(str(tmp_path / "link"))
    assert (real, len(values)) == (str(folder), 11)
    made = settings_of(folder)
    assert (made.ignored, made.section("index").dense) == ((), "openai")
    assert settings_of(tmp_path / "link").ignored == ()
    kept = Path(config_folder()) / "trusted.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert list(trust.trusted()) == [str(folder)]
    changed = settings_of(folder, HOSTILE + "# one more line\n")
    assert (len(changed.ignored), changed.section("index").dense) == (1, "onnx")
    assert not trust.unchanged(str(folder))
    assert settings_of(folder, HOSTILE).ignored == ()  # as it was
    assert trust.distrust(str(folder)) == str(folder)
    assert len(settings_of(folder).ignored) == 1
    with pytest.raises(NotFound):
        trust.distrust(str(folder))


def test_a_copy_of_a_trusted_file_elsewhere_is_not_trusted(tmp_path: Path) -> None:
    settings_of(tmp_path / "mine", HOSTILE)
    trust.trust(str(tmp_path / "mine"))
    assert len(settings_of(tmp_path / "theirs", HOSTILE).ignored) == 1


def test_nothing_is_trusted_that_is_wrong_or_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceProblem, match=r"no watersmeet\.toml"):
        trust.trust(str(tmp_path))
    (tmp_path / "watersmeet.toml").write_text("[fusoin]\n")
    with pytest.raises(ConfigError, match="fusoin"):
        trust.trust(str(tmp_path))
    assert trust.trusted() == {}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"folders": 3}', '{"folder": {}}'])
def test_a_list_of_trust_that_is_damaged_trusts_nobody(tmp_path: Path, text: str) -> None:
    os.makedirs(config_folder())
    (Path(config_folder()) / "trusted.json").write_text(text)
    with pytest.raises(ConfigError, match=r"trusted\.json"):
        settings_of(tmp_path / "download", HOSTILE)


def test_the_user_the_environment_and_flags_may_set_everything(tmp_path: Path, home: Path) -> None:
    settings_of(home / "config" / "watersmeet", HOSTILE)
    assert settings_of(tmp_path / "empty").section("index").dense == "openai"
    assert settings_of(home / "config" / "watersmeet").ignored == ()  # it is the user's own there, too
    assert settings_of(tmp_path / "empty", WATERSMEET__INDEX__TEXT="tantivy").section("index").text == "tantivy"
    made = load(start=str(tmp_path), environ={}, flags={"index": {"dense": "hashed"}})
    assert made.section("index").dense == "hashed"


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}, {"HOME": "."}, {"HOME": "/h", "XDG_CONFIG_HOME": "."}])
def test_the_working_folder_is_never_the_users(environ: dict[str, str], tmp_path: Path) -> None:
    assert os.path.isabs(config_folder(environ))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(tmp_path)
        for name in ("HOME", "XDG_CONFIG_HOME"):
            patched.delenv(name)
        settings_of_home = tmp_path / ".config" / "watersmeet"
        settings_of_home.mkdir(parents=True)
        (settings_of_home / "watersmeet.toml").write_text("[writer]\nbatch_chunks = 7\n")
        assert load(environ=environ).section("writer").batch_chunks == 4000
        assert not config_folder().startswith(str(tmp_path))


def test_a_program_is_warned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    settings_of(tmp_path / "download", HOSTILE)
    monkeypatch.chdir(tmp_path / "download")
    with Engine(tmp_path / "index"):
        pass
    (said,) = caplog.messages
    assert "embed.openai.base_url" in said


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_what_another_user_left_further_up_is_not_even_read(tmp_path: Path) -> None:
    shared, mine = tmp_path / "shared", tmp_path / "shared" / "mine"
    mine.mkdir(parents=True)
    (tmp_path / "watersmeet.toml").write_text("[pipeline]\npool = 44\n")
    file = shared / "watersmeet.toml"
    file.write_text("this is no TOML")
    os.chown(file, 12345, -1)
    made = settings_of(mine)
    assert made.section("pipeline").pool == 44  # the next one up
    assert "belongs to another user" in made.ignored[0].what
    file.write_text("[pipeline]\npool = 55\n")
    assert settings_of(shared).section("pipeline").pool == 55  # the folder itself is theirs, too: documents and all
    trust.trust(str(shared))
    assert settings_of(mine).section("pipeline").pool == 55


# ------------------------------------------------------------ files that would hurt


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"[pipeline]\npool = {'9' * 5000}\n", "too many digits"),
        (f"[pipeline]\npool = -{'9' * 4301}\n", "too many digits"),
        (f"[pipeline]\npool = 0x{'f' * 5000}\n", "too many digits"),
        (f"[pipeline]\npool = {2**63}\n", "too many digits"),
        ("a." * 30_000 + "a = 1\n", "dots"),
        ("[" + "a." * 30_000 + "a]\n", "dots"),
        ('"\u2028".' * 10_000 + "a = 1\n", "dots"),
        ("a = " + "[" * 40_000 + "]" * 40_000, "nested"),
        ("a = " + "{a=" * 20_000, "nested"),
        ("a = " + "[" * 50 + "]" * 50, "nested"),
        ("a = '" + "x" * 100_000 + "'", "longer than"),
        ("[query.route]\nrules = '" + "x" * 90_000 + "'", "a list"),
    ],
)
def test_a_file_that_would_hurt_is_an_error_with_a_reason(tmp_path: Path, text: str, said: str) -> None:
    start = time.process_time()
    with pytest.raises(ConfigError, match=said) as error:
        settings_of(tmp_path / "download", text)
    assert "watersmeet.toml" in str(error.value)
    assert error.value.hint
    assert len(str(error.value)) < 1000
    assert time.process_time() - start < 5


def test_the_environment_says_what_is_wrong_with_such_a_number(tmp_path: Path) -> None:
    for number in ("9" * 5000, "0x" + "f" * 5000):
        with pytest.raises(ConfigError, match=r"pipeline\.pool must be a whole number"):
            settings_of(tmp_path / "empty", WATERSMEET__PIPELINE__POOL=number)


def test_what_is_no_regular_file_is_no_settings_file(tmp_path: Path) -> None:
    (tmp_path / "watersmeet.toml").write_text("[pipeline]\npool = 44\n")
    for number, make in enumerate((os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path))):
        folder = tmp_path / f"odd{number}"
        folder.mkdir()
        make(folder / "watersmeet.toml")
        assert settings_of(folder).section("pipeline").pool == 44
        with pytest.raises(ConfigError):  # put there a moment after we looked
            file.read(str(folder / "watersmeet.toml"))


def test_a_link_to_a_file_is_as_untrusted(tmp_path: Path) -> None:
    settings_of(tmp_path / "mine", HOSTILE)
    trust.trust(str(tmp_path / "mine"))
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "watersmeet.toml").symlink_to(tmp_path / "mine" / "watersmeet.toml")
    assert len(settings_of(tmp_path / "theirs").ignored) == 1


# ------------------------------------------------------------ values that would hurt


def extremes() -> list[tuple[str, Any]]:
    """The largest and smallest numbers for every setting that a stranger may set."""
    found: list[tuple[str, Any]] = []
    tables = [(name, SECTIONS[name]) for name in trust.OPEN if name in SECTIONS]
    tables += [(f"{kind}.{name}", find(kind, name)) for kind in trust.OPEN - set(SECTIONS) for name in names(kind)]
    for table, cls in tables:
        for key, field in options(cls).items():
            values = {"int": (2**63 - 1, -(2**63)), "float": ("1e308", "nan", "-inf", "1e8", "-1e8")}.get(
                str(field.type), ()
            )
            found += [(f"[{table}]\n{key} = {value}\n", table) for value in values]
    never_less = "[signal.graph]\nhops = 9223372036854775807\ndamping = 1.0\nmin_share = 0.0\n"
    return [*sorted(found), (never_less, "signal.graph")]


@pytest.mark.slow
def test_no_number_hangs_a_search_or_breaks_it(tmp_path: Path) -> None:
    """An answer, or an error that says what is wrong."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(6):
        (vault / f"{number}.md").write_text(
            f"# Note {number}\n\nSee [[{(number + 1) % 6}]]. Keys of note D4{number}.\n"
        )
    words = {"WATERSMEET__INDEX__VECTORS": "false"}
    with Engine(tmp_path / "index", settings_of(tmp_path / "empty", **words)) as engine:
        engine.sync([vault])
    signals = {"WATERSMEET__PIPELINE__SIGNALS": json.dumps(["lexical", "exact", "keyword", "graph", "neighbours"])}
    unusual = []
    for text, table in extremes():
        kind, _, name = table.partition(".")
        chosen = {"fusion": f'"{name}"'}.get(kind, json.dumps([name, "top"] if name != "top" else [name]))
        key = {"fusion": "FUSION", "stage": "STAGES"}.get(kind, "")
        environ = {**words, **signals} | (
            {f"WATERSMEET__PIPELINE__{key}": chosen} if key and name != "crossencoder" else {}
        )
        start = time.process_time()
        try:
            with Engine(tmp_path / "index", settings_of(tmp_path / "download", text, **environ)) as engine:
                engine.search("keys of note D42", mode="hybrid")
        except WatersmeetError:
            pass  # an error that says what is wrong
        except (ValueError, TypeError, ArithmeticError, LookupError) as error:
            unusual.append((text, repr(error)))
        if time.process_time() - start > 5:
            unusual.append((text, "slow"))
    assert unusual == []
