"""What ``harness check`` prints: lines for people, the record for programs, annotations for GitHub."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.check import (
    BlockResult,
    CheckReport,
    FormatFinding,
    Observation,
    PartResult,
    SkillChange,
    Status,
)
from harness.report.findings import WORDS, all_findings, of_format, of_ours, path_in, said_of
from harness.report.words import clean, indented, text

_STYLES: dict[Status, str] = {
    "holds": "green", "fails": "bold red", "fault": "bold red", "runs": "", "inconclusive": "yellow",
    "cannot-be-run": "yellow", "pseudo-code": "dim",
}  # fmt: skip
MOST = 8
"""Changes since the last run that are told one by one."""
_LEVELS = {"error": "bold red", "warning": "yellow", "advice": ""}


def render_check(report: CheckReport, *, verbose: bool = False) -> RenderableType:
    """What is wrong first, by its kind, then counts, then a line for the rest; ``verbose``: every block
    with all that was seen.
    """
    parts: list[RenderableType] = []
    for status in _STYLES:
        for block in report.blocks:
            shown = [p for p in block.parts if p.status == status and (verbose or _is_wrong(p))]
            parts += _block(block, shown, path_in(report, block.file), verbose=verbose)
    parts += [_format_line(report, finding) for finding in report.format]
    parts += _comparison(report)
    parts += [text(of_ours(fault), "red") for fault in report.faults]
    parts += [Text(f"this machine: {note}", "yellow") for note in report.machine_notes]
    parts += [_since_last(report)] if report.since_last else []
    parts.append(_closing(report))
    parts += [] if verbose else [text(line, "dim") for line in _rest(report)]
    return Group(*parts)


def render_table(reports: Sequence[CheckReport]) -> RenderableType:
    """Many skills, one line each."""
    table = Table(box=None)
    for name in ("skill", *WORDS.values(), "format errors", "seconds"):
        table.add_column(name, justify="left" if name == "skill" else "right")
    for one in reports:
        counts = (str(one.count(status) or "") for status in _STYLES)
        errors = str(sum(f.level == "error" for f in one.format) or "")
        table.add_row(clean(one.skill), *counts, errors, f"{one.seconds:.0f}")
    return table


def _rest(report: CheckReport) -> Iterator[str]:
    """One line for what is not shown: what could not be run, and why, and what was inconclusive."""
    parts = [part for block in report.blocks for part in block.parts]
    idle = [part for part in parts if part.status == "cannot-be-run"]
    needs = Counter(name for part in idle for name in part.needs)
    packages = ", ".join(f"{name} ({count})" for name, count in sorted(needs.items()))
    open_ = sum(part.status == "inconclusive" for part in parts)
    marked = sum(part.mark is not None for part in idle) + open_
    found = (
        (
            sum(part.trains and not part.needs for part in idle),
            "with training code could not be run",
        ),
        (
            sum(not part.trains and not part.needs for part in idle),
            "with other code could not be run",
        ),
        (sum(bool(part.needs) for part in idle), f"need what is not installed: {packages}"),
        (open_, "inconclusive"),
    )
    told = ", ".join(f"{count} {words}" for count, words in found if count)
    if told:
        claims = f"; {marked} of these carry a claim" if marked else ""
        yield f"not shown: {told}{claims} (--verbose)"


def _since_last(report: CheckReport) -> RenderableType:
    """What came out otherwise than the last time."""
    changes = report.since_last or ()
    told = ", ".join(
        f"{path_in(report, change.place)} {WORDS[change.after]}"
        + (f" (was: {WORDS[change.before]})" if change.before else " (new)")
        for change in changes[:MOST]
    )
    more = f" and {len(changes) - MOST} more" if len(changes) > MOST else ""
    return text(f"since the last run: {told}{more}", "bold")


def render_annotations(report: CheckReport) -> Iterator[str]:
    """One workflow command of GitHub a line; a file is named as the skill's folder was given."""
    for finding in all_findings(report):
        where = {"file": finding.file, "line": str(finding.line), "endLine": str(finding.end)}
        level = "notice" if finding.level == "note" else finding.level
        yield _command(level, {**where, "title": finding.title}, finding.sentence)
    for fault in report.faults:
        yield _command("error", {"title": "harness check"}, of_ours(fault))
    for note in report.machine_notes:
        yield _command("notice", {"title": "harness check"}, f"this machine: {note}")


