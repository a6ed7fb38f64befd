"""A real language model, small enough for a wheel, goes the whole way from question to candidate."""

import os

import pytest

from harness.agents.naming import AskingOptions, agent_named
from harness.domain.candidate import NoCandidate
from harness.extraction import extract
from harness.scenarios.selection import find
from tests.bank import BANK


@pytest.mark.model
def test_a_small_model_answers_and_its_answer_is_read_like_any_other(tmp_path):
    command = os.environ["HARNESS_REAL_MODEL"]
    scenario = find(BANK, "nan-after-clipping")
    asking = AskingOptions(cache=tmp_path, seconds=900)

    with agent_named(f"command:{command}", asking) as agent:
        transcript = agent.ask(scenario)
        again = agent.ask(scenario)
    found = extract(transcript, scenario)

    assert transcript.answer.strip()
    assert again == transcript
    assert isinstance(found, NoCandidate) or all(one.program for one in found)
