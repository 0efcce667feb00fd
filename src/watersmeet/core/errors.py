"""
Exception classes: what went wrong, and what the user can do. Every face shows `str(error)` and `hint`.

* WatersmeetError               exit code 2
  + ConfigError                 a setting or a flag is wrong
    x UnknownComponent          no signal, fusion, stage, ... of that name
  + IndexProblem                the index cannot be used as it is
    x NoIndex                   no index exists there
    x IndexBusy                 another process is writing
      - LeaseLost               another process took over; nothing was committed
    x IndexMismatch             it was built with other settings
    x IndexDamaged              one of its files cannot be read
    x DiskFull                  nothing was lost, but nothing more fits
    x VersionConflict           it was changed since it was read
  + ModelProblem                an embedder failed
    x ModelMissing              its model is not on this machine
    x CostRefused               what it costs was not confirmed
  + NoReply                     an HTTP request got no usable answer
    x Unreachable               there is no connection to its machine
    x AddressRefused            its address is not public, and not allowed in the settings
    x NotAllowed                the server asks for a token, or for one that may do more
  + DatabaseProblem             a shared database refuses or does not answer
    x DatabaseDown              it does not answer
  + SourceProblem               a path that was named cannot be read
    x ReaderFailed              the process that reads a file ended before it was done
  + NotFound                    no document or chunk of that id (exit code 1)
    x NotRegistered             nothing of that path to change (exit code 2)
    x Ambiguous                 several documents go by that name (exit code 2)
  + Degraded                    `--strict` was set and a step could not run
  + Stopped                     the client has gone, so the work was cancelled
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class WatersmeetError(Exception):
    """Base class of errors that the user can act on."""

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


class CostRefused(ModelProblem):
    """`report`: that of the work so far, with the cost that was not confirmed."""

    report: Any = None


class NoReply(WatersmeetError): ...


class Unreachable(NoReply): ...


class AddressRefused(NoReply): ...


class NotAllowed(NoReply): ...


class DatabaseProblem(WatersmeetError): ...


class DatabaseDown(DatabaseProblem): ...


class SourceProblem(WatersmeetError): ...


class ReaderFailed(SourceProblem):
    """`lasting`: the same content would fail again; else the machine may be the reason."""

    def __init__(self, message: str, lasting: bool) -> None:
        super().__init__(message, "open the file in its own program" if lasting else "try again")
        self.lasting = lasting


class NotFound(WatersmeetError):
    exit_code = 1


class NotRegistered(NotFound):
    exit_code = 2


class Ambiguous(NotFound):
    exit_code = 2


class Degraded(WatersmeetError): ...


class Stopped(WatersmeetError): ...


def nearest(name: str, valid_names: Iterable[str]) -> str:
    """Hint for a misspelt name: the closest valid name, or the list of all."""
    import difflib  # only needed for errors

    ordered = sorted(valid_names)
    close = difflib.get_close_matches(name, ordered, 1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(ordered)}"