def _command(level: str, properties: dict[str, str], message: str) -> str:
    given = ",".join(f"{k}={_escaped(v, ':,')}" for k, v in properties.items())
    return clean(f"::{level} {given}::{_escaped(message)}")


def _escaped(text: str, also: str = "") -> str:
    """As actions/toolkit does: a message or a file name can end neither its line nor its property."""
    for sign in "%\r\n" + also:
        text = text.replace(sign, f"%{ord(sign):02X}")
    return text


def _is_wrong(part: PartResult) -> bool:
    told = any(seen.fault or seen.holds is False for seen in part.observations)
    return told or part.status in ("fails", "fault")


def _format_line(report: CheckReport, finding: FormatFinding) -> Text:
    told = of_format(report, finding)
    return Text.assemble(
        (clean(f"{told.file}:{told.line}"), "bold"),
        "  ",
        (finding.level, _LEVELS[finding.level]),
        clean(f"  {finding.rule}: {told.sentence}"),
    )


def _block(
    block: BlockResult, parts: Sequence[PartResult], file: str, *, verbose: bool
) -> Iterator[RenderableType]:
    for part in parts:
        yield Text.assemble(
            (clean(f"{file}:{part.line}"), "bold"),
            "  ",
            (WORDS[part.status], _STYLES[part.status]),
            clean(f"  {part.kind}  {' > '.join(block.headings[-1:])}"),
        )
        yield indented(said_of(part))
        for seen in part.observations:
            if verbose or seen.fault or seen.holds is False:
                yield from _observation(seen, part)
        if verbose and part.taken:
            yield indented(f"with {part.taken} lines from elsewhere on the page", "dim")


def _observation(seen: Observation, part: PartResult) -> Iterator[RenderableType]:
    """Without the sentence where the part's own has it already."""
    said = f'it says: "{seen.statement}"' if seen.statement else ""
    if seen.sentence not in part.sentence:
        yield indented(f"seen: {seen.sentence}{f' ({said})' if said else ''}", "dim")
    elif said:
        yield indented(said, "dim")


def _comparison(report: CheckReport) -> Iterator[RenderableType]:
    if report.comparison is None:
        return
    yield text(f"against {report.comparison.old}", "bold")
    if not report.comparison.changes:
        yield indented("nothing differs")
    for change in report.comparison.changes:
        place = f"{path_in(report, change.file)}:{change.line}"
        yield indented(f"{place}  {change.what} {change.how}: {change.name}{_turned(change)}")
    for section, scenarios in report.comparison.by_section.items():
        yield indented(f"scenarios that exercise {section}: {', '.join(scenarios)}")


def _turned(change: SkillChange) -> str:
    if change.what in ("status", "claim"):
        return f": {change.before} -> {change.after}"
    if (change.what, change.how) == ("fault", "added"):
        return ": it claims nothing, so the exit code does not count it"
    return ""


def _closing(report: CheckReport) -> Text:
    counts = [(status, report.count(status)) for status in _STYLES]
    said = ", ".join(f"{number} {WORDS[status]}" for status, number in counts if number)
    good = report.exit_code == 0
    noun = "block" if len(report.blocks) == 1 else "blocks"
    none = "no block was finished" if report.interrupted else "no Python block"
    blocks = f"{len(report.blocks)} {noun}: {said}" if report.blocks else none
    errors = sum(finding.level == "error" for finding in report.format)
    looked_at = "links" if report.is_page else "format"
    broken = f"; {looked_at}: " + (f"{errors} error{'s' * (errors != 1)}" if errors else "in order")
    known = len(report.blocks) - report.ran
    kept = f" ({known} unchanged since they were run)" if known > 0 else ""
    return Text(
        f"{blocks}{broken}, in {report.seconds:.1f} s{kept}", "bold green" if good else "bold red"
    )
