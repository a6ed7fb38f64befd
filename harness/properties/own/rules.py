"""From a program's own settings to what has to hold for it to be right."""

from collections.abc import Sequence

from harness.domain.own import SHORTER, OwnSettings, lent
from harness.domain.regimes import AS_IT_IS
from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace

CHOICES = (
    "finite-loss", "params-stay-finite", "no-batch-lost", "first-update-not-lost", "single-allreduce",
    "loss-as-given",
)  # fmt: skip
"""What is reported and flips nothing: a program may mean it."""

RUIN = "params-stay-finite"

ACCUMULATING = (
    "one-update-per-window", "accumulation-not-wiped", "accumulation-equals-large-batch",
)  # fmt: skip
CLIPPING = ("clip-before-step", "clip-once-per-update", "clip-global-norm")
"""What has to hold where a program accumulates, and where it clips the norm of the whole."""


def rules(
    settings: OwnSettings, allowed: Sequence[PropertyRule], *, ruined: bool = False
) -> tuple[PropertyRule, ...]:
    """What is required of a program with these settings, what is only shown, and what is allowed.

    ``ruined``: whether its parameters end as NaN by its own doing, which is no choice.
    """
    meant = {rule.id for rule in allowed}
    required = [PropertyRule(id=name) for name in _required(settings) if name not in meant]
    counted = meant | {rule.id for rule in required} | ({RUIN} if ruined else set())
    shown = [PropertyRule(id=name, level="advisory") for name in CHOICES if name not in counted]
    return (*required, *shown, *allowed)


def is_ruined(trace: Trace) -> bool:
    """Whether an update left parameters that are not finite, and nothing that was lent can be why."""
    for probe in trace.probes:
        made = [note for note in lent(probe.program.bound) if not note.startswith(SHORTER)]
        if probe.probe == AS_IT_IS.name and not made:
            return not all(u.parameters_finite for rank in probe.ranks for u in rank.updates)
    return False


def _required(settings: OwnSettings) -> tuple[str, ...]:
    clips = settings.clip is not None and settings.clip.is_global
    several = settings.ranks > 1 and settings.accumulates
    return (
        "gradients-start-fresh",
        "training-mode-kept",
        "loss-gets-what-it-takes",
        *(ACCUMULATING if settings.accumulates else ()),
        *(CLIPPING[:1] if clips and settings.clip_moves else CLIPPING if clips else ()),
        *(("unscaled-norm", "scaler-protocol") if settings.scaler else ()),
        *(("scheduler-per-update",) if settings.schedule else ()),
        *(("resume-goes-on",) if settings.resumes else ()),
        *(("ranks-agree",) if settings.ranks > 1 else ()),
        *(("single-allreduce",) if several and settings.syncs_once else ()),
    )
