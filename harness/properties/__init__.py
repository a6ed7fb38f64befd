"""The ways in which training loops go wrong, one claim a file, one folder a family; each claim is a
pure function of a trace.

Three questions, because one fault breaks many numbers: did the program run far enough to be
judged (``completion``), what does the property itself say, and which failure accounts for which
(``explanations``).
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations, PropertyRule, Scenario
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties import (
    accumulation,
    clipping,
    diagnosis,
    learning,
    mixed_precision,
    numerics,
    ranks,
    schedule,
)
from harness.properties.evidence.settings import with_own_settings
from harness.properties.judging.apart import by_part
from harness.properties.judging.bad_batches import convicted
from harness.properties.judging.explanations import explain_away
from harness.properties.judging.guards import levelled, rules_for, rules_of
from harness.properties.judging.late_clips import convicted_of_waiting
from harness.properties.judging.tests import with_tests
from harness.properties.property import Property

__all__ = ["FAMILIES", "PROPERTIES", "Property", "judge", "judge_by", "judge_one", "judging_in"]

FAMILIES = (
    numerics,
    accumulation,
    clipping,
    mixed_precision,
    schedule,
    ranks,
    learning,
    diagnosis,
)
"""One folder each: properties, and the evidence that only they use."""

PROPERTIES: dict[str, Property] = {one.id: one for family in FAMILIES for one in family.PROPERTIES}
"""Every property by id, in the order in which a reader meets them."""


def judge(trace: Trace, scenario: Scenario) -> tuple[Verdict, ...]:
    """One verdict for each property that the scenario lists, or that the trace calls for."""
    return judge_by(trace, scenario.properties, scenario.expectations)


def judge_by(
    trace: Trace, rules: Sequence[PropertyRule], expectations: Expectations
) -> tuple[Verdict, ...]:
    """The same by rules and expectations alone: without either, a program is judged by its own
    settings.
    """
    expects = with_own_settings(expectations, trace)
    known = with_tests(PROPERTIES, rules)
    judging = rules if known is not PROPERTIES else rules_for(trace, rules, expectations, known)
    found = [judge_one(known[rule.id], trace, expects) for rule in judging]
    return explain_away(tuple(levelled(found, judging)), known)


def judging_in(scenario: Scenario) -> tuple[PropertyRule, ...]:
    """What judges a program that sets out to do just what the scenario is about."""
    return rules_of(scenario, PROPERTIES)


def judge_one(one: Property, trace: Trace, expectations: Expectations) -> Verdict:
    """What one property says by itself, explained by no other."""
    verdict = convicted(by_part(one, trace, expectations), trace)
    return convicted_of_waiting(verdict, trace, expectations)
