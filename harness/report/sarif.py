"""SARIF 2.1.0 of checks: what code hosts show beside the lines of a change."""

import json
from collections.abc import Iterator, Sequence

from harness import __version__
from harness.domain.check import BlockResult, CheckReport, FormatFinding, PartResult
from harness.report.check import path_in, said_of
from harness.report.words import clean

_LEVELS = {"error": "error", "warning": "warning", "advice": "note"}
_RULES = {
    "fails": ("claim-fails", "The opposite of what its author says was seen.", "error"),
    "fault": ("fault-found", "Code that claims nothing has a fault.", "error"),
    "cannot-be-run": ("cannot-be-run", "It could not be run.", "note"),
    "could-not-tell": ("could-not-tell", "Nothing shows its claim, or refutes it.", "note"),
}


def render_sarif(reports: Sequence[CheckReport]) -> str:
    """One run with the results of all skills."""
    results = [result for report in reports for result in _results(report)]
    texts = {rule: text for rule, text, _ in _RULES.values()}
    ids = list(dict.fromkeys(str(result["ruleId"]) for result in results))
    rules = [
        {"id": name, "shortDescription": {"text": texts.get(name, f"Rule {name}.")}} for name in ids
    ]
    driver = {"name": "harness check", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def _results(report: CheckReport) -> Iterator[dict[str, object]]:
    for finding in report.format:
        yield _of_format(report, finding)
    for block in report.blocks:
        for part in block.parts:
            if part.status in _RULES:
                yield _of_part(report, block, part)


def _of_format(report: CheckReport, finding: FormatFinding) -> dict[str, object]:
    return _result(
        f"format-{finding.rule}",
        _LEVELS[finding.level],
        finding.sentence,
        path_in(report, finding.file),
        (finding.line, finding.line),
    )


def _of_part(report: CheckReport, block: BlockResult, part: PartResult) -> dict[str, object]:
    rule, _, level = _RULES[part.status]
    lines = (part.line, max(part.line, block.end))
    return _result(rule, level, said_of(part), path_in(report, block.file), lines)


def _result(
    rule: str, level: str, text: str, file: str, lines: tuple[int, int]
) -> dict[str, object]:
    region = {"startLine": lines[0], "endLine": lines[1]}
    place = {"artifactLocation": {"uri": clean(file).replace(" ", "%20")}, "region": region}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": clean(text)},
        "locations": [{"physicalLocation": place}],
    }
