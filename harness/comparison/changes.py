"""What changed, scenario by scenario, with two answers to read side by side."""

from collections import defaultdict
from collections.abc import Iterator

from harness.comparison.outcomes import OutcomeKind, OutcomeMark, marks
from harness.domain.comparison import Arm, Change, ExamplePair, NewRationalization, ScenarioTrials

_Marks = dict[tuple[OutcomeKind, str], list[OutcomeMark]]


def changes(old: Arm, new: Arm) -> tuple[Change, ...]:
    """Whatever comes out well in another share of the trials than before."""
    return tuple(
        change
        for before, after in in_both(old, new)
        for change in _of_scenario(before.scenario, _sorted_out(before), _sorted_out(after))
    )


def new_rationalizations(old: Arm, new: Arm) -> tuple[NewRationalization, ...]:
    """Excuses that the old arm did not use in that scenario."""
    return tuple(
        NewRationalization(scenario=after.scenario, trials=tuple(trials), text=text)
        for before, after in in_both(old, new)
        for text, trials in _excuses(after).items()
        if text not in _excuses(before)
    )


def in_both(old: Arm, new: Arm) -> Iterator[tuple[ScenarioTrials, ScenarioTrials]]:
    """The scenarios that both arms were asked, in the old arm's order."""
    after = {scenario.scenario: scenario for scenario in new.scenarios}
    for before in old.scenarios:
        if before.scenario in after:
            yield before, after[before.scenario]


def _sorted_out(scenario: ScenarioTrials) -> _Marks:
    found: _Marks = defaultdict(list)
    for mark in marks(scenario):
        found[mark.kind, mark.name].append(mark)
    return found


def _of_scenario(scenario: str, before: _Marks, after: _Marks) -> Iterator[Change]:
    for (kind, name), old in before.items():
        new = after.get((kind, name))
        if new is None or _share(old) == _share(new):
            continue
        yield Change(
            scenario=scenario,
            kind=kind,
            name=name,
            old_good=_trials(old, good=True),
            old_bad=_trials(old, good=False),
            new_good=_trials(new, good=True),
            new_bad=_trials(new, good=False),
            example=_example(old, new),
        )


def _example(old: list[OutcomeMark], new: list[OutcomeMark]) -> ExamplePair:
    """Two answers that differ in the direction of the change, of one number where there are."""
    improved = _share(new) > _share(old)
    old_ones = [mark for mark in old if mark.good is not improved]
    new_ones = [mark for mark in new if mark.good is improved]
    shared = {mark.trial for mark in old_ones} & {mark.trial for mark in new_ones}
    one = next((mark for mark in old_ones if mark.trial in shared), old_ones[0])
    other = next((mark for mark in new_ones if mark.trial == one.trial), new_ones[0])
    return ExamplePair(
        old_trial=one.trial,
        new_trial=other.trial,
        old_verdict=one.verdict,
        new_verdict=other.verdict,
    )


def _share(marks: list[OutcomeMark]) -> float:
    return sum(mark.good for mark in marks) / len(marks)


def _trials(marks: list[OutcomeMark], *, good: bool) -> tuple[int, ...]:
    return tuple(mark.trial for mark in marks if mark.good is good)


def _excuses(scenario: ScenarioTrials) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for trial in scenario.trials:
        for text in dict.fromkeys(trial.rationalizations):
            found[text].append(trial.trial)
    return found
