"""``check`` and ``quality``: a skill by its own examples, and the judge itself."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import (
    LOCAL,
    BankOption,
    EngineOption,
    JobsOption,
    JsonOption,
    PlainOption,
    ScenariosOption,
    StrictOption,
    SuiteOption,
    TrustOption,
    VerboseOption,
    app,
    cores,
    flag,
    instruments,
    load,
    trusted,
    valued,
    write_file,
)
from harness.cli.configuring import configuration
from harness.domain.check import CheckReport
from harness.domain.errors import UsageError
from harness.domain.quality import QualityReport
from harness.report.console import Output, progress_bar

SkillsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="SKILL_DIR", help="Folders of skills, or Markdown pages.", show_default=False
    ),
]
AgainstOption = Annotated[
    Path | None, valued(metavar="OLD", help="Compare with this older version of the skill.")
]
ClaimsOption = Annotated[
    bool,
    flag("--claims-only", "Only a claim that fails counts, not a fault where nothing is claimed."),
]
ThoroughOption = Annotated[
    bool, flag("--thorough", "Give each block as much time as grade gives a program.")
]
FreshOption = Annotated[bool, flag("--fresh", "Run every block, also what is unchanged.")]
AnnotateOption = Annotated[
    bool, flag("--annotate", "Print annotations for a pull request on GitHub.")
]
JunitOption = Annotated[Path | None, valued(metavar="FILE", help="Write JUnit XML here as well.")]
SarifOption = Annotated[Path | None, valued(metavar="FILE", help="Write SARIF 2.1.0 here as well.")]


@app.command(epilog="Example: harness check skill/gradient-management")
def check(
    context: typer.Context,
    skills: SkillsArgument = None,
    *,
    against: AgainstOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = LOCAL,
    claims_only: ClaimsOption = False,
    strict: StrictOption = False,
    thorough: ThoroughOption = False,
    fresh: FreshOption = False,
    as_json: JsonOption = False,
    annotate: AnnotateOption = False,
    junit: JunitOption = None,
    sarif: SarifOption = None,
    plain: PlainOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Execute every example of a skill and hold it against what it claims. Asks no agent."""
    from harness.checking import check_skill
    from harness.checking.kept import kept_results
    from harness.instruments import opened_once

    chosen = _chosen(skills, compares=against is not None)
    say = _Saying(as_json=as_json, annotate=annotate, plain=plain, verbose=verbose)
    check_one = partial(
        check_skill,
        against=against,
        bank=load(trusted(bank, trust=trust_bank)) if against is not None else None,
        jobs=cores(jobs, context, engine),
        thorough=thorough,
        claims_only=claims_only,
        kept=kept_results(fresh=fresh),
    )
    # opened by the first block that has to be run, and not at all where nothing changed
    opened = context.with_resource(
        opened_once(instruments(context, jobs, ahead=False, engine=engine))
    )
    reports = []
    for skill in chosen:
        with progress_bar(Output(stderr=True)) as watch:
            reports.append(check_one(skill, opened, watch=watch))
        say.one(reports[-1])
        if reports[-1].interrupted:
            break
    say.all(reports, junit, sarif)
    raise typer.Exit(_worst(report.exit_code_when(strict=strict) for report in reports))


def _chosen(skills: list[Path] | None, *, compares: bool) -> list[Path]:
    """The skills that are named, or else configured; each is read before any is run.

    Raises:
        UsageError: there is none, one cannot be read, or several are to be compared with one.
    """
    from harness.checking.folder import load_skill

    configured = configuration().skill
    chosen = skills or ([configured] if configured is not None else [])
    if not chosen:
        raise UsageError("no skill is named; expected SKILL_DIR, or skill in [tool.harness]")
    if compares and len(chosen) > 1:
        raise UsageError("--against compares one skill with an older version: give one skill")
    for skill in chosen:
        load_skill(skill)
    return chosen


@dataclass(frozen=True, slots=True)
class _Saying:
    """In which form results are told."""

    as_json: bool
    annotate: bool
    plain: bool
    verbose: bool

    def __post_init__(self) -> None:
        if self.as_json and self.annotate:
            raise UsageError("--json and --annotate both take standard output: give one")

    def one(self, report: CheckReport) -> None:
        """A skill, as soon as it is finished."""
        from harness.report.check import render_annotations, render_check

        output = Output(plain=self.plain)
        if self.as_json:
            output.text(report.model_dump_json(indent=2))
        elif self.annotate:
            for line in render_annotations(report):
                output.text(line)
        else:
            output.show(render_check(report, verbose=self.verbose))
        if report.interrupted:
            Output(stderr=True).text("harness: interrupted; only what was finished is shown")

    def all(self, reports: list[CheckReport], junit: Path | None, sarif: Path | None) -> None:
        """One table of several, and the files that were asked for."""
        from harness.report.check import render_table
        from harness.report.junit import render_check_junit
        from harness.report.sarif import render_sarif

        if len(reports) > 1 and not (self.as_json or self.annotate):
            Output(plain=self.plain).show(render_table(reports))
        if junit is not None:
            write_file(junit, render_check_junit(reports))
        if sarif is not None:
            write_file(sarif, render_sarif(reports))


def _worst(codes: Iterable[int]) -> int:
    found = {*codes}
    return next((code for code in (130, 3, 1, 4) if code in found), 0)


@app.command(epilog="Example: harness quality --scenario clip-after-step")
def quality(
    context: typer.Context,
    *,
    scenario: ScenariosOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = LOCAL,
    thorough: Annotated[
        bool,
        flag("--thorough", "Try every operator on every alternative, not on a sample."),
    ] = False,
    matrix: Annotated[
        Path | None,
        valued(metavar="FILE", help="Write the kill matrix here."),
    ] = None,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Judge the judge: wrong loops must be called wrong, right ones right, and cheats nothing."""
    trusted(bank, trust=trust_bank)
    from harness.quality.judging import QualityPlan, judge_the_judge
    from harness.quality.mutants import DEPTH
    from harness.scenarios import default_bank

    if matrix is not None and (matrix.is_dir() or not matrix.parent.is_dir()):
        # said before minutes of work
        raise UsageError(f"{matrix}: cannot be written: expected a file in a folder that exists")
    open_instruments = instruments(context, jobs, engine=engine)
    chosen = load(bank, scenario, suite)
    folder, at_once = bank or default_bank(), cores(jobs, context, engine)
    with progress_bar(Output(stderr=True)) as watch:
        plan = QualityPlan(folder, at_once, depth=None if thorough else DEPTH, watch=watch)
        report = judge_the_judge(chosen, plan, open_instruments)
    _print_quality(report, Output(plain=plain), as_json=as_json)
    _write_matrix(matrix, report)  # last: minutes of work are told, wherever it cannot be written
    raise typer.Exit(report.exit_code)


def _print_quality(report: QualityReport, output: Output, *, as_json: bool) -> None:
    from harness.report.quality import quality_line, render_quality

    if as_json:
        output.text(report.model_dump_json(indent=2))
    else:
        output.show(render_quality(report, plain=output.plain))
        output.show(quality_line(report))


def _write_matrix(matrix: Path | None, report: QualityReport) -> None:
    """Not with the part that was finished before Ctrl-C: an older one holds more."""
    from harness.report.quality import render_kill_matrix

    if report.interrupted:
        left = f"; {matrix} stays as it was" if matrix is not None else ""
        Output(stderr=True).text(f"harness: interrupted; only what was finished is shown{left}")
    elif matrix is not None:
        write_file(matrix, render_kill_matrix(report))
