"""What changed between two runs: old against new, two programs side by side, new excuses."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from harness.domain.comparison import Change, Comparison, ExamplePair
from harness.domain.verdict import Verdict
from harness.domain.wording import placed, plainly
from harness.report.differing import Programs, both, in_one_column, side_by_side
from harness.report.words import clean, text


def render_changes(
    comparison: Comparison, programs: Programs, *, plain: bool = False
) -> Iterator[RenderableType]:
    """Scenario by scenario; how two programs differ once a scenario, where they are given."""
    if comparison.changes:
        yield from (Text(), Text("What changed", "bold underline"))
    for change in comparison.changes:
        yield _change(change)
        if change.example:
            yield from _verdicts(change.example)
            if change.kind == "code":
                yield from _side_by_side(change.scenario, change.example, programs, plain=plain)


def render_rationalizations(comparison: Comparison) -> Iterator[RenderableType]:
    """Excuses that no answer of the old arm gave."""
    if comparison.rationalizations:
        yield from (Text(), Text("New rationalizations", "bold underline"))
    for one in comparison.rationalizations:
        noun = "trial" if len(one.trials) == 1 else "trials"
        trials = ", ".join(str(trial) for trial in one.trials)
        yield text(f'{one.scenario}, {noun} {trials}: "{one.text}"')


def _change(change: Change) -> Text:
    old = f"{len(change.old_good)} of {len(change.old_good) + len(change.old_bad)}"
    new = f"{len(change.new_good)} of {len(change.new_good) + len(change.new_bad)}"
    what = "right code" if change.kind == "code" else f"{change.kind} {change.name}"
    return Text.assemble((clean(change.scenario), "bold"), clean(f"  {what}: {old} -> {new}"))


def _verdicts(example: ExamplePair) -> Iterator[RenderableType]:
    for arm, trial, verdict in (
        ("old", example.old_trial, example.old_verdict),
        ("new", example.new_trial, example.new_verdict),
    ):
        if verdict is not None:
            yield Padding.indent(text(f"{arm}, trial {trial}: {_said(verdict)}", "dim"), 4)


def _said(verdict: Verdict) -> str:
    numbers = ", ".join(
        f"{n.name}{f' ({placed(n.where)})' if n.where else ''} = {n.value:.6g}"
        for n in verdict.numbers
    )
    return f"{verdict.outcome}: {plainly(verdict.sentence)}{f' [{numbers}]' if numbers else ''}"


def _side_by_side(
    scenario: str, example: ExamplePair, programs: Programs, *, plain: bool
) -> Iterator[RenderableType]:
    """One under the other where nothing limits the width of a line."""
    pair = both(programs, scenario, example)
    if pair is None:
        return
    titles = (f"old, trial {example.old_trial}", f"new, trial {example.new_trial}")
    if plain:
        lines = Group(*map(text, in_one_column(*pair)))
        said = Text(f"the program of {titles[0]}, against that of {titles[1]}:")
        yield Padding.indent(Group(said, Padding.indent(lines, 4)), 4)
        return
    table = Table(*(Column(title, overflow="fold", ratio=1) for title in titles), expand=True)
    for row in side_by_side(*pair):
        if row.kind == "left out":
            table.add_row(text(row.old or "", "dim"), text("", "dim"))
        elif row.kind == "same":
            table.add_row(text(f" {row.old}"), text(f" {row.new}"))
        else:
            table.add_row(_marked("-", row.old, "red"), _marked("+", row.new, "green"))
    yield table


def _marked(sign: str, line: str | None, style: str) -> Text:
    return Text("") if line is None else text(f"{sign}{line}", style)
