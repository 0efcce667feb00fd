"""Untrusted settings in a folder; arguments that are not text; bidirectional control characters."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from threading import Thread

from attacks.probe import command, probe, require

SECRET = {"AWS_SECRET_ACCESS_KEY": "X"}
WORDS = {"WATERSMEET__INDEX__VECTORS": "false"}
LEAK = """
[index]
dense = "openai"
[embed.openai]
base_url = "http://127.0.0.1:{port}/v1"
api_key_env = "AWS_SECRET_ACCESS_KEY"
"""


def tried(folder: Path, *words: str | bytes, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command that is to end soon, whatever the folder holds."""
    return command(folder, *words, timeout=30, environment=environ)


def stranger(folder: Path, settings: str = "") -> Path:
    """A folder with a note and a settings file."""
    found = folder / "untrusted"
    found.mkdir()
    (found / "diary.md").write_text("# Diary\n\nI planted leeks.\n", "utf8")
    if settings:
        (found / "watersmeet.toml").write_text(settings, "utf8")
    return found


def listening(sent: list[str]) -> http.server.ThreadingHTTPServer:
    class Note(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(str(self.headers["Authorization"]))
            self.send_error(400)

        def log_message(self, *_: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Note)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


@probe("a folder's settings name an address and a secret variable; search --in, then sync and search inside it")
def leak(folder: Path) -> str:
    sent: list[str] = []
    server = listening(sent)
    found = stranger(folder, LEAK.format(port=server.server_port))
    searched = tried(folder, "search", "diary", "--in", "untrusted", **SECRET)
    shutil.copytree(folder / "home", found / "home")
    for words in (["sync", "."], ["search", "diary"]):
        tried(found, *words, **SECRET)
    server.shutdown()
    require(not sent, f"the machine was asked with {sent[:1]}")
    require(searched.returncode == 0, "nothing is found any more")
    return searched.stderr.partition("\n")[0]


@probe("a trusted folder's settings are changed afterwards")
def changed(folder: Path) -> str:
    found = stranger(folder, "[writer]\nbatch_chunks = 7\n")
    tried(folder, "trust", "untrusted")
    shown = tried(folder, "trust", "--json").stdout
    require(json.loads(shown)["folders"][0]["trusted"], "trust does not hold")
    kept = folder / "home" / "config" / "watersmeet" / "trusted.json"
    require(kept.stat().st_mode & 0o777 == 0o600, f"trusted.json has mode {kept.stat().st_mode:o}")
    (found / "watersmeet.toml").write_text(LEAK.format(port=1))
    searched = tried(folder, "search", "diary", "--in", "untrusted", **WORDS)
    require("is not trusted" in searched.stderr, "the changed file counts")
    return "it must be trusted again"


@probe("settings that count name a model: the stage crossencoder, its model, another embedder")
def models(folder: Path) -> str:
    stranger(
        folder,
        '[pipeline]\nstages = ["crossencoder"]\n[stage.crossencoder]\nmodel = "evil/model"\n'
        '[index]\ndense = "hashed"\n',
    )
    shown = tried(folder / "untrusted", "config", "show", "--json", **home(folder))
    ignored = {one["setting"] for one in json.loads(shown.stdout)["ignored"]}
    require(ignored == {"pipeline.stages", "stage.crossencoder.model", "index.dense"}, f"ignored: {ignored}")
    return f"ignored: {', '.join(sorted(ignored))}"


@probe("a folder called granite-30m in the working folder, with a model in it")
def model_folder(folder: Path) -> str:
    found = stranger(folder)
    (found / "granite-30m").mkdir()
    for name in ("model.onnx", "tokenizer.json", "config.json"):
        (found / "granite-30m" / name).write_text("{}")
    done = tried(found, "sync", ".", "--quiet", **home(folder))
    require("granite-30m/model.onnx" not in done.stderr, done.stderr)
    shown = tried(found, "doctor", "--json", **home(folder)).stdout
    (check,) = [one for one in json.loads(shown)["checks"] if one["name"] == "dense model"]
    require(str(found) not in check["detail"], check["detail"])
    return f"dense model: {check['detail']}"


@probe("no HOME, and .config/watersmeet/watersmeet.toml in the working folder")
def homeless(folder: Path) -> str:
    found = stranger(folder)
    place = found / ".config" / "watersmeet"
    place.mkdir(parents=True)
    (place / "watersmeet.toml").write_text("[writer]\nbatch_chunks = 7\n")
    shown = tried(found, "config", "show", "--json", HOME="", XDG_CONFIG_HOME="")
    value = json.loads(shown.stdout)["settings"]["writer.batch_chunks"]
    require(value != 7, "it was taken for the user's")
    return "not the user's settings"


@probe("settings files that hurt: 5,000 digits, 30,000 parts, 40,000 brackets, 200 kB, a pipe, a device")
def poison(folder: Path) -> str:
    texts = {
        "digits": f"[pipeline]\npool = {'9' * 5000}\n",
        "hexadecimal": f"[pipeline]\npool = 0x{'f' * 5000}\n",
        "parts": "a." * 30_000 + "a = 1\n",
        "brackets": "a = " + "[" * 40_000,
        "size": "#" * 200_000,
    }
    found = stranger(folder)
    file = found / "watersmeet.toml"
    for name, text in texts.items():
        file.write_text(text)
        done = tried(found, "config", "show", **home(folder))
        require(done.returncode == 2 and "cannot be read" in done.stderr, f"{name}: {done.stderr[:200]}")
        require("unexpected" not in done.stderr, f"{name}: {done.stderr[:200]}")
    file.unlink()
    os.mkfifo(file)
    require(tried(found, "config", "show", **home(folder)).returncode == 0, "a pipe stops it")
    file.unlink()
    file.symlink_to("/dev/zero")
    require(tried(found, "config", "show", **home(folder)).returncode == 0, "a device stops it")
    return "errors in a sentence; a pipe and a device are passed over"


@probe("settings that keep a search busy: links followed for ever")
def busy(folder: Path) -> str:
    found = stranger(
        folder, f"[pipeline]\nsignals = ['lexical', 'graph']\n[signal.graph]\nhops = {2**62}\nleast = 0.0\n"
    )
    (found / "b.md").write_text("# Leeks\n\nSee [[diary]].\n")
    tried(found, "sync", ".", "--quiet", **home(folder), **WORDS)
    done = tried(found, "search", "leeks", "--mode", "hybrid", **home(folder), **WORDS)
    return f"exit {done.returncode}: {done.stderr.partition(chr(10))[0]}"


@probe("arguments that are not UTF-8: remove, unregister, enable, get, related, --why-not, install, token, sync")
def arguments(folder: Path) -> str:
    stranger(folder)
    tried(folder, "sync", "untrusted", "--quiet", **WORDS)
    bad = b"\xff"
    calls: list[list[str | bytes]] = [
        ["remove", bad],
        ["unregister", bad],
        ["enable", bad],
        ["get", bad],
        ["related", bad],
        ["search", "leeks", "--why-not", bad],
        ["install", "codex", "--command", bad, "--yes"],
        ["token", "create", "--user", bad],
        ["sync", bad],
    ]
    for words in calls:
        done = tried(folder, *words, **WORDS)
        require(done.returncode in (1, 2) and "unexpected" not in done.stderr, f"{words}: {done.stderr[:200]}")
    return "not valid UTF-8: \\xff"


@probe("a title and a text with U+202E and U+2066, on the terminal, in JSON and in Markdown")
def turned(folder: Path) -> str:
    found = stranger(folder)
    title = "invoice \u202efdp.exe\u2066"
    (found / "b.md").write_text(f"# {title}\n\nOpen {title} now.\n", "utf8")
    tried(folder, "sync", "untrusted", "--quiet", **WORDS)
    for words in (["search", "invoice"], ["search", "invoice", "--json"], ["get", "b.md"], ["list"]):
        done = tried(folder, *words, **WORDS)
        require(not re.search("[\u202a-\u202e\u2066-\u2069]", done.stdout + done.stderr), f"{words} sends it")
        require("\\u202e" in done.stdout, f"{words} hides it")
    found_title = json.loads(tried(folder, "search", "invoice", "--json", **WORDS).stdout)["results"][0]["title"]
    require(found_title == title, "JSON says something else")
    return "shown as \\u202e; JSON means the same text"


def home(folder: Path) -> dict[str, str]:
    """One home for commands in several folders."""
    return {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache")}
