"""From which size on a clip acts. One that waits for ten times what it leaves looks right where
gradients are either small or large.

The probe that shows it can only convict (``harness.domain.graded``).
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.clip_global_norm import ID as GLOBAL
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.regimes import regimes


def convicted_of_waiting(verdict: Verdict, trace: Trace, expectations: Expectations) -> Verdict:
    """The verdict, or the fail that the graded probe shows instead."""
    probe = trace.graded
    if probe is None or verdict.property != GLOBAL or verdict.outcome == "fail":
        return verdict
    ended = probe.program.outcome in ("returned", "exited") and probe.contradiction is None
    return (ended and waits(Trace(probes=(probe,)), expectations)) or verdict


def waits(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail when several windows were clipped to one accepted norm, and others, of more than twice
    that norm, arrived whole.
    """
    seen = regimes(trace, expectations)
    if isinstance(seen, str) or seen.account.threshold is None:
        return None
    clipped = [r for r in seen.loud if r.state == "clipped"]
    whole = [r for r in seen.loud if r.raw]
    if len(clipped) < 2 or not whole or not seen.accepted.accept(seen.account.threshold):
        return None
    first = max(whole, key=lambda r: r.true)
    return failed(
        GLOBAL,
        f"In {first.where} the optimizer consumed a gradient of norm {show(first.consumed)} as it was, "
        f"and what was larger arrived at {show(seen.account.threshold)}: the clip waits for more than "
        f"it leaves, in {len(whole)} of {count(len(seen.loud), 'update')} above twice the threshold. "
        "Clip whatever exceeds the threshold.",
        number("norm of the consumed gradient", first.consumed, first.where),
        number("realised threshold", seen.account.threshold, clipped[0].where),
        number("smallest norm that was clipped", min(r.true for r in clipped), clipped[0].where),
    )
