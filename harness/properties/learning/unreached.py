"""Why parameters have no gradient at a step, or stay where they are."""

from harness.domain.trace import ProbeTrace
from harness.properties.evidence.windows import full_of

FROZEN = "requires_grad is False in every forward (set it, and hand them to the optimizer)"
UNREACHED = (
    "either the optimizer does not hold what the model uses (build it after the model is complete and "
    "in place), or backward does not reach them (detached, under no_grad, or checkpointed from an input "
    "that asks for no gradient), or their .grad is removed"
)
"""What may be one of several is said as that."""


def out_of_reach(probe: ProbeTrace, names: list[str]) -> str:
    """Why parameters may have no gradient at a step, as far as the windows tell."""
    frozen = all({*names} <= {*window.update.frozen} for window in full_of(probe))
    return FROZEN if frozen else UNREACHED


def unstepped(probe: ProbeTrace, names: list[str]) -> str:
    """The same of parameters that stayed: the optimizer of one of two networks may never step."""
    why, never = out_of_reach(probe, names), "either their optimizer never steps, or "
    return never + why.removeprefix("either ") if probe.parts and why is UNREACHED else why
