"""What ``harness compare`` prints: the verdict in a sentence, then what it rests on."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from harness.domain.comparison import (
    Comparison,
    Estimate,
    OutcomeTally,
    PassRates,
    ScenarioLine,
    Side,
)
from harness.domain.plan import Rules
from harness.report.changes import render_changes, render_rationalizations
from harness.report.differing import Programs
from harness.report.power import in_reach
from harness.report.rounds import render_rounds
from harness.report.words import chance, clean, points, signed, some, text

_STYLES = {"better": "bold green", "worse": "bold red", "no difference shown": "bold yellow"}


def render_comparison(
    comparison: Comparison, *, plain: bool = False, programs: Programs | None = None
) -> RenderableType:
    """Verdict, gate, scenarios, changes. ``programs``: how two of a scenario differ is shown."""
    return Group(
        *(text(f"warning: {warning}", "yellow") for warning in comparison.warnings),
        *_verdict(comparison),
        text(f"gate: {comparison.gate.code}, {comparison.gate.why}", "dim"),
        *(render_rounds(comparison.rounds) if comparison.rounds else ()),
        Text(),
        _scenarios(comparison, plain=plain),
        *_notes(comparison),
        *render_changes(comparison, programs or {}, plain=plain),
        *render_rationalizations(comparison),
    )


def _verdict(comparison: Comparison) -> Iterator[Text]:
    found, strict, rules = comparison.estimate, comparison.strict, comparison.rules
    if found is None:
        yield text(f"Nothing to compare: {comparison.gate.why}.", "bold yellow")
        return
    yield text(f"{_claim(comparison, found)} {_proof(found, rules)}.", _STYLES[found.says])
    if comparison.reach and found.says == "no difference shown":
        seen = in_reach(comparison.reach, rules)
        yield Text(f"That does not mean there is none: a comparison like this shows {seen}.")
    if strict and strict.says != found.says:
        yield Text(
            "With inconclusive answers counted as not right:"
            f" {strict.says}, {signed(strict.effect)} points {_proof(strict, rules)}.",
            "yellow",
        )


def _claim(comparison: Comparison, found: Estimate) -> str:
    old, new = comparison.old.name, comparison.new.name
    if found.says == "no difference shown":
        return f"No difference shown between {old} and {new}: {signed(found.effect)} points"
    more = "more" if found.effect > 0 else "fewer"
    return f"{new} is {found.says} than {old}: {points(abs(found.effect))} {more} right answers"


def _proof(found: Estimate, rules: Rules) -> str:
    return (
        f"({1 - rules.alpha:.0%} interval {signed(found.low)} to {signed(found.high)},"
        f" {found.method}, p = {chance(found.p)}, {some(found.scenarios, 'scenario')})"
    )


def _scenarios(comparison: Comparison, *, plain: bool) -> Table:
    """Columns of p values only where a scenario has trials enough for one."""
    tested = any(line.adjusted is not None for line in comparison.scenarios)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("scenario", clean(comparison.old.name), clean(comparison.new.name)):
        table.add_column(Text(column), overflow="fold", no_wrap=plain)
    table.add_column("change", justify="right", no_wrap=True)
    if tested:
        table.add_column("p (Holm)", justify="right", no_wrap=True)
    for line in comparison.scenarios:
        cells: list[RenderableType] = [
            text(line.scenario),
            _counted(line.old),
            _counted(line.new),
            _difference(line),
        ]
        if tested:
            cells.append("" if line.adjusted is None else chance(line.adjusted))
        table.add_row(*cells)
    return table


def _difference(line: ScenarioLine) -> Text:
    old, new = line.old.rate, line.new.rate
    if old is None or new is None:
        return Text("not compared", "yellow")
    if old == new:
        return Text("=", "dim")
    return Text(signed(new - old), "green" if new > old else "red")


def _counted(tally: OutcomeTally) -> str:
    """``2 of 3 right``, and what could not be judged."""
    rest = [
        f"{count} {what}"
        for count, what in (
            (tally.inconclusive, "inconclusive"),
            (tally.none, "no code"),
            (tally.unanswered, "unanswered"),
        )
        if count
    ]
    return ", ".join([f"{tally.right} of {tally.judged} right", *rest])


def _notes(comparison: Comparison) -> Iterator[Text]:
    for line in comparison.scenarios:
        if line.dropped:
            yield text(f"{line.scenario} is not compared: {line.dropped}", "yellow")
    for side in (comparison.old, comparison.new):
        yield from _read(side)
    yield from (_reliability(passing) for passing in comparison.passing[1:][-1:])
    for prop in comparison.properties:
        if prop.old != prop.new and prop.adjusted is not None:
            yield text(
                f"{prop.property}: passes {prop.old:.0%} -> {prop.new:.0%} of the time"
                f" ({some(prop.scenarios, 'scenario')}, p = {chance(prop.adjusted)} after Holm)"
            )


def _read(side: Side) -> Iterator[Text]:
    counts = side.skill_triggered
    known = sum(counts.values()) - counts.get("unknown", 0)
    if known:
        said = f"in {counts.get('yes', 0)} of {known} answers of which it is known"
        late = f", {counts['late']} more for the runnable form" if "late" in counts else ""
        yield text(f"{side.name}: the skill was read before the answer {said}{late}")
    elif counts:
        yield text(f"{side.name}: no log tells whether the skill was read", "dim")


def _reliability(passing: PassRates) -> Text:
    k = passing.k
    return Text(
        f"of {k} trials all right (pass^{k}): {passing.old_all:.0%} -> {passing.new_all:.0%};"
        f" at least one (pass@{k}): {passing.old_any:.0%} -> {passing.new_any:.0%}"
        f" ({some(passing.scenarios, 'scenario')})"
    )
