"""Folders of source code: what imports resolve to, what is found, and what is shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet import Engine

pytestmark = pytest.mark.slow  # starts processes

Write = Callable[[dict[str, str]], Path]

PYTHON = {
    "src/tides/__init__.py": "from .gauge import Gauge\n",
    "src/tides/gauge.py": "from . import units\nfrom .ports.coast import Port as P\nimport json\nimport requests\n",
    "src/tides/units.py": "import math, os.path\n\n\ndef metres(x):\n    return x\n",
    "src/tides/json.py": "VALUE = 1\n",
    "src/tides/vendored/requests.py": "VALUE = 1\n",
    "src/tides/ports/__init__.py": "",
    "src/tides/ports/coast.py": "from ..units import (\n    metres,  # a comment\n)\nfrom tides import gauge\n",
    "scripts/run.py": "import shared\nimport tides\nfrom tides.ports.coast import Port\n",
    "scripts/shared.py": "VALUE = 1\n",
    "requests.md": "# Requests\n\nA note.\n",
    "units.md": "# Units\n",
}
SCRIPTS = {
    "src/app.ts": "import { a } from './lib';\nimport type { B } from './model.js';\nimport React from 'react';\n"
    "export * from '../shared/util';\nconst lazy = () => import('./lazy');\nimport './style.css';\n",
    "src/lib/index.ts": "const fs = require('fs');\nconst m = require('../model');\n",
    "src/model.ts": "export interface B { c: number }\n",
    "src/lazy.jsx": "// import x from './model'\nconst text = \"import y from './model'\";\n",
    "shared/util.mjs": "export const x = 1;\n",
    "lib/react.js": "module.exports = {};\n",
    "fs.js": "module.exports = {};\n",
}
GO = {
    "go.mod": "module example.org/tides\n",
    "cmd/tides/main.go": 'package main\n\nimport (\n\t"fmt"\n\t"net/http"\n\n\t"example.org/tides/internal/gauge"\n'
    '\tu "example.org/tides/pkg/units"\n\t"github.com/other/thing/errors"\n)\n\n'
    'func main() { fmt.Println("x/pkg/units") }\n',
    "internal/gauge/gauge.go": 'package gauge\n\nimport "example.org/tides/pkg/units"\n',
    "internal/gauge/a.go": "package gauge\n",
    "internal/gauge/gauge_test.go": "package gauge\n",
    "pkg/units/convert.go": "package units\n",
    "errors/errors.go": "package errors\n",
    "other/http/http.go": "package http\n",
    "net/http/http.go": "package http\n",
}


def neighbours(engine: Engine, document: str) -> dict[str, str]:
    """Related documents: `to` what it imports, `from` what imports it."""
    found = {}
    for result in engine.related(document, top_n=50).results:
        paths = [path for one in result.evidence for path in one.detail["paths"]]
        assert all(path.endswith("(import)") for path in paths)
        found[str(result.document)] = " ".join("to" if path.startswith(f"{document} ->") else "from" for path in paths)
    return found


def test_python(engine: Engine, write: Write) -> None:
    engine.sync([write(PYTHON)])
    assert neighbours(engine, "src/tides/gauge.py") == {
        "src/tides/units.py": "to",
        "src/tides/ports/coast.py": "to from",
        "src/tides/__init__.py": "from",
    }
    assert neighbours(engine, "scripts/run.py") == {
        "scripts/shared.py": "to",
        "src/tides/__init__.py": "to",
        "src/tides/ports/coast.py": "to",
    }
    assert neighbours(engine, "src/tides/units.py").keys() == {"src/tides/gauge.py", "src/tides/ports/coast.py"}
    for nobody in ("src/tides/json.py", "src/tides/vendored/requests.py", "requests.md", "units.md"):
        assert neighbours(engine, nobody) == {}


def test_javascript_and_typescript(engine: Engine, write: Write) -> None:
    engine.sync([write(SCRIPTS)])
    assert neighbours(engine, "src/app.ts") == {
        "src/lib/index.ts": "to",
        "src/model.ts": "to",
        "shared/util.mjs": "to",
        "src/lazy.jsx": "to",
    }
    assert neighbours(engine, "src/model.ts") == {"src/app.ts": "from", "src/lib/index.ts": "from"}
    for nobody in ("lib/react.js", "fs.js"):
        assert neighbours(engine, nobody) == {}


def test_go(engine: Engine, write: Write) -> None:
    engine.sync([write(GO)])
    assert neighbours(engine, "cmd/tides/main.go") == {"internal/gauge/gauge.go": "to", "pkg/units/convert.go": "to"}
    assert neighbours(engine, "pkg/units/convert.go") == {
        "cmd/tides/main.go": "from",
        "internal/gauge/gauge.go": "from",
    }
    for nobody in ("errors/errors.go", "other/http/http.go", "net/http/http.go", "internal/gauge/a.go"):
        assert neighbours(engine, nobody) == {}


def test_of_two_packages_with_one_name_the_one_nearby_is_meant(engine: Engine, write: Write) -> None:
    files = {
        f"{side}/app/{name}.py": "from app.units import x\n" for side in ("one", "two") for name in ("main", "units")
    }
    engine.sync([write(files)])
    assert neighbours(engine, "two/app/main.py") == {"two/app/units.py": "to"}


SOURCE = '''"""Heights of the water."""

import math

LIMIT = 3


class TideGauge:
    """A gauge on a pier."""

    def readWaterLevel(self, hour):
        """Measure the level above the chart datum.

        In metres.
        """
        return math.sin(hour)


    def stop(self):
        """Switch the motor off and release the brake."""
        self.motor.off()


def rotate_keys(user_id):
    """Exchange the credentials of a person."""
    return user_id
'''
GO_SOURCE = "package a\n\n// Dredge removes silt from the harbour.\nfunc Dredge(depth int) error {\n\treturn nil\n}\n"


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("rotate_keys", ("gauge.py", "def rotate_keys(user_id)")),
        ("readWaterLevel", ("gauge.py", "class TideGauge")),
        ("exchange credentials of a person", ("gauge.py", "def rotate_keys(user_id)")),
        ("release the brake", ("gauge.py", "class TideGauge")),
        ("how do I remove silt", ("harbour.go", "func Dredge(depth int) error")),
    ],
)
def test_code_is_found_by_identifier_docstring_and_task(
    engine: Engine, write: Write, query: str, where: tuple[str, str]
) -> None:
    engine.sync([write({"gauge.py": SOURCE, "harbour.go": GO_SOURCE, "notes.md": "# Notes\n\nNothing of it.\n"})])
    first = engine.search(query).results[0]
    assert (first.document, first.headings[-1], first.kind) == (*where, "code")


def test_the_source_is_shown_as_it_is_written(engine: Engine, write: Write) -> None:
    long = (
        SOURCE
        + "\n\n"
        + "".join(f"def part{n}(x):\n    # {'why ' * 60}\n\n    return x + {n}\n\n\n" for n in range(40))
    )
    engine.sync([write({"gauge.py": SOURCE, "long.py": long})])
    assert engine.get("gauge.py")["text"] == SOURCE.strip()
    shown = engine.get("long.py")
    assert len(shown["chunks"]) > 20
    assert shown["text"] == long.strip()
    assert shown["fields"]["language"] == "python"
    assert shown["kind"] == "code"


def test_code_can_be_filtered_by_language(engine: Engine, write: Write) -> None:
    engine.sync([write({"a.py": "def silt():\n    return 1\n", "a.go": GO_SOURCE})])
    found = engine.search("silt", filters={"language": "go"}).results
    assert [one.document for one in found] == ["a.go"]
