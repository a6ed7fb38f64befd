"""What a program should do: pass, stop, or say that it is inconclusive."""

from collections.abc import Sequence

from harness.domain.comparison import Estimate, Gate, ScenarioLine
from harness.domain.plan import Rules


def gate(
    judged: Estimate | None,
    strict: Estimate | None,
    scenarios: Sequence[ScenarioLine],
    rules: Rules,
) -> Gate:
    """Stop what is conclusively worse; pass what is conclusively not worse by the margin.

    Passing asks that every scenario was answered in both arms, and that a loss of the margin is
    ruled out both ways: leaving out what could not be judged, and counting it as not right. So
    neither missing answers nor answers that nobody can judge make a skill pass.
    """
    if judged is None or strict is None:
        return Gate(code=4, why="no scenario was judged in both runs")
    if judged.says == "worse":
        return Gate(code=1, why="conclusively worse")
    missing = [line.scenario for line in scenarios if not (line.old.answered and line.new.answered)]
    if missing:
        return Gate(code=4, why=f"not answered in both runs: {', '.join(missing)}")
    if judged.low <= -rules.margin:
        return Gate(
            code=4,
            why=f"a loss of {rules.margin:.0%} of the right answers is not ruled out"
            f" (the interval goes down to {judged.low:+.0%})",
        )
    if strict.says == "worse" or strict.low <= -rules.margin:
        return Gate(
            code=4,
            why="counting inconclusive answers as not right, it may be worse"
            f" (the interval goes from {strict.low:+.0%} to {strict.high:+.0%})",
        )
    return Gate(code=0, why=f"a loss of {rules.margin:.0%} of the right answers is ruled out")
