"""The few words that stand for a grade in a table."""

from rich.text import Text

from harness.domain.grade import Grade
from harness.domain.run import ScenarioResult
from harness.domain.verdict import Verdict

STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
"""Colours of outcomes."""


def marked(result: ScenarioResult) -> Text:
    """A line for each property that the faulty loop fails or should: as declared, or not."""
    failed, declared = result.buggy.failed, result.declared
    lines = [
        Text(f"✓ {name}", "green") if name in declared else Text(f"✗ {name} not declared", "red")
        for name in failed
    ]
    lines += [Text(f"? {name} not seen", "red") for name in declared if name not in failed]
    return Text("\n").join(lines)


def in_words(result: ScenarioResult) -> str:
    """The same in one line: what it failed, and whether that is what the scenario declares."""
    failed = result.buggy.failed
    said = ", ".join(failed) or _nothing_failed(result.buggy)
    as_declared = "as declared" if set(failed) == set(result.declared) else "not as declared"
    return f"{said}  {as_declared}"


def of_the_reference(grade: Grade) -> Text:
    """``right``, or what is the matter."""
    if grade.code == "right":
        return Text("right", "green")
    if grade.code == "wrong":
        return Text(f"wrong: {', '.join(grade.failed)}", "red")
    return Text(_nothing_failed(grade), "yellow")


def unseen_faults(result: ScenarioResult) -> tuple[Verdict, ...]:
    """What was said of the properties that the faulty loop should have failed and did not."""
    missed = set(result.declared) - set(result.buggy.failed)
    return tuple(v for v in result.buggy.verdicts if v.property in missed)


def _nothing_failed(grade: Grade) -> str:
    if grade.code == "none":
        return "no code"
    inconclusive = [
        v.property
        for v in grade.verdicts
        if v.outcome == "inconclusive" and v.property not in (*grade.advisory, *grade.guards)
    ]
    return f"inconclusive: {_some(inconclusive)}" if inconclusive else "nothing"


def _some(names: list[str]) -> str:
    """A few names, and how many more: one cell is not the place for twenty."""
    rest = len(names) - 2
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:2])} and {rest} more"
