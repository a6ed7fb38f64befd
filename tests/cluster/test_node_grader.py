"""What travels between a driver and a node arrives as it was sent."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from harness.cluster.node_grader import packed, proposal_from, shipped
from harness.domain.errors import HarnessFault
from harness.domain.proposal import AnswerToJudge
from harness.domain.transcript import Message, Transcript
from harness.proposing import proposal_of
from harness.scenarios import default_bank, load_bank
from harness.trial import Probing


@pytest.fixture(scope="module")
def scenario():
    return next(s for s in load_bank(default_bank()).scenarios if s.id == "zero-grad-missing")


def test_a_proposal_with_its_traces_is_the_same_after_the_way(warm, scenario):
    """Verdicts, numbers and stories; JSON, so that nothing is unpickled on arrival."""
    text = f"```python\n{scenario.buggy}\n```"
    answer = Transcript(messages=(Message(role="assistant", text=text),), agent="test")
    asked = AnswerToJudge(answer, "first", "test", "test", 0)
    with ThreadPoolExecutor(2) as threads, warm(1) as tools:
        proposal = proposal_of(asked, scenario, Probing(tools, threads, 0))
    arrived = proposal_from(packed(proposal))

    assert proposal.code == "wrong"
    assert packed(arrived) == packed(proposal)
    assert arrived.programs[0].alternative == proposal.programs[0].alternative


def test_a_scenario_that_changed_on_its_way_is_refused(scenario):
    """By its digest, before anything is judged by it."""
    sent = shipped(scenario)

    with pytest.raises(HarnessFault, match="not the one that was sent"):
        replace(sent, data=sent.data.replace(b"zero", b"nero", 1)).scenario()
    assert sent.scenario().model_dump_json() == scenario.model_dump_json()
