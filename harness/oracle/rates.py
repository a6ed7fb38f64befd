"""Learning rates that a program sets by hand in some groups of an optimizer and not in others."""

import math
from itertools import permutations

from harness.domain.event import OptimizerStep, ParameterGroup, SchedulerStep
from harness.oracle.facts import RankRun

FEWEST = 6
"""Steps from which on a rate that never moved is one that nobody moves."""


def left_behind(run: RankRun) -> tuple[float, float, float] | None:
    """The rate of a group that keeps what its optimizer was built with while another's moves, and the
    lowest and highest rate of that one; ``None`` where there is none.

    The two differ in nothing but their weight decay, so one schedule was meant for both. Where a
    scheduler steps, it has the rates.
    """
    if any(isinstance(event, SchedulerStep) for event in run.events):
        return None
    steps: dict[int, list[OptimizerStep]] = {}
    for event in run.events:
        if isinstance(event, OptimizerStep):
            steps.setdefault(event.optimizer, []).append(event)
    found = (_of_one(made) for made in steps.values())
    return next((one for one in found if one is not None), None)


def _of_one(steps: list[OptimizerStep]) -> tuple[float, float, float] | None:
    first, default = steps[0], steps[0].default_rate
    if len(steps) < FEWEST or default is None or len({len(s.groups) for s in steps}) != 1:
        return None
    for still, moving in permutations(range(len(first.groups)), 2):
        rates = [s.groups[moving].numbers.get("lr") for s in steps]
        moved = {rate for rate in rates if rate is not None and math.isfinite(rate)}
        kept = all(s.groups[still].numbers.get("lr") == default for s in steps)
        if kept and len(moved) > 2 and _are_alike(first.groups[still], first.groups[moving]):
            return default, min(moved), max(moved)
    return None


def _are_alike(one: ParameterGroup, other: ParameterGroup) -> bool:
    """Whether weights were divided by their decay alone."""
    ours, theirs = (
        {k: v for k, v in group.numbers.items() if k not in ("lr", "weight_decay")}
        for group in (one, other)
    )
    decays = [group.numbers.get("weight_decay") for group in (one, other)]
    return ours == theirs and one.flags == other.flags and decays[0] != decays[1]
