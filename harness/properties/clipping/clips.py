"""Calls of clipping functions, parsed from a trace. They explain a verdict; values decide it."""

import math

from harness.domain.clip_call import ClipCall, clip_calls
from harness.domain.trace import Update
from harness.properties.evidence.figures import close

SAME = 0.01
"""Relative difference up to which a clip returned the norm of a gradient that the oracle recomputed."""


def on_nothing(update: Update) -> bool:
    """Whether clips were called in the window, each without any gradient to clip. What only measures
    counts where nothing else was called. Trainers measure with a clip at infinity: where that comes
    first, there were gradients in time; where it comes last, the clip may have come before backward.
    """
    calls = tuple(c for c in clip_calls(update) if not of_another_part(c, update))
    calls = tuple(c for c in calls if c.function.startswith("clip_")) or calls
    while len(calls) > 1 and calls[0].limit == math.inf:
        calls = calls[1:]
    return bool(calls) and all(c.gradients == 0 for c in calls)


def of_another_part(call: ClipCall, update: Update) -> bool:
    """Whether a clip was given other gradients than those of the part of the model that the update
    trains: two networks may step together, and each has its clip.
    """
    computed = update.match("as-computed")
    if not update.trains or computed is None or not call.gradients or call.returned is None:
        return False
    return not close(call.returned, computed.expected_norm, SAME)


def by_value(update: Update) -> bool:
    """Whether ``clip_grad_value_`` was called in the window."""
    return any(c.function == "clip_grad_value_" for c in clip_calls(update))


def after_the_step(update: Update) -> bool:
    """Whether a clip was called after the step and before the next backward."""
    return update.changed_after_step is not None
