"""One fault, one failure: what a failing property accounts for is not counted twice."""

from collections.abc import Mapping, Sequence

from harness.domain.verdict import Verdict
from harness.properties.property import Property


def explain_away(verdicts: Sequence[Verdict], known: Mapping[str, Property]) -> tuple[Verdict, ...]:
    """The verdicts, in order. A verdict that another failure accounts for becomes inconclusive and
    names it.

    An advisory failure changes no grade, so it cannot account for one that counts.
    """
    counting = {v.property for v in verdicts if v.level != "advisory"}
    failing = {v.property for v in verdicts if v.outcome == "fail"}
    causes = [
        root(v.property, failing, counting, known) if is_affected(v) else None for v in verdicts
    ]
    return tuple(
        v if cause is None else explained(v, cause)
        for v, cause in zip(verdicts, causes, strict=True)
    )


def is_affected(verdict: Verdict) -> bool:
    """Whether a verdict may be a consequence: it is a failure, or inconclusive with figures."""
    return verdict.outcome == "fail" or (
        verdict.outcome == "inconclusive" and bool(verdict.numbers)
    )


def root(
    name: str, failing: set[str], counting: set[str], known: Mapping[str, Property]
) -> str | None:
    """The failing property at the start of the chain that leads to this one."""
    for cause in known:
        counts = cause in counting or name not in counting
        if cause in failing and counts and name in known[cause].explains:
            return root(cause, failing, counting, known) or cause
    return None


def explained(verdict: Verdict, cause: str) -> Verdict:
    """The verdict made inconclusive, with the failure that accounts for it."""
    return verdict.model_copy(update={"outcome": "inconclusive", "explained_by": cause})
