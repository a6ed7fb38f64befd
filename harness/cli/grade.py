"""``grade`` and ``regrade``: what agents answered already."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness import __version__
from harness.cli.app import (
    LOCAL,
    AllowOption,
    BankOption,
    EngineOption,
    JobsOption,
    JudgeOption,
    OutOption,
    PlainOption,
    StrictOption,
    SuiteOption,
    TrustOption,
    VerboseOption,
    app,
    cores,
    flag,
    instruments,
    load,
    print_faults,
    trusted,
    valued,
    write_file,
)
from harness.cli.configuring import allowed
from harness.cli.stored import (
    opened_run,
    print_count,
    print_unread,
    print_unstored,
    printing,
    stored,
)
from harness.domain.answer import Batch
from harness.domain.errors import UsageError, reason
from harness.domain.own import OWN_SCENARIO
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer
from harness.report.console import Output, progress_bar
from harness.store import RunFolder
from harness.untrusted import in_time, read_bytes

if TYPE_CHECKING:
    from harness.extraction.assignment import Choice


FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help="Scripts, folders, patterns, answers; - reads standard input."
    ),
]
ScenarioOption = Annotated[
    str | None,
    typer.Option("--scenario", metavar="ID", help="The scenario that all these answers belong to."),
]
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", metavar="FILE", help="A table that names the scenario of each file, YAML or CSV."
    ),
]
AgainstOption = Annotated[
    Path | None,
    typer.Option("--against", metavar="SCRIPT", help="The Python file that the answers change."),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", metavar="FORMAT", help="Read every file as this format; `?` names them all."
    ),
]
ShardOption = Annotated[
    str | None,
    valued(
        "--shard",
        metavar="I/N",
        help="Only the I-th of N parts: for N machines, each with a run of its own.",
    ),
]
ArgumentsOption = Annotated[
    str | None,
    valued(
        "--args",
        metavar="TEXT",
        help='The command line that each script gets, such as "--amp --accum 4".',
    ),
]
DataOption = Annotated[
    list[Path] | None,
    valued(
        "--data",
        metavar="DIR",
        help="A folder that scripts may read, wherever it lies. May be given again.",
    ),
]
LinesOption = Annotated[bool, flag("--json", "Print JSON, one object a line.")]
ShowProgramOption = Annotated[
    bool, flag("--show-program", "Print the program exactly as it was run.")
]


@app.command(epilog="Example: harness grade train.py")
def grade(
    context: typer.Context,
    files: FilesArgument,
    *,
    scenario: ScenarioOption = None,
    map_file: MapOption = None,
    against: AgainstOption = None,
    form: FormatOption = None,
    arguments: ArgumentsOption = None,
    data: DataOption = None,
    shard: ShardOption = None,
    suite: SuiteOption = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    jobs: JobsOption = None,
    engine: EngineOption = LOCAL,
    out: OutOption = None,
    as_json: LinesOption = False,
    plain: PlainOption = False,
    judge: JudgeOption = "none",
    strict: StrictOption = False,
    allow: AllowOption = None,
    verbose: VerboseOption = False,
    show_program: ShowProgramOption = False,
) -> None:
    """Grade programs by their own settings, and answers of agents by the scenario of each."""
    trusted(bank, trust=trust_bank)
    meant, tools = allowed(allow), instruments(context, jobs, engine=engine, data=data)
    from harness.agents.given import called_by, given_answers
    from harness.agents.inputs import shard_of
    from harness.rubric import JudgingOptions, judge_named
    from harness.runner import Settings, grade_answers

    chosen = load(bank, suite=suite)
    choice, part = _choice(chosen, scenario, map_file, files, against), shard_of(shard)
    answers = called_by(given_answers(files, form, chosen, choice, against, part), arguments)
    missing: list[str] = []
    shown = partial(printing, in_vain=out is None)
    with (
        judge_named(judge, JudgingOptions(missing=missing)) as reader,
        stored(out, "grade", chosen, judge=reader.name, shard=str(part) if part else None) as run,
        shown(as_json=as_json, plain=plain, verbose=verbose, show_program=show_program) as keep,
        progress_bar(Output(stderr=True)) as watch,
    ):
        at_once = cores(jobs, context, engine)
        settings = Settings(jobs=at_once, watch=watch, judge=reader, keep=keep, run=run)
        graded = grade_answers(chosen, answers, len(files), settings, tools, allowed=meant)
    batch = replace(graded, unread=tuple(missing))
    _tell_of_the_rest(files if part is None else ())
    raise typer.Exit(_ended(batch, count=not as_json, plain=plain, verbose=verbose, strict=strict))


def _tell_of_the_rest(files: Sequence[str]) -> None:
    from harness.agents.inputs import left_out

    for sentence in filter(None, map(left_out, files)):
        Output(stderr=True).text(sentence)


def _ended(batch: Batch, *, count: bool, plain: bool, verbose: bool, strict: bool) -> int:
    """Say what is left to say, and the exit code."""
    if count:
        print_count(batch, plain=plain)
    print_faults(batch.faults, all_traces=verbose)
    print_unread(batch.unread)
    print_unstored(batch.unstored)
    return batch.exit_code(strict=strict)


@app.command(epilog="Example: harness explain answer.md -o script.py")
def explain(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file with one answer; - reads standard input.")
    ],
    *,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="ID", help="The scenario that it answers.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", metavar="FORMAT", help="Read the file as this format; `?` names them all."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="SCRIPT", help="Write the script here instead of printing it."
        ),
    ] = None,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
) -> None:
    """Write a script of plain torch that reproduces a verdict without the harness."""
    trusted(bank, trust=trust_bank)
    open_instruments = instruments(context)
    from harness.agents.given import given_answers
    from harness.report.script import render_script
    from harness.runner import Settings, grade_answers

    chosen, told = load(bank), list[GradedAnswer]()
    choice = _choice(chosen, scenario).model_copy(update={"options": "--scenario"})
    answers = given_answers([file], form, chosen, choice)
    settings = Settings(jobs=cores(None), keep=told.append)
    batch = grade_answers(chosen, answers, 1, settings, open_instruments)
    print_faults(batch.faults, all_traces=False)
    if batch.interrupted:
        Output(stderr=True).text("harness: interrupted; no script is written")
    if not told or batch.faults or batch.interrupted:
        raise typer.Exit(batch.exit_code())
    answer = told[0].stored.answer
    if answer.error is not None or not answer.alternatives:
        raise UsageError(f"{file}: {answer.error or answer.no_code}")
    found = next(s for s in (*chosen.scenarios, OWN_SCENARIO) if s.id == answer.scenario)
    trace = told[0].traces[answer.alternatives.index(answer.deciding)]
    name = output.name if output is not None else "explained.py"
    _hand_out(render_script(name, answer.deciding, trace, found, settings.seed), output)


def _hand_out(script: str, to: Path | None) -> None:
    if to is None:
        Output(plain=True).text(script.rstrip("\n"))
    else:
        write_file(to, script)


@app.command(epilog="Example: harness regrade runs/monday")
def regrade(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A stored run.")],
    *,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    out: OutOption = None,
    as_json: Annotated[bool, flag("--json", "Print JSON, one object a line.")] = False,
    plain: PlainOption = False,
    judge: JudgeOption = "none",
    strict: StrictOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Judge a stored run anew by its traces. Nothing is executed; torch need not be installed."""
    trusted(bank, trust=trust_bank)
    from harness.domain.answer import Tally
    from harness.regrading import regrade as judge_anew
    from harness.rubric import JudgingOptions, judge_named

    chosen, tally, unstored, missing = load(bank), Tally(), list[str](), list[str]()
    told = printing(as_json=as_json, plain=plain, verbose=verbose, show_program=False)
    with (
        judge_named(judge, JudgingOptions(missing=missing)) as reader,
        opened_run(run) as old,
        _anew(out, old, chosen, reader.name) as new,
        told as keep,
    ):
        for one in judge_anew(chosen, old, reader):
            tally.count(one.stored.answer)
            if new is not None and one.stored.key not in new:
                try:
                    new.add(one)
                except UsageError as full:  # it is told all the same
                    unstored.append(str(full))
            keep(one)
    batch = Batch(
        tally, faults=(), interrupted=False, unstored=tuple(unstored), unread=tuple(missing)
    )
    raise typer.Exit(_ended(batch, count=not as_json, plain=plain, verbose=verbose, strict=strict))


