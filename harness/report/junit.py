"""JUnit XML: a test suite for each scenario or skill, a test case for each answer or block."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from harness.domain.check import BlockResult, CheckFault, CheckReport, PartResult
from harness.domain.stored import StoredAnswer
from harness.report.findings import ReportedFinding, of_format, of_ours, of_part, path_in
from harness.report.reported import WORDS, Report, ReportSide
from harness.report.words import clean


def render_junit(report: Report) -> str:
    """The whole file. Wrong code is a failure, a missing answer an error; an answer that could not be
    judged, or has no code, is skipped.
    """
    suites = [_suite(report, side, name) for side in report.sides for name in side.answers]
    return _written({"name": report.title, **_sums(suites)}, suites)


def _written(about: dict[str, object], suites: Sequence[ET.Element]) -> str:
    whole = ET.Element("testsuites", _text(about))
    whole.extend(suites)
    ET.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(whole, encoding="unicode")}\n'


def render_check_junit(reports: Sequence[CheckReport]) -> str:
    """A suite for each skill: what fails is a failure, a fault of ours an error, and what could not be
    run or told is skipped. What is nothing but comments is no test.
    """
    suites = []
    for report in reports:
        parts = [(block, p) for block in report.blocks for p in block.parts]
        cases = [_block_case(report, b, p) for b, p in parts if p.status != "pseudo-code"]
        cases += [_format_case(report, of_format(report, finding)) for finding in report.format]
        cases += [_case_of_ours(report, fault) for fault in report.faults]
        suite = _suite_of(report.skill, cases, report.seconds)
        suites.append(suite)
        if report.machine_notes:
            notes = "\n".join(f"this machine: {note}" for note in report.machine_notes)
            ET.SubElement(suite, "system-out").text = clean(notes)
    return _written({"name": "harness check"}, suites)


def _block_case(report: CheckReport, block: BlockResult, part: PartResult) -> ET.Element:
    about = {"name": f"{path_in(report, block.file)}:{part.line}", "classname": report.skill}
    case = ET.Element("testcase", _text({**about, "time": f"{part.seconds:.3f}"}))
    found = list(of_part(report, block, part))
    beside = [one.sentence for one in found if one.rule == "seen-beside"]
    for one in found:
        if one.rule != "seen-beside":
            _outcome(case, one)
    if beside:
        ET.SubElement(case, "system-out").text = clean("\n".join(beside))
    return case


def _format_case(report: CheckReport, finding: ReportedFinding) -> ET.Element:
    name = f"{finding.file}:{finding.line} {finding.rule}"
    case = ET.Element("testcase", _text({"name": name, "classname": report.skill, "time": "0"}))
    _outcome(case, finding)
    return case


def _outcome(case: ET.Element, finding: ReportedFinding) -> None:
    kind = "failure" if finding.level == "error" else "skipped"
    ET.SubElement(case, kind, _text({"message": finding.sentence}))


def _case_of_ours(report: CheckReport, fault: CheckFault) -> ET.Element:
    name = fault.place
    case = ET.Element("testcase", _text({"name": name, "classname": report.skill, "time": "0"}))
    ET.SubElement(case, "error", _text({"message": of_ours(fault)}))
    return case


def _suite(report: Report, side: ReportSide, scenario: str) -> ET.Element:
    name = scenario if len(report.sides) == 1 else f"{side.name}.{scenario}"
    cases = [_case(name, number, one) for number, one in side.trials(scenario).items()]
    return _suite_of(name, cases, sum(float(case.get("time", "0")) for case in cases))


def _suite_of(name: str, cases: Sequence[ET.Element], seconds: float) -> ET.Element:
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    counted = {"tests": len(cases)} | {
        many: sum(case.find(one) is not None for case in cases) for many, one in kinds.items()
    }
    about: dict[str, object] = {"name": name, **counted, "time": f"{seconds:.3f}"}
    suite = ET.Element("testsuite", _text(about))
    suite.extend(cases)
    return suite


def _case(suite: str, number: int, stored: StoredAnswer) -> ET.Element:
    answer, outcome = stored.answer, stored.outcome
    seconds = sum(one.grade.seconds for one in answer.alternatives)
    title = f"trial {number}, {answer.file}"
    about = _text({"name": title, "classname": suite, "time": f"{seconds:.3f}"})
    case = ET.Element("testcase", about)
    kind = {"right": None, "wrong": "failure", "unanswered": "error"}.get(outcome, "skipped")
    if kind is not None:
        said = [WORDS[outcome], *answer.failed]
        child = ET.SubElement(case, kind, _text({"message": ", ".join(said)}))
        child.text = clean("\n".join(_why(stored)))
    return case


def _why(stored: StoredAnswer) -> Iterator[str]:
    if stored.answer.error is not None:
        yield stored.answer.error
    yield from stored.answer.reasons


def _sums(suites: list[ET.Element]) -> dict[str, object]:
    counts = ("tests", "failures", "errors", "skipped")
    return {name: sum(int(suite.get(name, "0")) for suite in suites) for name in counts}


def _text(attributes: dict[str, object]) -> dict[str, str]:
    """XML has no way to write most control characters, escaped or not."""
    return {name: clean(str(value)) for name, value in attributes.items()}
