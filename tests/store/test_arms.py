"""A stored run becomes one side of a comparison: an answer, a trial."""

from harness.domain.answer import Alternative, AnswerGrade
from harness.domain.assessment import CriterionState, Rationalized
from harness.domain.grade import Grade
from harness.domain.model import NoAnswer
from harness.domain.stored import GradedAnswer, RunHead, SkillUsed, StoredAnswer
from harness.domain.transcript import Transcript
from harness.domain.verdict import failed
from harness.store import RunFolder
from harness.store.arms import arm_of

FAIL = failed("clip-before-step", "It was clipped after the step.")


def head(**changed: object) -> RunHead:
    same = {
        "kind": "agent",
        "harness_version": "1",
        "torch_version": "2",
        "bank_digest": "abc",
        "judge": "none",
        "agent": "anthropic:m",
        "skill": SkillUsed(name="s", digest="d", delivery="tool"),
        "seed": 3,
    }
    return RunHead.model_validate({**same, **changed})


def wrong() -> AnswerGrade:
    grade = Grade(
        scenario="x", agent="a", code="wrong", verdicts=(FAIL,), advisory=(), reason=None, seconds=0
    )
    return AnswerGrade(
        file="x",
        scenario="x",
        alternatives=(Alternative(origin="block 1", program="pass", grade=grade),),
        criteria={"said": CriterionState(state="met", polarity="must")},
        rationalizations=(Rationalized(excuse="no time", instead="-", quote="I had no time"),),
    )


def arm(tmp_path, *answers: StoredAnswer, **changed: object):
    with RunFolder.create(tmp_path / "run", head(**changed)) as run:
        for answer in answers:
            run.add(GradedAnswer(answer))
    with RunFolder.load(tmp_path / "run") as run:
        return arm_of(run)


def test_an_answer_is_a_trial_with_its_verdicts_criteria_and_excuses(tmp_path):
    found = arm(tmp_path, StoredAnswer(key="1", agent="a", trial=2, answer=wrong()))

    (scenario,) = found.scenarios
    (trial,) = scenario.trials
    assert (scenario.scenario, trial.trial, trial.outcome) == ("x", 2, "wrong")
    assert trial.verdicts == (FAIL,)
    assert trial.criteria == {"said": "met"}
    assert trial.rationalizations == ("no time",)
    assert (found.name, found.model, found.delivery, found.seed) == (
        "run",
        "anthropic:m",
        "tool",
        3,
    )


def test_an_agent_that_gave_no_answer_is_unanswered_and_not_without_code(tmp_path):
    answer = AnswerGrade(file="x", scenario="x", error="no answer: overloaded")
    why = NoAnswer(kind="overloaded", sentence="overloaded")

    found = arm(tmp_path, StoredAnswer(key="1", agent="a", answer=answer, no_answer=why))

    assert found.scenarios[0].trials[0].outcome == "unanswered"


def test_answers_of_files_are_numbered_in_their_order(tmp_path):
    """Each of them says that it is the first."""
    answers = [StoredAnswer(key=str(i), agent="a", answer=wrong()) for i in range(3)]

    found = arm(tmp_path, *answers)

    assert [trial.trial for trial in found.scenarios[0].trials] == [1, 2, 3]


def test_a_replay_is_named_by_who_answered_in_the_first_place(tmp_path):
    """Two folders of answers of one model can be compared."""
    said = Transcript(messages=(), agent="model-7")
    one = StoredAnswer(key="1", agent="a", answer=wrong(), transcript=said)

    assert arm(tmp_path, one, agent="replay:old").model == "model-7"
