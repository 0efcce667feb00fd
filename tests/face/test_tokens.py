"""Names, expiry and last use of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from serving import served
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.face.cli.main import run
from watersmeet.face.tokens import Token, Tokens


def _expire(tokens: Tokens, token: Token) -> None:
    """As if its time had come."""
    kept = {**tokens.all(), token.id: replace(token, expires="2020-01-01T00:00:00Z")}
    Path(tokens.path).write_text(json.dumps({"tokens": [asdict(one) for one in kept.values()]}))


@pytest.mark.server
def test_an_expired_token_is_refused_with_the_reason_and_the_others_are_not(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    tokens = Tokens()
    old, sent_old = tokens.create("read", name="old", expires="1h")
    _, sent_new = tokens.create("read", name="new", expires="30d")
    with served(engine, host="0.0.0.0", tokens=tokens) as site:  # noqa: S104 - that is the point
        assert site.ask("/api/status", token=sent_old).status == 200
        _expire(tokens, old)
        refused = site.ask("/api/status", token=sent_old)
        assert (refused.status, refused.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert refused.json()["detail"] == "this token expired on 2020-01-01T00:00:00Z"
        assert "token create" in refused.json()["hint"]
        guessed = site.ask("/api/status", token=f"wm_{old.id}_guess")  # who does not have it learns nothing of it
        assert (guessed.status, guessed.json()["detail"]) == (401, "this token is not valid")
        assert site.ask("/api/status", token=sent_new).status == 200
    used = tokens.last_used()
    assert set(used) == {old.id, next(key for key in tokens.all() if key != old.id)}
    assert not tokens.is_valid(old.id)


def test_a_token_file_of_an_earlier_version_goes_on_working(home: Path) -> None:
    tokens = Tokens()
    token, sent = tokens.create("write", "ann", ("pink",))
    kept = json.loads(Path(tokens.path).read_text())
    for one in kept["tokens"]:
        del one["name"], one["expires"]
    Path(tokens.path).write_text(json.dumps(kept))
    assert Tokens().holder(sent) == token
    assert (token.label, token.has_expired) == (token.id, False)


def test_a_name_stands_for_one_token(home: Path) -> None:
    tokens = Tokens()
    token, _ = tokens.create("read", name="grafana")
    for taken in ("grafana", token.id):
        with pytest.raises(ConfigError, match="there is a token called"):
            tokens.create("read", name=taken)
    with pytest.raises(NotFound):
        tokens.revoke("")
    assert tokens.revoke("grafana").id == token.id
    tokens.create("read", name="grafana")


@pytest.mark.parametrize("name", ["a b", "x" * 65, "a\n", "<b>"])
def test_a_name_that_would_spoil_a_log_is_refused(name: str, home: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be the name"):
        Tokens().create("read", name=name)


@pytest.mark.parametrize("expires", ["0d", "2020-01-01", "soon", "99999y", "-1d"])
def test_an_expiry_in_the_past_or_unreadable_is_refused(expires: str, home: Path) -> None:
    with pytest.raises(ConfigError):
        Tokens().create("read", expires=expires)
    assert not Tokens().all()


def test_the_command_names_lists_and_revokes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def ask(*arguments: str, code: int = 0) -> dict[str, object]:
        assert run(["token", *arguments, "--json"]) == code
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return found

    made = ask("create", "--scope", "read", "--name", "ci", "--expires", "30d")
    assert (made["name"], made["scope"], made["expired"]) == ("ci", "read", False)
    assert str(made["expires"]) > str(made["created"])
    listed = ask("list")["tokens"]
    assert isinstance(listed, list)
    assert [(one["name"], one["last_used"], one["expires"]) for one in listed] == [("ci", None, made["expires"])]
    assert str(made["token"]) not in json.dumps(listed)
    assert "hash" not in listed[0]
    assert ask("revoke", "ci") == {"revoked": "ci"}
    assert run(["token", "revoke", "ci"]) == 1


def test_that_a_use_cannot_be_noted_stops_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    tokens = Tokens()
    token, _ = tokens.create("read")
    broken: Callable[..., None] = fail
    monkeypatch.setattr("watersmeet.face.tokens.replace_file", broken)
    tokens.note_use(token)
    assert tokens.last_used() == {}
