"""Two runs that were asked in rounds: looked at as often as they were, and judged where it stopped."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.comparison.gate import gate
from harness.comparison.paired import differences_of
from harness.comparison.rounds import LookResult, Looks, looks_of
from harness.comparison.sign_flip import Floats
from harness.comparison.tally import GoodOfAll, lines, pair_up
from harness.domain.comparison import (
    Arm,
    Estimate,
    InRounds,
    LookTaken,
    OutcomeTally,
    Says,
    ScenarioLine,
    Stop,
)
from harness.domain.plan import Rules


@dataclass(frozen=True, slots=True)
class StoppedComparison:
    """What two arms show: in all, or by the look at which no more is asked."""

    old: Arm
    """The old arm; in rounds up to that look."""
    new: Arm
    """The new arm, likewise."""
    judged: Estimate | None
    """The difference over judged trials."""
    strict: Estimate | None
    """With what could not be judged counted as not right."""
    rounds: InRounds | None
    """Every look; ``None`` where there was one, at all."""


def in_rounds(old: Arm, new: Arm, most: int, rules: Rules) -> StoppedComparison:
    """Look after each round that both arms were asked in full; answers after it stopped do not count."""
    names = [line.scenario for line in lines(old, new)]
    looks = looks_of(most)
    ways = [
        _Way(Looks(len(names), looks, rules.alpha, rules.margin), names, count)
        for count in (_judged, _strict)
    ]
    taken: list[LookTaken] = []
    found = StoppedComparison(
        _until(old, 0), _until(new, 0), None, None, InRounds(most=most, looks=())
    )
    for trials in (look for look in looks if look <= min(_asked(old), _asked(new))):
        before, after = _until(old, trials), _until(new, trials)
        told = lines(before, after)
        (judged, seen), (strict, _) = (way.look(told) for way in ways)
        stop = _stop(judged, seen, passes=gate(judged, strict, told, rules).code == 0)
        if trials == most and stop == "goes on":
            stop = "all asked"
        taken.append(_taken(trials, judged, stop))
        rounds = InRounds(most=most, looks=tuple(taken))
        found = StoppedComparison(before, after, judged, strict, rounds)
        if stop != "goes on":
            break
    return found


def _asked(arm: Arm) -> int:
    """Number of the last trial that every scenario has come to."""
    last = (max((t.trial for t in one.trials), default=0) for one in arm.scenarios)
    return min(last, default=0)


def _until(arm: Arm, trials: int) -> Arm:
    scenarios = tuple(
        one.model_copy(update={"trials": tuple(t for t in one.trials if t.trial <= trials)})
        for one in arm.scenarios
    )
    return arm.model_copy(update={"scenarios": scenarios})


def _judged(tally: OutcomeTally) -> GoodOfAll:
    return tally.right, tally.judged


def _strict(tally: OutcomeTally) -> GoodOfAll:
    return tally.right, tally.answered


@dataclass(frozen=True, slots=True)
class _Way:
    """One way of counting, look by look."""

    looks: Looks
    names: Sequence[str]
    count: Callable[[OutcomeTally], GoodOfAll]

    def look(self, told: Sequence[ScenarioLine]) -> tuple[Estimate | None, LookResult | None]:
        shares = {line.scenario: (self.count(line.old), self.count(line.new)) for line in told}
        paired = [n for n, name in enumerate(self.names) if all(of for _, of in shares[name])]
        counts = pair_up([shares[self.names[n]] for n in paired])
        if counts is None:
            self.looks.pass_over()
            return None, None
        seen = self.looks.look(counts, np.asarray(paired))
        return _estimate(seen, differences_of(counts)[0]), seen


def _estimate(seen: LookResult, differences: Floats) -> Estimate:
    effect = float(seen.effect[0])
    says: Says = "no difference shown"
    if seen.shown[0]:
        says = "better" if effect > 0 else "worse"
    return Estimate(
        effect=effect,
        low=float(seen.low[0]),
        high=float(seen.high[0]),
        p=float(seen.p[0]),
        method="exact sign flip, in rounds",
        scenarios=len(differences),
        up=int((differences > 0).sum()),
        down=int((differences < 0).sum()),
        says=says,
    )


def _stop(judged: Estimate | None, seen: LookResult | None, *, passes: bool) -> Stop:
    if judged is None or seen is None or not seen.ends(np.asarray([passes]))[0]:
        return "goes on"
    if judged.says != "no difference shown":
        return judged.says
    return "not worse" if passes else "hopeless"


def _taken(trials: int, judged: Estimate | None, stop: Stop) -> LookTaken:
    if judged is None:
        return LookTaken(trials=trials, scenarios=0, effect=0, low=-1, high=1, stop=stop)
    return LookTaken(
        trials=trials,
        scenarios=judged.scenarios,
        effect=judged.effect,
        low=judged.low,
        high=judged.high,
        stop=stop,
    )
