"""The blocks that make up an answer's program are those that people labelled."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.extraction import proposals
from harness.transcripts import read
from tests.corpora.manifest import EXTREMES, LISTED, SCENARIOS, Answer, criteria_of

BLOCKS = [a for a in LISTED if a.set in ("dev", "seen", "unseen")]

# The second loop uses a constant of the first block, which has to come along for it to run.
MORE_THAN_LABELLED = {"dev/d17.md": [[0], [0, 2]]}


@pytest.mark.parametrize("answer", BLOCKS, ids=lambda a: a.name)
def test_the_labelled_blocks_are_the_proposal(answer: Answer):
    """No blocks, where the label says that there is no program."""
    blocks = criteria_of(answer.set)[answer.path.name]["final_blocks"]
    (transcript,) = read(answer.path)

    found = proposals(transcript, SCENARIOS[answer.scenario])

    if answer.label == "none":
        assert isinstance(found, NoCandidate)
        assert found.reason
    else:
        assert not isinstance(found, NoCandidate)
        labelled = blocks if isinstance(blocks[0], list) else [blocks]
        expected = MORE_THAN_LABELLED.get(answer.name, labelled)
        assert [list(one.blocks) for one in found] == expected


@pytest.mark.parametrize("answer", EXTREMES, ids=lambda a: a.name)
def test_ideal_and_rationalizing_answers_propose_one_program(answer: Answer):
    (transcript,) = read(answer.path)

    found = proposals(transcript, SCENARIOS[answer.scenario])

    assert not isinstance(found, NoCandidate)
    assert len(found) == 1
