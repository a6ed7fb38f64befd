"""Arms with chosen outcomes, for tests of what is said about two of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from harness.domain.comparison import Arm, ScenarioTrials, TrialOutcome
from harness.domain.verdict import Verdict, failed, passed

OUTCOMES = {"+": "right", "-": "wrong", "?": "inconclusive", "0": "none", "!": "unanswered"}


def arm(name: str, outcomes: Mapping[str, str | Sequence[TrialOutcome]], **changed: object) -> Arm:
    """An arm; ``"++-?0!"`` are six trials: right, right, wrong, inconclusive, no code, unanswered."""
    fields = {
        "skill_digest": f"digest of {name}",
        "model": "replay:toy",
        "delivery": "system",
        "bank_digest": "bank",
        "judge": "none",
        "harness_version": "0",
        "seed": 0,
    }
    scenarios = tuple(
        ScenarioTrials(scenario=scenario, trials=trials(given) if isinstance(given, str) else given)
        for scenario, given in outcomes.items()
    )
    return Arm(name=name, scenarios=scenarios, **(fields | changed))


def trials(outcomes: str) -> tuple[TrialOutcome, ...]:
    """Numbered from 0."""
    return tuple(TrialOutcome(trial=i, outcome=OUTCOMES[one]) for i, one in enumerate(outcomes))


def trial(number: int, outcome: str, *verdicts: Verdict, **more: object) -> TrialOutcome:
    """One trial with verdicts."""
    return TrialOutcome(trial=number, outcome=OUTCOMES[outcome], verdicts=verdicts, **more)


def scripted(name: str, rates: Sequence[float], count: int, seed: int) -> Arm:
    """What an agent answers that is right with a known chance in each scenario."""
    right = np.random.default_rng(seed).random((len(rates), count)) < np.asarray(rates)[:, None]
    said = {f"s{i}": "".join("+" if one else "-" for one in row) for i, row in enumerate(right)}
    return arm(name, said)


PASS = passed("clip-before-step", "It was clipped before the step.")
FAIL = failed("clip-before-step", "It was clipped after the step.")
