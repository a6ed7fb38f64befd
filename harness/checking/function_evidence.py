"""What anything that is no loop has shown, from what its driver reports. Pure."""

from collections.abc import Iterable

from harness.checking import facts
from harness.checking.evidence import Evidence, Finding
from harness.checking.gradient_evidence import gradient_functions, inspection
from harness.checking.piece_evidence import initialisation, loss, module, scheduler
from harness.domain.check import Observation


def evidence_of(report: facts.DriverReport) -> Evidence:
    """Evidence from any driver's report."""
    found = list(_each(report))
    if not found:
        reason = report.facts.raised or "it defines nothing that could be called"
        return Evidence(not_run=reason)
    return together(found, report.facts.raised)


def _each(report: facts.DriverReport) -> Iterable[Evidence]:
    """The evidence on each function, class or schedule of a report."""
    match report:
        case facts.GradientFunctionReport():
            return (together(of_one, None) for of_one in gradient_functions(report.facts.measured))
        case facts.InspectionReport():
            return map(inspection, report.facts.measured)
        case _:
            return _of_a_piece(report)


def _of_a_piece(
    report: facts.LossReport
    | facts.ModuleReport
    | facts.InitialisationReport
    | facts.SchedulerReport,
) -> Iterable[Evidence]:
    match report:
        case facts.LossReport():
            return map(loss, report.facts.measured)
        case facts.ModuleReport():
            return map(module, report.facts.measured)
        case facts.InitialisationReport():
            return map(initialisation, report.facts.measured)
        case facts.SchedulerReport():
            return map(scheduler, report.facts.measured)


def together(found: list[Evidence], raised: str | None) -> Evidence:
    """All evidence as one, each finding once; ``raised``: what kept the rest from running, told as a
    remark.
    """
    reasons = [e.not_run for e in found if e.not_run]
    if len(reasons) == len(found):
        return Evidence(not_run=reasons[0])
    remarks = [Observation(sentence=f"Not all of it was run: {r}") for r in [*reasons, raised] if r]
    return Evidence(
        faults=_once(f for e in found for f in e.faults),
        costs=_once(f for e in found for f in e.costs),
        merits=_once(f for e in found for f in e.merits),
        remarks=(*(r for e in found for r in e.remarks), *remarks),
        until=next((e.until for e in found if e.until), None),
    )


def _once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple({finding.sentence: finding for finding in findings}.values())
