"""What a loop has shown, from the verdicts of the properties and the trace. Pure."""

import re
from collections.abc import Iterator

from harness.checking.evidence import Evidence, Finding
from harness.checking.running import BlockRun
from harness.checking.trace_reading import best_match, short_window, updates
from harness.domain.check import Observation
from harness.domain.clip_call import clip_calls
from harness.domain.trace import Program
from harness.domain.verdict import Number, Verdict

SUBJECTS = (
    "measurement-is-fair", "unscaled-norm", "scaler-protocol", "inf-steps-skipped", "ranks-agree",
    "accumulation-equals-large-batch", "accumulation-not-wiped", "clip-before-step",
    "clip-global-norm", "clip-once-per-update", "clip-inactive-when-small", "scheduler-per-update",
    "gradients-start-fresh", "every-parameter-learns", "one-update-per-window",
)  # fmt: skip
"""Properties whose pass is told as evidence for an example, the most telling first."""
_AT_THE_END = "at the end of a pass"
FEW = 3
"""Fewer updates show no habit."""
BETWEEN_TURNS = ("training-mode-kept", "one-update-per-window", "no-batch-lost")
"""Properties of how one turn of a loop follows another."""
LEFT_OUT = ("gradients-start-fresh", "scaler-protocol")
"""Properties of what whoever leaves the clearing to the reader leaves out as well: ``update()``."""
_NEVER = "never changed"
USUAL = 10.0
"""Up to this norm a gradient is nothing unusual."""


OF_WHAT_IS_HELD = frozenset({"every-parameter-learns", "accumulation-not-wiped"})
"""Properties that an optimizer of another model fails."""

OF_RANKS = frozenset({"ranks-agree", "single-allreduce"})
"""Properties that only several ranks show."""


def loop_evidence(
    seen: BlockRun,
    *,
    steps: bool = True,
    cut: bool = False,
    clears: bool = True,
    ranks: bool = True,
    fits: bool = True,
) -> Evidence:
    """Evidence from one executed loop: properties that its own settings call for and that fail are
    faults; what a purpose may justify is a cost. ``steps``: whether it shows a step of an optimizer;
    ``cut``: whether we ran fewer turns than it shows, so that what never changed may change later;
    ``clears``: whether its author would have shown how gradients are cleared; ``ranks``: whether it
    speaks of several ranks itself; ``fits``: whether its optimizer and its model are of one hand.
    """
    until = _not_run(seen, steps=steps)
    if until is not None and not (steps and len(seen.trace.probes[0].updates) >= FEW):
        return Evidence(not_run=until)
    failed = [v for v in seen.verdicts if v.outcome == "fail" and not _is_the_end(v)]
    failed = [v for v in failed if not _is_of_our_turns(v, seen)]
    if cut:
        failed = [v for v in failed if _NEVER not in v.sentence]
    faults = [v for v in failed if v.level != "advisory" or _is_lost_within(v)]
    if not clears:
        faults = [v for v in faults if v.property not in LEFT_OUT]
    if not ranks:
        faults = [v for v in faults if v.property not in OF_RANKS]
    if not fits:
        faults = [v for v in faults if v.property not in OF_WHAT_IS_HELD]
    costs = [v for v in failed if v not in faults]
    return Evidence(
        faults=tuple(map(_finding, faults)),
        costs=(*map(_finding, costs), *_bent(seen), *_fires_always(seen)),
        merits=tuple(_merits(seen)),
        remarks=tuple(_remarks(seen)),
        until=until,
    )


def _not_run(seen: BlockRun, *, steps: bool) -> str | None:
    """Why the run counts as none; ``None`` where it counts. An exception counts where a failing
    property accounts for it.
    """
    program = seen.program
    if any(v.outcome == "fail" and v.level != "advisory" for v in seen.verdicts):
        return None
    if program.outcome in ("returned", "exited"):
        idle = steps and not seen.trains and program.outcome == "returned"
        return "No optimizer made a step." if idle else None
    return stopped(program)


def stopped(program: Program) -> str:
    """What kept a program from coming to its end."""
    said = (program.message or "no message").split("\n")[0]
    return (
        said if program.outcome == "unbound" else f"{program.exception or program.outcome}: {said}"
    )


def _is_lost_within(verdict: Verdict) -> bool:
    """Whether it tells of many batches that are lost within a pass; one may be what a function is given
    that does not train.
    """
    if verdict.property != "no-batch-lost":
        return False
    found = re.search(r"(\d+) of (\d+) batches", verdict.sentence)
    return found is None or (int(found[1]) > 1 and 10 * int(found[1]) >= int(found[2]))


def _is_the_end(verdict: Verdict) -> bool:
    """Whether it tells of batches that are left over at the end of a pass: advice, no fault."""
    return verdict.property == "no-batch-lost" and _AT_THE_END in verdict.sentence


def _is_of_our_turns(verdict: Verdict, seen: BlockRun) -> bool:
    """Whether it tells of what one turn leaves to the next, where the turns are ours: the block shows
    one, or a function that is handed one batch.
    """
    program = seen.program
    if verdict.property == "one-update-per-window" and any("." in c for c in program.calls):
        return False  # a method, whose object counts for itself
    loops = any("loader of" in note for note in program.bound)
    ours = any("written for one batch" in note for note in program.bound)
    return (ours or bool(program.calls and not loops)) and verdict.property in BETWEEN_TURNS


def _finding(verdict: Verdict) -> Finding:
    return Finding(verdict.sentence, verdict.numbers)


def _merits(seen: BlockRun) -> Iterator[Finding]:
    for name in SUBJECTS:
        verdict = seen.verdict(name)
        if verdict is not None and verdict.outcome == "pass":
            yield _finding(verdict)


def _bent(seen: BlockRun) -> Iterator[Finding]:
    """A finding where clipping by value changed the direction of a gradient (cosine below 0.995)."""
    if seen.settings.clip is None or seen.settings.clip.is_global:
        return
    matches = [match for u in updates(seen) if (match := best_match(u)) and match.consumed_norm]
    lowest = min((match.cosine for match in matches), default=1.0)
    if lowest < 0.995:
        yield Finding(
            f"The direction is bent: consumed and true gradient have cosines down to {lowest:.3g}.",
            (Number(name="smallest cosine of consumed and true gradient", value=lowest),),
        )


def _fires_always(seen: BlockRun) -> Iterator[Finding]:
    """A finding where ordinary gradient norms are clipped in every update."""
    clip = seen.settings.clip
    if clip is None or seen.settings.scaler or clip.kind != "norm":
        return
    calls = [c for u in seen.trace.probes[0].updates for c in clip_calls(u)]
    norms = [c.returned for c in calls if c.returned is not None]
    if not norms or max(norms) > USUAL or clip.highest > 0.1 * min(norms):
        return
    low, high = min(norms), max(norms)
    yield Finding(
        f"Gradients of norm {low:.2g} to {high:.2g}, which are nothing unusual, are clipped to "
        f"{clip.highest:g} in every update: the step size is the threshold's.",
        (Number(name="smallest norm that was clipped", value=low),),
    )


def _remarks(seen: BlockRun) -> Iterator[Observation]:
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
