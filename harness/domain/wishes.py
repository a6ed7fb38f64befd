"""What a user's message asks for beyond a program that is right by its own settings."""

from harness.domain.record import Record


class Wishes(Record):
    """Requests that a question states in words, each of which a run can grant or refuse."""

    each_target: bool = False
    """Whether each target that counts is to weigh the same, whichever micro-batch or rank it is in."""
    whole_norm: bool = False
    """Whether the norm that is clipped is to be that of the whole gradient."""
    no_clip: bool = False
    """Whether gradients are to be looked at and not clipped."""
    norm_logged: bool = False
    """Whether the norm of the gradient is to be looked at."""
    norm_before_clip: bool = False
    """Whether the norm is wanted that gradients have before they are clipped."""
    rest_used: bool = False
    """Whether the batches that are left over at the end of a pass are to be used, in that pass."""
    rest_is_mean: bool = False
    """Whether their update is to be their mean, and no smaller than that of others."""


NOTHING = Wishes()
"""What a message asks for that asks for nothing of this kind."""
