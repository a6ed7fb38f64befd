"""The table of ``harness run``: what a person reads at a glance."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.run import Run
from harness.domain.wording import plainly
from harness.report.grades import in_words, marked, of_the_reference, unseen_faults
from harness.report.words import and_not_run, sentences_not_run


def render_table(run: Run, *, plain: bool = False) -> RenderableType:
    """One row a scenario; below it one sentence a surprise, and what the machine lacks."""
    parts: list[RenderableType] = [_table(run, plain=plain)] if run.results else []
    said = _sentences(run)
    between = [Text()] if parts and said else []
    return Group(*parts, *between, *said, Text())


def closing_line(run: Run, asked: int) -> Text:
    """``10 of 10 scenarios behave as declared in 6.1 s, 2 not run``.

    ``asked``: how many were to run, those apart whose packages are not here.
    """
    good = sum(result.state == "as declared" for result in run.results)
    noun, verb = ("scenario", "behaves") if asked == 1 else ("scenarios", "behave")
    said = f"{good} of {asked} {noun} {verb} as declared in {run.seconds:.1f} s"
    said += and_not_run(run.not_run)
    return Text(said, "bold green" if good == asked else "bold red")


def _table(run: Run, *, plain: bool) -> Table:
    """At most 80 columns wide for the bank's own ids; narrower terminals fold the cells."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    fails = "posted loop fails" if plain else "posted loop fails (✓ as declared)"
    table.add_column("scenario", overflow="fold", no_wrap=plain)
    table.add_column(fails, overflow="fold", no_wrap=plain)
    table.add_column("fix", overflow="fold", no_wrap=plain)
    table.add_column("time", justify="right", no_wrap=True)
    for result in run.results:
        seconds = result.buggy.seconds + result.reference.seconds
        table.add_row(
            result.scenario,
            in_words(result) if plain else marked(result),
            of_the_reference(result.reference),
            f"{seconds:.2f} s",
        )
    return table


def _sentences(run: Run) -> list[Text]:
    said: list[Text] = []
    for result in run.results:
        said += [Text(surprise, "red") for surprise in result.surprises]
        for verdict in unseen_faults(result):
            why = f"    {verdict.property} is {verdict.outcome}: {plainly(verdict.sentence)}"
            said.append(Text(why, "red"))
    said += [Text(sentence, "yellow") for sentence in sentences_not_run(run.not_run)]
    said += [Text(f"this machine: {note}", "yellow") for note in run.machine_notes]
    return said
