"""Stored answers are replayed by the scenario's name and the number of the trial."""

import pytest

from harness.agents.agent import Unanswered
from harness.agents.naming import AskingOptions, agent_named
from harness.agents.scripted import BUGGY, REFERENCE
from harness.domain.answer import AnswerGrade
from harness.domain.errors import UsageError
from harness.domain.model import NoAnswer
from harness.domain.stored import RunHead, StoredAnswer


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "answers"
    folder.mkdir()
    return folder


def replayed(folder, scenario, trial=1):
    with agent_named(f"replay:{folder}", AskingOptions()) as agent:
        return agent.ask(scenario, trial)


def test_a_pasted_answer_is_replayed_behind_the_question(folder, scenario):
    (folder / "toy-loss.md").write_text("Clip before the step.")

    transcript = replayed(folder, scenario)

    assert [message.text for message in transcript.messages] == [
        scenario.prompt,
        "Clip before the step.",
    ]


def test_each_trial_has_its_own_file(folder, scenario):
    (folder / "toy-loss.md").write_text("One.")
    (folder / "toy-loss.2.md").write_text("Two.")

    assert replayed(folder, scenario, 2).answer == "Two."
    assert replayed(folder, scenario, 1).answer == "One."


def test_a_transcript_in_our_own_form_comes_back_as_it_was(folder, scenario):
    stored = REFERENCE.ask(scenario).model_copy(update={"scenario": scenario.id})
    (folder / "toy-loss.1.json").write_text(stored.model_dump_json())

    assert replayed(folder, scenario) == stored


def head(kind="agent"):
    return RunHead(
        kind=kind, harness_version="0", torch_version="2", bank_digest="d", judge="none", agent="x"
    )


def line(scenario, trial, **how):
    answer = AnswerGrade(file="x", scenario=scenario.id)
    key = f"{scenario.id}/{trial}/{len(how)}"
    return StoredAnswer(key=key, agent="x", trial=trial, answer=answer, **how).model_dump_json()


def write_run(folder, lines, kind="agent"):
    (folder / "run.json").write_text(head(kind).model_dump_json())
    (folder / "answers.jsonl").write_text("".join(f"{one}\n" for one in lines))


def test_a_stored_run_is_replayed_trial_by_trial(folder, scenario):
    stored = REFERENCE.ask(scenario).model_copy(update={"scenario": scenario.id})
    gone = NoAnswer(kind="refusal", sentence="the model refused")
    write_run(folder, [line(scenario, 2, transcript=stored), line(scenario, 1, no_answer=gone)])

    with pytest.raises(Unanswered) as caught:
        replayed(folder, scenario, 1)
    assert replayed(folder, scenario, 2) == stored
    assert caught.value.why == gone


def test_graded_files_are_replayed_in_their_order(folder, scenario):
    first = REFERENCE.ask(scenario).model_copy(update={"scenario": scenario.id})
    second = BUGGY.ask(scenario).model_copy(update={"scenario": scenario.id})
    lines = [
        line(scenario, 1, transcript=first),
        line(scenario, 1, transcript=second, no_answer=None),
    ]
    write_run(folder, lines, kind="grade")

    assert replayed(folder, scenario, 1) == first
    assert replayed(folder, scenario, 2) == second


def test_a_line_that_a_kill_cut_off_does_not_count(folder, scenario):
    stored = REFERENCE.ask(scenario).model_copy(update={"scenario": scenario.id})
    write_run(folder, [line(scenario, 1, transcript=stored)])
    with (folder / "answers.jsonl").open("a") as lines:
        lines.write(line(scenario, 2, transcript=stored)[:50])

    assert replayed(folder, scenario, 1) == stored
    with pytest.raises(UsageError, match="no answer to toy-loss in trial 2"):
        replayed(folder, scenario, 2)


def test_a_run_without_answers_of_an_agent_gets_one_line(folder, scenario):
    write_run(folder, [], kind="bank")

    with pytest.raises(UsageError, match="no agent answered"):
        replayed(folder, scenario)


def test_a_missing_answer_is_named_with_the_file_that_would_hold_it(folder, scenario):
    (folder / "toy-loss.md").write_text("One.")

    with pytest.raises(
        UsageError, match=r"no answer to toy-loss in trial 2: expected toy-loss\.2\.json"
    ):
        replayed(folder, scenario, 2)


def test_an_answer_that_cannot_be_read_gets_one_line(folder, scenario):
    (folder / "toy-loss.json").write_text('{"half": ')

    with pytest.raises(UsageError, match=r"toy-loss\.json: no answer can be read from it"):
        replayed(folder, scenario)
