"""``calibrate``: a judge of the text beside answers that people have labelled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import (
    BankOption,
    JobsOption,
    JsonOption,
    JudgeOption,
    PlainOption,
    TrustOption,
    app,
    cores,
    flag,
    instruments,
    load,
    trusted,
)
from harness.domain.answer import AnswerGrade
from harness.domain.instruments import OpenInstruments
from harness.domain.scenario import Bank
from harness.domain.stored import GradedAnswer
from harness.report.console import Output, progress_bar


@app.command(epilog="Example: harness calibrate labels.yaml")
def calibrate(
    context: typer.Context,
    labels: Annotated[
        Path, typer.Argument(metavar="LABELS", help="labels.yaml, or the folder that holds it.")
    ],
    *,
    judge: JudgeOption = "none",
    execute: Annotated[
        bool,
        flag("--execute", "Run the answers as well, and say where words and code differ."),
    ] = False,
    bank: BankOption = None,
    trust_bank: TrustOption = False,
    jobs: JobsOption = None,
    as_json: JsonOption = False,
    plain: PlainOption = False,
) -> None:
    """Measure a judge of the text on labelled answers: agreement and Cohen's kappa by criterion."""
    trusted(bank, trust=trust_bank)
    from harness.report.calibration import render_calibration
    from harness.rubric import calibrate as measure
    from harness.rubric import judge_named

    chosen = load(bank)
    open_ = instruments(context, jobs, ahead=False)
    graded = _executed(labels, chosen, cores(jobs), open_) if execute else None
    with judge_named(judge) as reader:
        measured = measure(reader, labels, chosen, graded)
    output = Output(plain=plain)
    if as_json:
        output.text(measured.model_dump_json(indent=2))
    else:
        output.show(render_calibration(measured, plain=output.plain))


def _executed(
    labels: Path, bank: Bank, jobs: int, open_: OpenInstruments
) -> Mapping[str, AnswerGrade]:
    """What execution says about each labelled answer, by its file."""
    from harness.agents.given import given_answers
    from harness.extraction.assignment import Choice
    from harness.rubric.labels import read_labels
    from harness.runner import Settings, grade_answers

    path = labels / "labels.yaml" if labels.is_dir() else labels
    labelled = read_labels(path, bank)
    files = {str(path.parent / one.file): one for one in labelled}
    choice = Choice(by_file={file: one.scenario.id for file, one in files.items()})
    found: dict[str, AnswerGrade] = {}

    def note(told: GradedAnswer) -> None:
        answer = told.stored.answer
        if answer.file in files:
            found[files[answer.file].file] = answer

    with progress_bar(Output(stderr=True)) as watch:
        settings = Settings(jobs=jobs, watch=watch, keep=note)
        answers = given_answers(list(files), None, bank, choice)
        grade_answers(bank, answers, len(files), settings, open_)
    return found
