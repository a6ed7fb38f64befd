"""Runs and reports as data."""

from harness.domain.reported import AnswerLine, ReportedRun, RunReport
from harness.report.reported import Report, ReportSide


def render_report_json(report: Report) -> str:
    """As ``docs/schema/report.json`` says; transcripts and programs stay in the run."""
    record = RunReport(
        runs=tuple(map(_run, report.sides)), comparison=report.comparison, notes=report.notes
    )
    return record.model_dump_json(indent=2) + "\n"


def _run(side: ReportSide) -> ReportedRun:
    lines = tuple(AnswerLine.of(stored.answer) for stored in side.all)
    return ReportedRun(name=side.name, head=side.head, tally=side.count(), answers=lines)
