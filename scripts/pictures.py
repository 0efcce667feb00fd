"""The README's pictures, of a real terminal and of the real page: `python scripts/pictures.py`."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from urllib.parse import quote

from browser import browser, playwright
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
COMMAND = str(Path(sys.executable).parent / "watersmeet")
QUERY = "why are my changes slow to arrive?"
COLUMNS = 96
CHROMIUM = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync".split()
)


def drawn(arguments: list[str], folder: str) -> str:
    """What a command draws on a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    environ["TERM"] = "xterm-256color"
    process = subprocess.Popen(
        [COMMAND, *arguments], cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            parts.append(os.read(ours, 65536))
        except OSError:  # the other end is closed
            break
        if not parts[-1]:
            break
    process.wait()
    os.close(ours)
    return b"".join(parts).decode("utf8").replace("\r\n", "\n")


def terminal(folder: str) -> str:
    """Two commands and their output as SVG, with no font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for arguments in (["search", QUERY], ["search", QUERY, "-n", "1", "--explain", "-q"]):
        shown = " ".join(f'"{part}"' if " " in part else part for part in ["watersmeet", *arguments])
        console.print(Text.assemble(("$ ", "bold green"), (shown, "bold")))
        console.print(Text.from_ansi(drawn(arguments, folder)))
    form = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("Fira Code", "ui-monospace, Menlo, DejaVu Sans Mono")
    return console.export_svg(title="watersmeet", code_format=form)


def page(folder: str) -> None:
    """The page with the first result explained, in both schemes."""
    command = [COMMAND, "serve", "--port", "0", "--json"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        shoot(json.loads(server.stdout.readline())["url"])
    finally:
        server.terminate()
        server.wait()


def shoot(url: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        chromium = tools.chromium.launch(executable_path=browser(), args=CHROMIUM)
        for scheme in ("light", "dark"):
            tab = chromium.new_page(viewport={"width": 1240, "height": 700}, color_scheme=scheme)
            for _ in range(2):  # the first loads the models
                tab.goto(f"{url}?q={quote(QUERY)}")
                tab.wait_for_selector(".result")
            tab.locator(".why").first.click()
            tab.wait_for_selector(".stack", state="attached")
            tab.evaluate("() => document.activeElement.blur()")
            tab.screenshot(path=PICTURES / f"page-{scheme}.png")
        chromium.close()


def main() -> int:
    playwright()
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        subprocess.run([COMMAND, "sync", "examples/handbook", "--quiet"], cwd=folder, check=True)
        drawn(["search", QUERY], folder)  # the second time is the usual one
        (PICTURES / "terminal.svg").write_text(terminal(folder), "utf8")
        page(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
