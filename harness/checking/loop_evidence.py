"""What a loop has shown, from the verdicts of the properties and the trace. Pure."""

from collections.abc import Iterator

from harness.checking.evidence import Evidence, Finding
from harness.checking.loops import LoopSeen
from harness.checking.trace_reading import best_match, short_window, updates
from harness.domain.check import Observation
from harness.domain.verdict import Number, Verdict

SUBJECTS = (
    "measurement-is-fair", "nan-reported-before-backward", "unscaled-norm", "scaler-protocol",
    "inf-steps-skipped", "single-allreduce", "ranks-agree", "accumulation-equals-large-batch",
    "accumulation-not-wiped", "clip-before-step", "clip-global-norm", "clip-once-per-update",
    "clip-inactive-when-small", "scheduler-per-update", "gradients-start-fresh",
    "every-parameter-learns", "one-update-per-window",
)  # fmt: skip
"""Properties whose pass is told as evidence for an example, the most telling first."""
_OF_THE_WHOLE = frozenset({"clip-global-norm", "clip-once-per-update", "clip-inactive-when-small"})
_AT_THE_END = "at the end of a pass"


def loop_evidence(seen: LoopSeen) -> Evidence:
    """Evidence from one executed loop: properties that fail are faults, or costs where a purpose may
    justify them.
    """
    if reason := _not_run(seen):
        return Evidence(not_run=reason)
    failed = [v for v in seen.verdicts if v.outcome == "fail"]
    costs = [v for v in failed if _is_cost(v, seen)]
    faults = [v for v in failed if v not in costs and not _too_little_seen(v, seen)]
    return Evidence(
        faults=(*map(_finding, faults), *_idle_start(seen)),
        costs=(*map(_finding, costs), *_bent(seen), *_fires_always(seen)),
        merits=tuple(_merits(seen)),
        remarks=tuple(_remarks(seen)),
    )


def _not_run(seen: LoopSeen) -> str | None:
    """Why the run counts as none; ``None`` where it counts. An exception counts where a failing
    property accounts for it.
    """
    program, made = seen.program, bool(updates(seen))
    protocol = seen.verdict("scaler-protocol")
    if protocol is not None and protocol.outcome == "fail":
        return None
    if made and any(v.outcome == "fail" for v in seen.verdicts):
        return None
    if program.outcome in ("returned", "exited"):
        return None if made or seen.techniques.times else "It ran, and no update was made."
    where = f" (line {program.line} of what was run)" if program.line else ""
    return f"{program.exception or program.outcome}: {program.message}{where}"


def _is_cost(verdict: Verdict, seen: LoopSeen) -> bool:
    if verdict.property == "no-batch-lost":
        return _AT_THE_END not in verdict.sentence
    return verdict.property in _OF_THE_WHOLE and seen.techniques.other_clip


def _too_little_seen(verdict: Verdict, seen: LoopSeen) -> bool:
    """Whether this failure is left out: after an overflow the scale needs six updates to settle, and
    lost batches are a cost or a remark.
    """
    if verdict.property == "inf-steps-skipped":
        overflow = seen.trace.probe("overflow")
        return overflow is None or len(overflow.updates) < 6
    return verdict.property == "no-batch-lost"


def _finding(verdict: Verdict) -> Finding:
    return Finding(verdict.sentence, verdict.numbers)


def _merits(seen: LoopSeen) -> Iterator[Finding]:
    for name in SUBJECTS:
        verdict = seen.verdict(name)
        if verdict is not None and verdict.outcome == "pass":
            yield _finding(verdict)


def _bent(seen: LoopSeen) -> Iterator[Finding]:
    """A finding where clipping by value changed the direction of a gradient (cosine below 0.995)."""
    if not seen.techniques.other_clip or seen.techniques.clips_norm:
        return
    matches = [match for u in updates(seen) if (match := best_match(u)) and match.consumed_norm]
    lowest = min((match.cosine for match in matches), default=1.0)
    if lowest < 0.995:
        yield Finding(
            f"The direction is bent: consumed and true gradient have cosines down to {lowest:.3g}.",
            (Number(name="smallest cosine of consumed and true gradient", value=lowest),),
        )


def _fires_always(seen: LoopSeen) -> Iterator[Finding]:
    """A finding where ordinary gradient norms are clipped in every update."""
    if seen.always_fired is None or seen.techniques.scaler:
        return
    low, high = seen.always_fired
    yield Finding(
        f"Gradients of norm {low:.2g} to {high:.2g}, which are nothing unusual, are clipped to "
        f"{seen.threshold or 0:g} in every update: the step size is the threshold's.",
        (Number(name="smallest norm that was clipped", value=low),),
    )


def _idle_start(seen: LoopSeen) -> Iterator[Finding]:
    made = seen.trace.probes[0].updates
    if seen.techniques.schedules and made and not any(made[0].learning_rates):
        yield Finding(
            "The learning rate of the first update is 0: that update changes nothing.",
            (Number(name="learning rate of the first update", value=0.0),),
        )


def _remarks(seen: LoopSeen) -> Iterator[Observation]:
    lost = seen.verdict("no-batch-lost")
    if lost is not None and lost.outcome == "fail" and _AT_THE_END in lost.sentence:
        yield Observation(sentence=lost.sentence, numbers=lost.numbers)
    window = short_window(seen)
    if window is not None and not window.right and window.share < 1:
        yield Observation(
            sentence=window.sentence,
            fault=True,
            numbers=(Number(name="consumed over true in the short window", value=window.share),),
        )
