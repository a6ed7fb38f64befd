"""``check`` and ``quality``: a skill by its own examples, and the judge itself."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import (
    BankOption,
    JobsOption,
    JsonOption,
    PlainOption,
    ScenariosOption,
    SuiteOption,
    VerboseOption,
    app,
    cores,
    instruments,
    load,
    write_file,
)
from harness.cli.configuring import configuration
from harness.domain.errors import UsageError
from harness.domain.quality import QualityReport
from harness.report.console import Output, progress_bar


@app.command(epilog="Example: harness check skill/gradient-management")
def check(
    context: typer.Context,
    skill: Annotated[
        Path | None,
        typer.Argument(
            metavar="SKILL_DIR",
            help="The folder of a skill, or one Markdown page.",
            show_default=False,
        ),
    ] = None,
    *,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="OLD", help="Compare with this older version of the skill.", show_default=False
        ),
    ] = None,
    bank: BankOption = None,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    annotate: Annotated[
        bool,
        typer.Option(
            "--annotate", metavar="", help="Print annotations for a pull request on GitHub."
        ),
    ] = False,
    plain: PlainOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Execute every example of a skill and hold it against what it claims. Asks no agent."""
    from harness.checking import check_skill
    from harness.report.check import render_annotations, render_check, render_check_json

    skill = skill or configuration().skill
    if skill is None:
        raise UsageError("no skill is named; expected SKILL_DIR, or skill in [tool.harness]")
    if as_json and annotate:
        raise UsageError("--json and --annotate both take standard output: give one")
    with progress_bar(Output(stderr=True)) as watch:
        report = check_skill(
            skill,
            instruments(context, jobs),
            against=against,
            bank=load(bank) if against is not None else None,
            jobs=cores(jobs),
            watch=watch,
        )
    output = Output(plain=plain)
    if as_json:
        output.text(render_check_json(report))
    elif annotate:
        for line in render_annotations(report):
            output.text(line)
    else:
        output.show(render_check(report, verbose=verbose))
    if report.interrupted:
        Output(stderr=True).text("harness: interrupted; only what was finished is told")
    raise typer.Exit(report.exit_code)


@app.command(epilog="Example: harness quality --scenario clip-after-step")
def quality(
    context: typer.Context,
    *,
    scenario: ScenariosOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    jobs: JobsOption = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            metavar="",
            help="Try every operator on every alternative, not on a sample.",
        ),
    ] = False,
    matrix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the kill matrix here.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Judge the judge: wrong loops must be called wrong, right ones right, and cheats nothing."""
    from harness.quality.judging import Plan, judge_the_judge
    from harness.quality.mutants import DEPTH
    from harness.report.quality import (
        quality_line,
        render_quality,
        render_quality_json,
    )
    from harness.scenarios import default_bank
    from harness.scenarios.selection import select

    if matrix is not None and (matrix.is_dir() or not matrix.parent.is_dir()):
        # said before minutes of work
        raise UsageError(f"{matrix}: cannot be written: expected a file in a folder that exists")
    open_instruments = instruments(context, jobs)
    chosen = select(load(bank), ",".join(scenario or ["all"]), suite)
    folder = bank if bank is not None else default_bank()
    with progress_bar(Output(stderr=True)) as watch:
        plan = Plan(folder, cores(jobs), depth=None if thorough else DEPTH, watch=watch)
        report = judge_the_judge(chosen, plan, open_instruments)
    output = Output(plain=plain)
    if as_json:
        output.text(render_quality_json(report))
    else:
        output.show(render_quality(report, plain=output.plain))
        output.show(quality_line(report))
    _write_matrix(matrix, report)  # last: minutes of work are told, wherever it cannot be written
    raise typer.Exit(report.exit_code)


def _write_matrix(matrix: Path | None, report: QualityReport) -> None:
    """Not with the part that was finished before Ctrl-C: an older one holds more."""
    from harness.report.quality import render_kill_matrix

    if report.interrupted:
        left = f"; {matrix} stays as it was" if matrix is not None else ""
        Output(stderr=True).text(f"harness: interrupted; only what was finished is told{left}")
    elif matrix is not None:
        write_file(matrix, render_kill_matrix(report))
