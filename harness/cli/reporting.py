"""From stored runs to a report, in whichever form."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from harness.cli.app import load
from harness.cli.stored import opened_run
from harness.domain.comparison import Comparison
from harness.domain.errors import BankError, UsageError, reason
from harness.domain.quality import QualityReport
from harness.domain.scenario import Bank, Scenario
from harness.domain.stored import StoredAnswer
from harness.report.reported import Report, ReportSide
from harness.store import RunFolder
from harness.store.arms import arm_of_answers, numbered
from harness.untrusted import read_bytes

Format = Literal["html", "junit", "markdown", "json", "benchmark"]


MOST_DRAWN = 60
"""Programs of a page that have pictures, where nobody asks for more."""


def written_report(
    runs: Sequence[Path],
    form: Format,
    bank: Path | None = None,
    quality: Path | None = None,
    pictures: int = MOST_DRAWN,
) -> str:
    """The whole text. ``quality``: what ``harness quality --json`` wrote. ``pictures``: for how many
    programs of a page they are drawn.

    Raises:
        UsageError: there is no such run, or something cannot be read.
    """
    with ExitStack() as opened:
        folders = [opened.enter_context(opened_run(run)) for run in runs]
        found = replace(_report(folders, bank), quality=_quality(quality) if quality else None)
        return _rendered(found, form, pictures)


def _quality(path: Path) -> QualityReport:
    try:
        return QualityReport.model_validate_json(read_bytes(path))
    except (OSError, ValidationError) as error:
        expected = "expected what harness quality --json writes"
        raise UsageError(f"{path}: {expected}: {reason(error)}") from error


def _rendered(found: Report, form: Format, pictures: int) -> str:
    if form == "html":
        from harness.report.html import render_page

        return render_page(found, most_pictures=pictures)
    if form == "junit":
        from harness.report.junit import render_junit

        return render_junit(found)
    if form == "markdown":
        from harness.report.markdown import render_markdown

        return render_markdown(found)
    if form == "benchmark":
        from harness.report.skill_creator import render_benchmark

        return render_benchmark(found)
    from harness.report.data import render_report_json

    return render_report_json(found)


def _report(folders: list[RunFolder], bank: Path | None) -> Report:
    scenarios, notes = _known(folders, bank)
    if len(folders) == 1:
        if said := folders[0].head.shards_missing:
            notes += (f"{_names(folders)[0]}: {said}",)
        return Report(_sides(folders[0]), scenarios, notes=notes)
    sides = tuple(
        ReportSide(name, folder.head, numbered(folder), folder.traces)
        for name, folder in zip(_names(folders), folders, strict=True)
    )
    return Report(sides, scenarios, _compared(*sides), notes)


def _names(folders: list[RunFolder]) -> list[str]:
    """Of each its folder's, with as much of the path as tells them apart."""
    paths = [folder.folder.resolve() for folder in folders]
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def _sides(folder: RunFolder) -> tuple[ReportSide, ...]:
    """One; of a bank against itself two, the posted loops and the fixes."""
    answers, (name,) = numbered(folder), _names([folder])
    if folder.head.kind != "bank":
        return (ReportSide(name, folder.head, answers, folder.traces),)
    agents = sorted({one.agent for trials in answers.values() for one in trials.values()})
    return tuple(
        ReportSide(
            agent,
            folder.head,
            {scenario: _of_agent(agent, trials) for scenario, trials in answers.items()},
            folder.traces,
        )
        for agent in agents
    )


def _of_agent(agent: str, trials: Mapping[int, StoredAnswer]) -> dict[int, StoredAnswer]:
    return dict(enumerate((one for one in trials.values() if one.agent == agent), start=1))


def _compared(*sides: ReportSide) -> Comparison:
    """Also of what is hardly comparable: the warnings stand on the page."""
    from harness.comparison import compare

    old, new = (arm_of_answers(side.name, side.head, side.answers) for side in sides)
    return compare(old, new, anyway=True)


def _known(
    folders: list[RunFolder], path: Path | None
) -> tuple[dict[str, Scenario], tuple[str, ...]]:
    """What the bank says about the scenarios, and a note where it is not the bank of the runs."""
    try:
        bank: Bank = load(path)
    except BankError:
        if path is not None:
            raise
        return {}, ("The bank could not be read: questions and limits are not shown.",)
    scenarios = {scenario.id: scenario for scenario in bank.scenarios}
    if all(folder.head.bank_digest == bank.digest for folder in folders):
        return scenarios, ()
    changed = "The bank has changed since: questions and limits are shown as they are now."
    return scenarios, (changed,)
