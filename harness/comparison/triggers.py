"""Answers to prompts as rates, and as an arm: right is what should be. Pure."""

from collections.abc import Mapping, Sequence

from scipy import stats

from harness.domain.comparison import Arm, ScenarioTrials, TrialOutcome
from harness.domain.triggers import Opened, Share, TriggerFile, TriggerLine

OpenedBy = Mapping[str, Sequence[Opened | None]]
"""By the id of a prompt what each trial showed; ``None``: no answer came."""


def trigger_lines(prompts: TriggerFile, opened: OpenedBy) -> tuple[TriggerLine, ...]:
    """Each prompt, those that should bring the skill up first."""
    return tuple(
        TriggerLine(
            id=one.id,
            prompt=one.prompt,
            should=should,
            opened=opened[one.id].count("yes"),
            not_opened=opened[one.id].count("no"),
            unknown=sum(said not in ("yes", "no") for said in opened[one.id]),
        )
        for should, group in ((True, prompts.should), (False, prompts.should_not))
        for one in group
    )


def share(lines: Sequence[TriggerLine], *, should: bool) -> Share:
    """The prompt is the unit: trials of one resemble each other."""
    known = [one for one in lines if one.should is should and one.opened + one.not_opened]
    count = sum(one.opened > one.not_opened for one in known)
    low, high = 0.0, 1.0
    if known:
        found = stats.binomtest(count, len(known)).proportion_ci(0.95, "exact")
        low, high = float(found.low), float(found.high)
    return Share(count=count, of=len(known), low=low, high=high)


def trigger_arm(prompts: TriggerFile, opened: OpenedBy, **about: str) -> Arm:
    """One description as an arm of a comparison. ``about``: its fields that are text."""
    wanted = {one.id: "yes" for one in prompts.should} | {p.id: "no" for p in prompts.should_not}
    scenarios = tuple(
        ScenarioTrials(
            scenario=name,
            trials=tuple(_trial(n, said, wanted[name]) for n, said in enumerate(trials, start=1)),
        )
        for name, trials in opened.items()
    )
    return Arm.model_validate({**about, "seed": 0, "scenarios": scenarios})


def _trial(number: int, said: Opened | None, wanted: str) -> TrialOutcome:
    if said is None:
        return TrialOutcome(trial=number, outcome="unanswered")
    if said == "unknown":
        return TrialOutcome(trial=number, outcome="inconclusive")
    return TrialOutcome(trial=number, outcome="right" if said == wanted else "wrong")
