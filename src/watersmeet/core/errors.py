"""
What can go wrong, and what the user can do about it. Every face shows `str(error)` and `hint`.

* WatersmeetError               exit code 2
  + ConfigError                 a setting or a flag is wrong
    x UnknownComponent          no signal, fusion, stage, ... of that name
  + IndexProblem                the index on disk
    x NoIndex                   there is none here
    x IndexBusy                 another process is writing
      - LeaseLost               another process took over; nothing was committed
    x IndexMismatch             it was built with other settings
    x IndexDamaged              a file of it cannot be read
    x DiskFull                  nothing was lost, but nothing more fits
    x VersionConflict           somebody else has changed it meanwhile
  + ModelProblem                an embedder cannot answer
    x ModelMissing              its model is not on this machine
  + NoReply                     another machine gave no answer that can be used
    x AddressRefused            its address is not public, and nobody has allowed it
  + SourceProblem               a path that was named cannot be read
  + NotFound                    no document or chunk of that id (exit code 1)
    x NotRegistered             nothing of that path to change (exit code 2)
    x Ambiguous                 several documents go by that name (exit code 2)
  + Degraded                    `--strict`, and some step could not run
  + Stopped                     nobody waits for the answer any more
"""

from __future__ import annotations

from collections.abc import Iterable


class WatersmeetError(Exception):
    """Something that the user can act on."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class ConfigError(WatersmeetError): ...


class UnknownComponent(ConfigError): ...


class IndexProblem(WatersmeetError): ...


class NoIndex(IndexProblem): ...


class IndexBusy(IndexProblem): ...


class LeaseLost(IndexBusy): ...


class IndexMismatch(IndexProblem): ...


class IndexDamaged(IndexProblem): ...


class DiskFull(IndexProblem): ...


class VersionConflict(IndexProblem): ...


class ModelProblem(WatersmeetError): ...


class ModelMissing(ModelProblem): ...


class NoReply(WatersmeetError): ...


class AddressRefused(NoReply): ...


class SourceProblem(WatersmeetError): ...


class NotFound(WatersmeetError):
    exit_code = 1


class NotRegistered(NotFound):
    exit_code = 2


class Ambiguous(NotFound):
    exit_code = 2


class Degraded(WatersmeetError): ...


class Stopped(WatersmeetError): ...


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint for a misspelt name, or the list of what there is."""
    import difflib  # only ever needed on the way out

    names = sorted(known)
    close = difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"
