"""Calls of clipping functions, parsed from an update of a trace."""

import re
from dataclasses import dataclass

from harness.domain.update import Update

CALL = re.compile(
    r"^(?P<function>\w+)\((?P<gradients>\d+) gradients\)"
    r"( at (?P<limit>\S+))? returned (?P<returned>\S+)$"
)


MEASURES = 1e8
"""A threshold from here on bounds nothing: it stands where somebody wants to know the norm."""

EXPLAINS = 0.01
"""Relative difference up to which a clip's norm or threshold is what was consumed."""


@dataclass(frozen=True, slots=True)
class ClipCall:
    """One call of a clipping function."""

    function: str
    """Name of the function."""
    gradients: int
    """How many gradients it was given."""
    limit: float | None
    """Its threshold; ``None`` if it takes none, and in traces of older versions."""
    returned: float | None
    """The norm that it returned."""

    @property
    def bounds(self) -> bool:
        """Whether its threshold can bound a gradient."""
        return self.limit is not None and 0.0 < self.limit < MEASURES


def clip_calls(update: Update) -> tuple[ClipCall, ...]:
    """The clipping calls of an update's window, as far as they can be parsed."""
    found = [CALL.match(text) for text in update.clip_calls]
    return tuple(
        ClipCall(m["function"], int(m["gradients"]), _number(m["limit"]), _number(m["returned"]))
        for m in found
        if m is not None
    )


def norm_met(update: Update, consumed: float) -> float | None:
    """The norm that the one clip of all gradients met, where it explains what was consumed: a program
    may have divided what backward computed by then. ``None`` under a loss scale.
    """
    calls = [c for c in clip_calls(update) if c.bounds]
    if len(calls) != 1 or update.loss_scale > 1.0 or calls[0].gradients < (update.gradients or 0):
        return None
    met, limit = calls[0].returned, calls[0].limit
    if met is None or limit is None or abs(consumed - min(met, limit)) > EXPLAINS * consumed:
        return None
    return met


def _number(text: str | None) -> float | None:
    return None if text is None or text == "None" else float(text)
