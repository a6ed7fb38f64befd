"""Every property guards everywhere: which of them judge a trace, and what their failure does.

A scenario says what is required for "right", what it only shows, and what it allows on purpose. Every
other property judges where the trace holds its preconditions (``Property.applies``), whatever the
scenario is about, and its failure makes the code wrong. With no rules at all, the trace alone decides.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.domain.scenario import Expectations, PropertyRule, Scenario
from harness.domain.trace import Trace
from harness.domain.verdict import Level, Verdict
from harness.properties.evidence.settings import ProgramSettings, settings_of
from harness.properties.evidence.thresholds import bounds_of
from harness.properties.property import Property


def rules_for(
    trace: Trace,
    rules: Sequence[PropertyRule],
    expectations: Expectations,
    known: Mapping[str, Property],
) -> tuple[PropertyRule, ...]:
    """What judges this trace: what is required, what the trace calls for, what is only shown."""
    return _chosen(settings_of(trace, expectations), rules, expectations, known)


def rules_of(scenario: Scenario, known: Mapping[str, Property]) -> tuple[PropertyRule, ...]:
    """What judges a program that sets out to do just what its scenario is about."""
    expects, listed = scenario.expectations, {rule.id for rule in scenario.properties}
    asked = ProgramSettings(
        updates=1,
        gathers=2 if expects.accumulates else 1,
        clips=bounds_of(expects) is not None,
        threshold=expects.max_norm,
        ranks=scenario.workload.world_size,
        scaled="scaler-protocol" in listed,
        scheduled=True,
        apart=scenario.workload.name == "gan",
    )
    return _chosen(asked, scenario.properties, expects, known)


def _chosen(
    settings: ProgramSettings,
    rules: Sequence[PropertyRule],
    expectations: Expectations,
    known: Mapping[str, Property],
) -> tuple[PropertyRule, ...]:
    listed = {rule.id for rule in rules}
    found: list[PropertyRule] = []
    for judged in known.values():
        weight = judged.applies(settings, expectations) if judged.id not in listed else None
        if weight is not None:
            found.append(PropertyRule(id=judged.id, level=weight))
    return tuple(sorted([*rules, *found], key=lambda rule: _ORDER.index(rule.level)))


_ORDER = ("required", "guard", "advisory", "allowed")


def levelled(verdicts: Iterable[Verdict], rules: Iterable[PropertyRule]) -> Iterator[Verdict]:
    """The verdicts, each with what its failure does. What is allowed is shown with the reason."""
    for verdict, rule in zip(verdicts, rules, strict=True):
        level: Level = "advisory" if rule.level == "allowed" else rule.level
        yield verdict.model_copy(update={"level": level, "allowed": rule.reason})
