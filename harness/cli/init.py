"""``init``: files to begin with."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.cli.app import app, valued
from harness.domain.errors import UsageError
from harness.report.console import Output


class Beginning(StrEnum):
    """What there is to begin."""

    SKILL = "skill"
    SCENARIO = "scenario"
    BANK = "bank"


@app.command(epilog="Example: harness init scenario stale-gradients --from answer.md")
def init(
    *,
    kind: Annotated[
        Beginning, typer.Argument(metavar="skill|scenario|bank", help="What to begin.")
    ],
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Its name.", show_default="asked for in a terminal"),
    ] = None,
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="The folder to write it into.")
    ] = Path(),
    source: Annotated[
        Path | None,
        valued(
            "--from",
            metavar="ANSWER",
            help="Post the program of this answer, instead of an example.",
        ),
    ] = None,
) -> None:
    """Write the files of a skill, a scenario or a bank, which run as they are."""
    from harness.scenarios.beginnings import begin_bank, begin_scenario, begin_skill

    called = name or _asked(kind)
    if kind is Beginning.SKILL:
        if source is not None:
            raise UsageError("--from: a skill has no posted loop; leave it out")
        written, then = begin_skill(folder, called), f"harness check {folder / called}"
    else:
        posted = _program_of(source) if source is not None else ""
        begin = begin_bank if kind is Beginning.BANK else begin_scenario
        written = begin(folder, called, posted)
        bank = folder / called if kind is Beginning.BANK else folder
        then = f"harness run --bank {bank}"
        if kind is Beginning.SCENARIO:
            then += f" --scenario {called}"
    for path in written:
        Output().text(str(path))
    if source is not None:
        Output().text("scenario.yaml speaks of an example still: say there what your loop fails")
    Output().text(f"now: {then}")


def _asked(kind: Beginning) -> str:
    """The name, from whoever sits at the terminal."""
    if not sys.stdin.isatty():
        raise UsageError(f"init {kind}: expected a name, such as `harness init {kind} my-{kind}`")
    return str(typer.prompt(f"Name of the {kind}"))


def _program_of(source: Path) -> str:
    """The first program of an answer."""
    from harness.domain.candidate import NoCandidate
    from harness.domain.own import OWN_SCENARIO
    from harness.domain.transcript import Unreadable
    from harness.extraction import extract
    from harness.transcripts import read

    for transcript in read(source):
        if isinstance(transcript, Unreadable):
            raise UsageError(
                f"{transcript.file}: {transcript.sentence}; expected {transcript.expected}"
            )
        found = extract(transcript, OWN_SCENARIO)
        if not isinstance(found, NoCandidate):
            return found[0].program.rstrip("\n") + "\n"
    raise UsageError(f"{source}: it shows no program; expected an answer with code in it")
