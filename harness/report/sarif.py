"""SARIF 2.1.0 of checks: what code hosts show beside the lines of a change."""

import json
from collections.abc import Sequence

from harness import __version__
from harness.domain.check import CheckReport
from harness.report.findings import RULES, ReportedFinding, all_findings, of_ours
from harness.report.words import clean


def render_sarif(reports: Sequence[CheckReport]) -> str:
    """One run with the results of all skills; faults of ours, and what the machine lacks, notify."""
    found = [finding for report in reports for finding in all_findings(report)]
    rules = [
        {"id": name, "shortDescription": {"text": RULES.get(name, f"Rule {name}.")}}
        for name in dict.fromkeys(finding.rule for finding in found)
    ]
    driver = {"name": "harness check", "version": __version__, "rules": rules}
    told = [_notification("error", of_ours(f)) for report in reports for f in report.faults]
    told += [_notification("note", note) for note in _notes(reports)]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not any(r.faults or r.interrupted for r in reports),
                "toolExecutionNotifications": told,
            }
        ],
        "results": [_result(finding) for finding in found],
    }
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _notes(reports: Sequence[CheckReport]) -> list[str]:
    return list(dict.fromkeys(f"this machine: {n}" for r in reports for n in r.machine_notes))


def _notification(level: str, text: str) -> dict[str, object]:
    return {"level": level, "message": {"text": clean(text)}}


def _result(finding: ReportedFinding) -> dict[str, object]:
    region = {"startLine": finding.line, "endLine": finding.end}
    place = {"artifactLocation": {"uri": clean(finding.file).replace(" ", "%20")}, "region": region}
    return {
        "ruleId": finding.rule,
        "level": finding.level,
        "message": {"text": clean(finding.sentence)},
        "locations": [{"physicalLocation": place}],
    }