def _anew(
    out: Path | None, old: RunFolder, bank: Bank, judge: str
) -> "AbstractContextManager[RunFolder | None]":
    if out is None:
        return nullcontext()
    update = {"harness_version": __version__, "bank_digest": bank.digest, "judge": judge}
    return RunFolder.create(out, old.head.model_copy(update=update))


def _choice(
    bank: Bank,
    scenario: str | None,
    map_file: Path | None = None,
    files: Sequence[str] = (),
    against: Path | None = None,
) -> "Choice":
    from harness.extraction.assignment import Choice, read_map
    from harness.scenarios.selection import find

    if against is not None and (scenario is not None or map_file is not None):
        raise UsageError("--against judges a file by its own settings: name no scenario beside it")
    if scenario is not None and map_file is not None:
        raise UsageError("--scenario names one for all answers, --map one for each: give one")
    if map_file is None:
        return Choice(scenario=find(bank, scenario).id if scenario is not None else None)
    try:
        text = read_bytes(map_file, 1 << 20).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{map_file}: cannot be read as a map: {reason(error)}") from error
    with in_time(map_file):
        choice = Choice(by_file=read_map(text, str(map_file)))
    from harness.agents.inputs import is_one

    named = ("<stdin>" if file == "-" else file for file in files if is_one(file))
    if all(map(is_one, files)) and not any(map(choice.mapped, named)):
        raise UsageError(
            f"{map_file}: names none of the files that were given; expected FILE and ID"
        )
    return choice
