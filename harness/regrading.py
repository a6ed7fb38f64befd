"""A stored run, judged anew from its traces and texts. Nothing is executed, and torch is not needed."""

from collections.abc import Iterator

from harness.agents.turns import natural_part
from harness.domain.grade import write_grade
from harness.domain.own import OWN, OWN_SCENARIO
from harness.domain.scenario import Bank, Scenario
from harness.domain.stored import GradedAnswer, StoredAnswer
from harness.domain.trace import Trace
from harness.properties import judge
from harness.properties.own import own_grade
from harness.rubric import TextJudge, assess
from harness.store import RunFolder


def regrade(bank: Bank, run: RunFolder, reader: TextJudge) -> Iterator[GradedAnswer]:
    """Judge the stored traces of a run and read its texts anew. Answers to scenarios that are not in
    the bank stay as they are.
    """
    known = {scenario.id: scenario for scenario in (*bank.scenarios, OWN_SCENARIO)}
    for stored in run:
        scenario, traces = known.get(stored.answer.scenario or ""), run.traces(stored)
        anew = _judged_anew(stored, scenario, traces, reader) if scenario is not None else stored
        yield GradedAnswer(anew, traces)


def _judged_anew(
    stored: StoredAnswer, scenario: Scenario, traces: tuple[Trace, ...], reader: TextJudge
) -> StoredAnswer:
    grades = [
        own_grade(trace, stored.agent)
        if scenario.id == OWN
        else write_grade(scenario, stored.agent, judge(trace, scenario), trace=trace)
        for trace in traces
    ]
    update: dict[str, object] = {
        "alternatives": tuple(
            old.model_copy(update={"grade": new.model_copy(update={"seconds": old.grade.seconds})})
            for old, new in zip(stored.answer.alternatives, grades, strict=True)
        )
    }
    if stored.transcript is not None:
        said, verdicts = natural_part(stored.transcript), [grade.verdicts for grade in grades]
        criteria, excuses = assess(said, scenario, verdicts, reader)
        update |= {"criteria": criteria, "rationalizations": excuses}
        update["reading"] = stored.transcript.notes
    return stored.model_copy(update={"answer": stored.answer.model_copy(update=update)})
