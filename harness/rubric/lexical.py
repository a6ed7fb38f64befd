"""The judge that needs no model: patterns of the scenario. What it says is weak evidence."""

from collections.abc import Mapping, Sequence

from harness.domain.assessment import Assessment, Rationalized
from harness.domain.scenario import Criterion, Scenario
from harness.rubric.matching import found
from harness.rubric.reading import AnswerReading, read_answer


class LexicalJudge:
    """Finds a criterion where one of its patterns is found."""

    name = "lexical"

    def assess(
        self, answer: str, scenario: Scenario, criteria: Sequence[Criterion]
    ) -> Mapping[str, Assessment]:
        """One assessment a criterion; unassessed where the scenario has no patterns for it."""
        reading = read_answer(answer, scenario.prompt)
        return {criterion.id: _assess(criterion, scenario, reading) for criterion in criteria}


def rationalizations(answer: str, scenario: Scenario) -> tuple[Rationalized, ...]:
    """Excuses of the scenario's table that the answer makes, in the order of the table."""
    lexicon = scenario.lexicon
    reading = read_answer(answer, scenario.prompt)
    made = []
    for line in scenario.rationalizations:
        patterns = lexicon.rationalizations.get(line.excuse)
        finding = found(patterns, reading, lexicon.terms, fault=True) if patterns else None
        if finding:
            made.append(Rationalized(excuse=line.excuse, instead=line.instead, quote=finding.quote))
    return tuple(made)


def _assess(criterion: Criterion, scenario: Scenario, reading: AnswerReading) -> Assessment:
    patterns = scenario.lexicon.criteria.get(criterion.id)
    if patterns is None:
        reason = "the scenario has no patterns for it"
        return Assessment(state="unassessed", reason=reason)
    fault = criterion.polarity == "must_not"
    finding = found(patterns, reading, scenario.lexicon.terms, fault=fault)
    good = (finding is None) == fault
    return Assessment(state="met" if good else "not_met", quote=finding.quote if finding else None)
