"""Settings in a folder, at the command line: what is ignored is said, once, and `trust` lets it count."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

Run = Callable[..., "subprocess.CompletedProcess[str]"]

SETTINGS = """
[index]
dense = "openai"
[pipeline]
pool = 50
[embed.openai]
base_url = "http://127.0.0.1:{port}/v1"
api_key_env = "AWS_SECRET_ACCESS_KEY"
"""
SECRET = {"AWS_SECRET_ACCESS_KEY": "the-key", "WATERSMEET__INDEX__VECTORS": "true"}


@pytest.fixture
def listener() -> Iterator[tuple[int, list[str]]]:
    """A machine that notes what it is sent."""
    sent: list[str] = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(f"{self.headers['Authorization']} {body.decode()}")
            self.send_error(400)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Note)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port, sent
    server.shutdown()
    server.server_close()


@pytest.fixture
def download(fresh: Path, listener: tuple[int, list[str]]) -> Path:
    (fresh / "watersmeet.toml").write_text(SETTINGS.format(port=listener[0]))
    return fresh


@pytest.mark.model
@pytest.mark.parametrize("inside", [True, False], ids=["--in", "working folder"])
def test_keys_and_texts_go_nowhere_until_the_folder_is_trusted(
    run: Run, download: Path, listener: tuple[int, list[str]], inside: bool
) -> None:
    _, sent = listener
    cwd = download.parent if inside else download

    def search() -> subprocess.CompletedProcess[str]:
        if not inside:
            flags = ("--quiet", "--recreate", "--in-place")  # in place: else it is refused without vectors
            assert run("sync", ".", *flags, cwd=cwd, **SECRET).returncode == 0
        where = ["--in", str(download)] if inside else []
        return run("search", "rotate keys", "--json", *where, cwd=cwd, **SECRET)

    found = search()
    assert (found.returncode, sent) == (0, [])
    assert found.stderr.count("\n") == found.stderr.count("is not trusted") == 1
    for said in ("watersmeet.toml", "index.dense", "embed.openai.base_url", "embed.openai.api_key_env"):
        assert said in found.stderr
    assert f"`watersmeet trust {download}`" in found.stderr
    assert "not trusted" not in found.stdout
    assert run("trust", str(download)).returncode == 0
    search()
    assert sent
    assert all(text.startswith("Bearer the-key") for text in sent)


@pytest.mark.slow
def test_what_is_ignored_is_shown_by_config_and_doctor(run: Run, download: Path) -> None:
    assert run("sync", ".", "--quiet", cwd=download).returncode == 0
    file = download / "watersmeet.toml"
    lines = run("config", "show", "--origin", cwd=download).stdout.splitlines()
    assert 'index.dense = "onnx"  # default' in lines
    assert f'index.dense = "openai"  # ignored: {file} is not trusted' in lines
    assert f"pipeline.pool = 50  # {file}" in lines
    said = json.loads(run("config", "show", "--json", cwd=download).stdout)
    assert {one["setting"] for one in said["ignored"]} == {
        "index.dense",
        "embed.openai.base_url",
        "embed.openai.api_key_env",
    }
    checks = json.loads(run("doctor", "--json", cwd=download).stdout)["checks"]
    (check,) = [check for check in checks if check["name"] == "trust"]
    assert check["ok"]
    assert "embed.openai.base_url" in check["detail"]
    assert "watersmeet trust" in check["hint"]


@pytest.mark.slow
def test_trust_is_given_listed_and_taken_back(run: Run, download: Path) -> None:
    listed = json.loads(run("trust", "--json").stdout)
    assert (listed["folders"], listed["took_ms"] >= 0) == ([], True)
    given = run("trust", ".", cwd=download)
    assert given.stdout.splitlines()[0] == f"{download} is trusted; these settings of its file apply now:"
    assert '  index.dense = "openai"' in given.stdout.splitlines()
    again = json.loads(run("trust", str(download), "--json").stdout)
    assert (again["folder"], again["trusted"]) == (str(download), True)
    assert again["took_ms"] >= 0
    assert run("trust").stdout == f"{download}\n"
    assert run("config", "show", cwd=download).stderr == ""
    with open(download / "watersmeet.toml", "a") as file:
        file.write("# changed\n")
    assert run("trust").stdout == f"{download}  not trusted: its file has changed since\n"
    assert "is not trusted" in run("config", "show", cwd=download).stderr
    gone = json.loads(run("trust", "--remove", str(download), "--json").stdout)
    assert (gone["folder"], gone["trusted"]) == (str(download), False)
    assert run("trust", "--remove", str(download)).returncode == 1
    assert run("trust", "--remove").returncode == 2
    nothing = run("trust", str(download.parent))
    assert (nothing.returncode, "there is no watersmeet.toml" in nothing.stderr) == (2, True)


@pytest.mark.slow
def test_a_pipe_in_the_place_of_settings_keeps_nobody_waiting(run: Run, fresh: Path) -> None:
    os.mkfifo(fresh / "watersmeet.toml")
    assert run("sync", ".", "--quiet", cwd=fresh).returncode == 0
    assert run("search", "rotate keys", cwd=fresh).returncode == 0
    assert run("trust", ".", cwd=fresh).returncode == 2


@pytest.mark.slow
def test_a_number_of_5000_digits_is_an_error_in_a_sentence(run: Run, fresh: Path) -> None:
    (fresh / "watersmeet.toml").write_text(f"[pipeline]\npool = {'9' * 5000}\n")
    failed = run("search", "keys", "--in", ".", cwd=fresh)
    assert failed.returncode == 2
    assert f"{fresh / 'watersmeet.toml'} cannot be read: a whole number in it has too many digits" in failed.stderr
    assert "unexpected" not in failed.stderr


def test_a_model_that_lies_in_the_working_folder_is_not_loaded(fresh: Path) -> None:
    """The default's name is granite-30m; a folder of that name is not it."""
    (fresh / "granite-30m").mkdir()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        (fresh / "granite-30m" / name).write_text("evil")
    script = "from watersmeet.embed._locate import locate; print(locate('granite-30m', '', False))"
    found = subprocess.run([sys.executable, "-P", "-c", script], cwd=fresh, capture_output=True, text=True, check=False)
    assert str(fresh) not in found.stdout
