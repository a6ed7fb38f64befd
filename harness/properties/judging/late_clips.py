"""From which size on a clip acts, and up to which. One that waits for ten times what it leaves looks
right where gradients are either small or large.

The probe that shows it can only convict (``harness.domain.graded``).
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.clipping.clip_global_norm import ID as GLOBAL
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.regimes import regimes

CLEARLY = 1.3
"""From this many thresholds on, a gradient that arrives whole has not been clipped."""


def convicted_of_waiting(verdict: Verdict, trace: Trace, expectations: Expectations) -> Verdict:
    """The verdict, or the fail that the graded probe shows instead."""
    probe = trace.graded
    if probe is None or verdict.property != GLOBAL or verdict.outcome == "fail":
        return verdict
    ended = probe.program.outcome in ("returned", "exited") and probe.contradiction is None
    return (ended and waits(Trace(probes=(probe,)), expectations)) or verdict


def waits(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail when several windows were clipped to one accepted norm, and others of a larger one
    arrived whole.
    """
    seen = regimes(trace, expectations)
    if isinstance(seen, str) or seen.account.threshold is None:
        return None
    threshold = seen.account.threshold
    steady = all(r.state != "shrunk" for r in seen.account.readings)
    least = threshold if steady else seen.accepted.high  # one that adapts may be anywhere between
    over = [r for r in seen.account.readings if r.true > CLEARLY * least]
    clipped = [r for r in over if r.state == "clipped"]
    whole = [r for r in over if r.raw]
    if len(clipped) < 2 or not whole or not seen.accepted.accept(threshold):
        return None
    first = max(whole, key=lambda r: r.true)
    return failed(
        GLOBAL,
        f"In {first.where} the optimizer consumed a gradient of norm {show(first.consumed)} as it was, "
        f"where others arrived at {show(threshold)}, and so in {len(whole)} of "
        f"{count(len(over), 'update')} above it: whether the clip acts depends on something else than "
        "its threshold. Clip whatever exceeds it.",
        number("norm of the consumed gradient", first.consumed, first.where),
        number("realised threshold", threshold, clipped[0].where),
        number("smallest norm that was clipped", min(r.true for r in clipped), clipped[0].where),
    )
