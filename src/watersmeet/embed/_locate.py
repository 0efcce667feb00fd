"""Location of a model: a local folder, else an installed data package, else the hub."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path

from watersmeet.core.errors import ModelMissing
from watersmeet.core.system import slashed

_WANTED = [
    "*.json",
    "1_Pooling/config.json",
    "model.onnx",
    "model.onnx_data",
    "onnx/model.onnx",
    "onnx/model.onnx_data",
]


def locate(model: str, file: str, download: bool) -> Path:
    """Folder of a model. A bare name is never looked up in the working folder, which may be untrusted."""
    if not model or os.path.isabs(model) or slashed(model).startswith(("/", "./", "../", "~")):
        folder = Path(model).expanduser()
        if model and folder.is_dir():
            return folder
        raise ModelMissing(f"there is no model folder {model!r}", "name a folder with model.onnx and tokenizer.json")
    packaged = _packaged(model)
    if packaged is not None:
        return packaged
    if "/" not in model:
        raise ModelMissing(
            f"the model {model!r} is not installed",
            f"pip install ./models/{model} from a checkout, or name a folder (./{model}) or an owner/model of the hub",
        )
    return _from_hub(model, file, download)


def _packaged(model: str) -> Path | None:
    """Folder of the data package `watersmeet_<model>`, if it is installed."""
    module = "watersmeet_" + re.sub(r"\W", "_", model)
    if module not in sys.modules and importlib.util.find_spec(module) is None:  # looks at every folder of the path
        return None
    return Path(importlib.import_module(module).PATH)


def _from_hub(model: str, file: str, download: bool) -> Path:
    """Folder in the hub's cache, downloaded if needed."""
    wanted = [*_WANTED, file, f"{file}_data"] if file else _WANTED
    found, why = snapshot(model, wanted, local=True, has="*.onnx")
    if found is None and download:
        found, why = snapshot(model, wanted, local=False, has="*.onnx")
    if found is None:
        raise ModelMissing(
            f"the model {model!r} could not be downloaded: {why}",
            "check the name and the network, or download its folder elsewhere and name that",
        )
    return found


def snapshot(model: str, wanted: list[str], local: bool, has: str) -> tuple[Path | None, str]:
    """The folder of a model of the hub with a file like `has`, or the reason why there is none."""
    if importlib.util.find_spec("huggingface_hub") is None:
        raise ModelMissing(
            f"the model {model!r} is not on this machine",
            "download its folder and name that, or pip install huggingface_hub to fetch it by name",
        )
    from huggingface_hub import snapshot_download

    try:
        found = Path(snapshot_download(model, allow_patterns=wanted, local_files_only=local))
    except _fetching_errors() as error:
        return None, str(error).partition("\n")[0]
    return (found, "") if any(found.rglob(has)) else (None, f"it has no file {has}")


def _fetching_errors() -> tuple[type[Exception], ...]:
    """Exceptions of a download, including those of the HTTP library that the hub's client uses."""
    found: list[type[Exception]] = [OSError, ValueError, RuntimeError]
    for library, name in (("httpx", "HTTPError"), ("httpx2", "HTTPError"), ("requests", "RequestException")):
        if importlib.util.find_spec(library) is not None:
            found.append(getattr(importlib.import_module(library), name))
    return tuple(found)
