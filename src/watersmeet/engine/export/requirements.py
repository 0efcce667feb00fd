"""Requirements of an export: every distribution that its server needs, at the installed version, with a hash."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from watersmeet.core.errors import ConfigError
from watersmeet.engine.export.wheels import Wheel, pack_wheel

OWN = "watersmeet"
MODEL = "watersmeet-granite-30m"
"""The data package of the dense model."""
PIP_SECONDS = 600.0
WHEELS_HINT = "`--wheels` packs the installed packages themselves, and needs no network"
HEAD = """# What the server of this export needs, at the versions that it was made with.
# watersmeet and its model are in `wheels`; the hashes of the others are of the files of the package index.
"""
HEAD_WITH_WHEELS = (
    "# What the server of this export needs, at the versions that it was made with; all are in `wheels`.\n"
)


@dataclass(frozen=True, slots=True)
class Requirements:
    """The requirements file of an export, and its wheels."""

    text: str
    wheels: tuple[Wheel, ...]
    complete: bool
    """Whether every requirement has its wheel in the export."""


def make_requirements(folder: str, with_model: bool, all_wheels: bool) -> Requirements:
    """Pack the wheels into a folder, and pin what else is needed."""
    needed = closure([OWN, *([MODEL] if with_model else [])])
    ours = [one for one in needed if _plain(one.metadata["Name"]) in (OWN, MODEL)]
    others = [one for one in needed if one not in ours]
    os.makedirs(folder, exist_ok=True)
    packed = {_pin(one): pack_wheel(one, folder, _plain(one.metadata["Name"]).replace("-", "_")) for one in ours}
    if all_wheels:
        packed |= {_pin(one): pack_wheel(one, folder) for one in others}
        hashes = {pin: [wheel.sha256] for pin, wheel in packed.items()}
    else:
        hashes = {pin: [wheel.sha256] for pin, wheel in packed.items()} | index_hashes([_pin(one) for one in others])
    lines = [f"{pin} {' '.join(f'--hash=sha256:{one}' for one in hashes[pin])}" for pin in sorted(hashes)]
    text = (HEAD_WITH_WHEELS if all_wheels else HEAD) + "\n".join(lines) + "\n"
    return Requirements(text, tuple(packed.values()), all_wheels)


def closure(names: Sequence[str]) -> list[Distribution]:
    """Installed distributions that these need, they included, without optional extras that nobody asks for."""
    from packaging.requirements import Requirement  # comes with a dependency

    found: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        wanted = waiting.pop()
        name = _plain(wanted.name)
        for extra in ("", *sorted(wanted.extras)):
            if (name, extra) in done:
                continue
            done.add((name, extra))
            installed = found.get(name) or _installed(wanted.name)
            found[name] = installed
            for line in installed.requires or ():
                requirement = Requirement(line)
                if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                    waiting.append(requirement)
    return [found[name] for name in sorted(found)]


def _installed(name: str) -> Distribution:
    try:
        return distribution(name)
    except PackageNotFoundError:
        hint = "install it with pip: the export would not start without it"
        raise ConfigError(f"the package {name} is not installed", hint) from None


def index_hashes(pins: Sequence[str]) -> dict[str, list[str]]:
    """The hashes of pinned requirements for this platform, as the user's pip resolves them; nothing is installed."""
    with tempfile.TemporaryDirectory(prefix="watersmeet-") as folder:
        report = os.path.join(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--report", report, "--no-deps"]
        command += ["--ignore-installed", "--only-binary", ":all:", "--disable-pip-version-check", "--no-input", *pins]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ConfigError(f"pip cannot say the hashes of the requirements: {error}", WHEELS_HINT) from error
        if done.returncode or not os.path.exists(report):
            lines = [line for line in done.stderr.splitlines() if "ERROR" in line or "No module" in line] or ["?"]
            raise ConfigError(f"pip cannot say the hashes of the requirements: {lines[-1][:200]}", WHEELS_HINT)
        with open(report, encoding="utf8") as file:
            installs = json.load(file)["install"]
    found = {
        _plain(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"]["sha256"] for one in installs
    }
    missing = [pin for pin in pins if _plain(pin.partition("==")[0]) not in found]
    if missing:
        raise ConfigError(f"pip knows no hash of {missing[0]}", WHEELS_HINT)
    return {pin: [found[_plain(pin.partition("==")[0])]] for pin in pins}


def _pin(one: Distribution) -> str:
    return f"{_plain(one.metadata['Name'])}=={one.version}"


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
