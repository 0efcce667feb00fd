"""The question whether a model on another machine may embed, if that costs more than the limit."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click

from watersmeet.core.errors import CostRefused
from watersmeet.core.indexing import Skipped
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import COST, ProgressCallback, SyncReport
from watersmeet.face.cli.progress import progress

YES = click.option(
    "--yes", "-y", is_flag=True, help="Embed even if that costs more than index.confirm_above; do not ask."
)
Work = Callable[[ProgressCallback], SyncReport]


def confirmed(engine: Engine, work: Work, silent: bool) -> tuple[SyncReport, CostRefused | None]:
    """Do the work; if its cost needs confirmation, ask on a terminal, and embed if the user says so.

    Returns the refusal too if nobody could be asked: the work is done but for the vectors."""
    try:
        with progress(silent) as callback:
            return work(callback), None
    except CostRefused as refused:
        report: SyncReport = refused.report
        if silent or not (sys.stdin.isatty() and sys.stdout.isatty()):
            report.warnings = _others(report)  # the error says it
            return report, refused
    if click.confirm("Embed them?"):
        with progress(silent) as callback:
            made = engine.deepen(lambda step: None if step.cost else callback(step), confirm=True)
        report.embedded += made.embedded
        report.cached += made.cached
        report.took_ms += made.took_ms
        report.warnings = _others(report) + made.warnings
    return report, None


def _others(report: SyncReport) -> list[Skipped]:
    return [one for one in report.warnings if one.path != COST]
