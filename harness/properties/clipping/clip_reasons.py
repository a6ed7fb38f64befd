"""Why a clip left what it left, as far as its calls tell: what it was given, at which threshold, and
the norm that it took. A clip that a program computes itself has no calls, and nothing is said of it.
"""

from harness.domain.clip_call import clip_calls
from harness.domain.event import SEES_A_PART
from harness.properties.clipping.clips import after_the_step
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close, show

ABOUT = 0.01
"""Relative difference up to which a threshold counts as the norm that a clip left."""

NO_GRADIENT = (
    "an iterator of parameters that is used up, a list made before there were gradients, or copies. "
    "Pass model.parameters() anew"
)
"""What a clip may have been given where it found no gradient."""


def why_whole(reading: WindowReading) -> str | None:
    """Why a loud gradient arrived as it was; ``None`` where no call tells."""
    calls = [c for c in clip_calls(reading.update) if c.function.startswith("clip_")]
    if not calls or after_the_step(reading.update):
        return None
    if not any(c.gradients for c in calls):
        return f"it was given no gradient: {NO_GRADIENT}"
    limit = calls[-1].limit
    if limit is not None and limit > reading.true * reading.update.loss_scale:
        return f"its threshold was {show(limit)}. Keep it at what was asked for"
    return other_norm_taken(reading)


def why_other(reading: WindowReading) -> str | None:
    """Why a clip left another norm than was asked for; ``None`` where no call tells. A factor that a
    program computes itself may rest on one call that takes the norm.
    """
    calls = [c for c in clip_calls(reading.update) if c.limit is not None and c.gradients]
    if not calls:
        return other_norm_taken(reading)
    limit, scale = calls[-1].limit or 0.0, reading.update.loss_scale
    if close(reading.consumed, limit, ABOUT):
        return f"it was called at {show(limit)}. Use the threshold that was asked for"
    if scale > 1.0 and close(reading.consumed * scale, limit, ABOUT):
        return (
            f"it was called at {show(limit)} under a loss scale of {scale:.0f}. Unscale first, and use "
            "the threshold that was asked for"
        )
    return other_norm_taken(reading)


def counts_more(reading: WindowReading) -> bool:
    """Whether its call took a larger norm than that of the gradient."""
    calls = clip_calls(reading.update)
    taken = calls[0].returned if len(calls) == 1 else None
    unscaled = reading.update.loss_scale <= 1.0
    return taken is not None and unscaled and taken > (1.0 + ABOUT) * reading.true


def other_norm_taken(reading: WindowReading) -> str | None:
    """That the call measured less than the norm of the gradient, or more."""
    calls = clip_calls(reading.update)
    taken = calls[0].returned if len(calls) == 1 else None
    if taken is not None and counts_more(reading):
        return (
            f"it took {show(taken)} for a norm that is {show(reading.true)}: it counts gradients that "
            "this step does not consume, left in frozen parameters or another optimizer's. Set these to "
            "None, or clip what the step consumes"
        )
    if taken is None or not 0.0 < taken < (1.0 - ABOUT) * reading.true:
        return None
    return (
        f"it took {show(taken)} for a norm that is {show(reading.true)} (another kind of norm, or that "
        "of a part). Take the 2-norm of the whole gradient"
    )


def why_turned(reading: WindowReading) -> str:
    """Where a loud gradient's direction changed element by element, and what did it."""
    index = reading.update.index
    backwards = reading.window.rank_trace.backwards
    if any(b.after_update == index and not b.gradients_finite for b in backwards):
        return (
            "gradients had overflowed: what was not finite was replaced, and the update made. Leave it "
            "out: change nothing before scaler.unscale_ has looked, and step by scaler.step"
        )
    if SEES_A_PART in reading.window.probe.program.bound:
        return (
            "clipping acts: under FullyShardedDataParallel torch's own clip takes the norm of one "
            "rank's part. Call the model's own clip_grad_norm_"
        )
    return (
        "clipping acts: each element was cut off on its own. Clip by norm (clip_grad_norm_), which "
        "keeps the direction"
    )
