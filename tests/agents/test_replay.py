"""Stored answers are replayed by the scenario's name and the number of the trial."""

import pytest

from harness.agents.naming import Asking, agent_named
from harness.agents.replay import stored_name
from harness.agents.scripted import REFERENCE
from harness.domain.errors import UsageError
from harness.scenarios import load_bank
from tests.fakes.bank import FakeBank


@pytest.fixture
def scenario(tmp_path):
    (scenario,) = load_bank(FakeBank(tmp_path / "bank").add().folder).scenarios
    return scenario


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "answers"
    folder.mkdir()
    return folder


def replayed(folder, scenario, trial=1):
    with agent_named(f"replay:{folder}", Asking()) as agent:
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


def test_a_transcript_of_an_earlier_run_comes_back_as_it_was(folder, scenario):
    stored = REFERENCE.ask(scenario).model_copy(update={"scenario": scenario.id})
    (folder / "transcripts").mkdir()
    file = folder / "transcripts" / stored_name(scenario.id, 1)
    file.write_text(stored.model_dump_json())

    assert replayed(folder, scenario) == stored


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
