"""What changed between two runs: old against new, two answers side by side, new excuses."""

from collections.abc import Iterator, Mapping
from typing import Literal

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from harness.domain.comparison import Change, Comparison, ExamplePair
from harness.domain.verdict import Verdict
from harness.report.words import clean, text

Answers = Mapping[tuple[Literal["old", "new"], str, int], str]
"""Texts of answers, by arm, scenario and number of the trial."""


def render_changes(
    comparison: Comparison, answers: Answers, *, plain: bool = False
) -> Iterator[RenderableType]:
    """Scenario by scenario; the two answers once a scenario, where their texts are given."""
    if comparison.changes:
        yield from (Text(), Text("What changed", "bold underline"))
    for change in comparison.changes:
        yield _change(change)
        if change.example:
            yield from _verdicts(change.example)
            if change.kind == "code":
                yield from _side_by_side(change.scenario, change.example, answers, plain=plain)


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
        f"{n.name}{f' ({n.where})' if n.where else ''} = {n.value:.6g}" for n in verdict.numbers
    )
    return f"{verdict.outcome}: {verdict.sentence}{f' [{numbers}]' if numbers else ''}"


def _side_by_side(
    scenario: str, example: ExamplePair, answers: Answers, *, plain: bool
) -> Iterator[RenderableType]:
    """One under the other where nothing limits the width of a line."""
    old = answers.get(("old", scenario, example.old_trial))
    new = answers.get(("new", scenario, example.new_trial))
    if old is None or new is None:
        return
    titles = (f"old, trial {example.old_trial}", f"new, trial {example.new_trial}")
    if plain:
        for title, answer in zip(titles, (old, new), strict=True):
            yield Padding.indent(Group(Text(f"{title}:"), Padding.indent(text(answer), 4)), 4)
        return
    table = Table(*(Column(title, overflow="fold") for title in titles), expand=True)
    table.add_row(text(old), text(new))
    yield table
