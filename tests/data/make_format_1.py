"""Makes `format_1.tar.gz`, two indexes of version 0.1: run it with the code of commit 611cb04, never with a later one.

git archive 611cb04 src | tar x -C /tmp/old && PYTHONPATH=/tmp/old/src python tests/data/make_format_1.py

Paths in them are absolute, as they were then: tests/engine/test_upgrade.py puts them where it unpacks them.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path

from watersmeet import Engine
from watersmeet.core.entities import Entity, Tool
from watersmeet.engine.settings.settings import load
from watersmeet.store.local._connect import FORMAT

PLACE = Path("/tmp/watersmeet-format-1")  # noqa: S108 - its paths are in the index, and the same wherever it is made
ENVIRON = {"STATIC": "", "SPARSE": "", "DENSE": "hashed"}
PAGES = {
    "two/notes/keys.md": "# Keys\n\nRotate keys every quarter. See [the doors](doors.md) and [[plan]].\n",
    "two/notes/doors.md": "---\ntags: [house]\naliases: [Gates]\n---\n# Doors\n\nThe heron opens TRN-1042.\n",
    "two/team/plan.md": "# Plan\n\nAsk the quagga first.\n\n## Later\n\nThen the heron, see [[Gates]].\n",
    "one/home.md": "# Home\n\nThe only folder, about a pelican. See [x](sub/x.md).\n",
    "one/sub/x.md": "# X\n\nAbout a tern.\n",
}
ENTITIES = [
    Entity("mcp_server", "/context7", "Context7", "Docs of any library", tools=(Tool("query-docs", "Query docs", {}),)),
    Entity("skill", "/private/tides", "tides of ann", "Tides at the heron pond", visibility="private", owner="ann"),
    Entity("skill", "/flags", "Feature flags", "Flags for releases", status="beta"),
]


def main() -> None:
    assert FORMAT == 1, "this is not the code of version 0.1"
    shutil.rmtree(PLACE, ignore_errors=True)
    for name, text in PAGES.items():
        (PLACE / name).parent.mkdir(parents=True, exist_ok=True)
        (PLACE / name).write_text(text)
        os.utime(PLACE / name, (1.6e9, 1.6e9))
    settings = load(start=str(PLACE), environ={f"WATERSMEET__INDEX__{name}": value for name, value in ENVIRON.items()})
    with Engine(PLACE / "two" / ".watersmeet", settings) as engine:
        engine.sync([PLACE / "two" / "notes"])
        engine.sync([PLACE / "two" / "team"], collection="Team", meta={"owner": "ann"})
        engine.registry.put(*ENTITIES)
        engine.registry.disable("/flags")
        judged = [("rotate keys", {"notes/keys.md": 1.0}), ("quagga", {"team/plan.md": 1.0})]
        engine.calibration.judge(judged)
        said(engine)
    with Engine(PLACE / "one" / ".watersmeet", settings) as engine:
        engine.sync([PLACE / "one"])
        said(engine)
    with tarfile.open(Path(__file__).with_name("format_1.tar.gz"), "w:gz") as archive:
        for name in ("one", "two"):
            archive.add(PLACE / name, name, filter=plain)


def said(engine: Engine) -> None:
    """What the index said then."""
    ids = {one["document"]: [p.id for p in engine.passages(one["document"])] for one in engine.documents()}
    found = {query: [r.id for r in engine.search(query).results] for query in ("heron", "rotate keys", "pelican tern")}
    facts = {"ids": ids, "found": found, "calibration": engine.calibration.state()}
    Path(engine.folder, "said.json").write_text(json.dumps(facts))


def plain(found: tarfile.TarInfo) -> tarfile.TarInfo:
    found.uid = found.gid = 0
    found.uname = found.gname = ""
    return found


if __name__ == "__main__":
    main()
