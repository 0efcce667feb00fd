"""The page's tests in Chromium: brings what they need, then runs them. `python scripts/browser.py [FILES] [FLAGS]`.

Playwright comes from PyPI, axe-core from npm; Chromium from the system, or from Debian's packages if this is root.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "build" / "browser"
PLAYWRIGHT = "playwright>=1.50"
AXE = "axe-core@4.14.0"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"], check=True)
        found = shutil.which("chromium")
    if found is None:
        raise SystemExit("the page's tests need Chromium: install it, for example with `apt-get install chromium`")
    return found


def playwright() -> None:
    if importlib.util.find_spec("playwright") is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", PLAYWRIGHT], check=True)


def axe() -> Path:
    script = TOOLS / "package" / "axe.min.js"
    if not script.exists():
        TOOLS.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(["npm", "pack", "--silent", AXE], cwd=TOOLS, check=True, capture_output=True, text=True)
        with tarfile.open(TOOLS / done.stdout.strip()) as archive:
            archive.extract("package/axe.min.js", TOOLS, filter="data")
    return script


def main() -> int:
    playwright()
    environ = {**os.environ, "BROWSER": browser(), "AXE": str(axe()), "PICTURES": str(ROOT / "build" / "pictures")}
    named = any(word.startswith("tests/") for word in sys.argv[1:])
    command = [sys.executable, "-m", "pytest", *([] if named else ["tests/browser"]), *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
