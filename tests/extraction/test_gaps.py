"""A loop that leaves lines out is not judged: what stands there is not known."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.extraction import proposals
from harness.extraction.gaps import has_gap
from tests.extraction.situation import scenario
from tests.extraction.test_extract import OTHER, block, chosen, conversation

GAPS = [
    "...",
    "# ...",
    "# ... as before ...",
    "# rest of the loop as before",
    "# (unchanged)",
    "# same as before",
    "# your existing code",
    "# \N{HORIZONTAL ELLIPSIS} forward",
]


def full(*body: str) -> str:
    return "for i, (x, y) in enumerate(loader):\n" + "".join(f"    {line}\n" for line in body)


@pytest.mark.parametrize("gap", GAPS)
def test_a_loop_with_a_gap_is_no_proposal(gap):
    """One with a gap where the step belongs had been judged as one that never steps."""
    shown = full(gap, "loss.backward()", "clip_grad_norm_(model.parameters(), 0.5)", "opt.step()")
    found = proposals(conversation(block(shown)), scenario())

    assert isinstance(found, NoCandidate)
    assert found.reason == "the loop of the answer leaves lines out"
    assert chosen(block(shown) + block(OTHER, "In full:")) == [[1]]


@pytest.mark.parametrize(
    "shown",
    [
        full("loss.backward()", "optimizer.step()"),
        full("loss.backward()", "# logging is left to you", "optimizer.step()"),
        "def f():\n    ...\n" + full("loss.backward()", "optimizer.step()"),
        "# model and loader as before\n" + full("loss.backward()", "optimizer.step()"),
    ],
    ids=["no gap", "a remark", "a stub", "above the loop"],
)
def test_a_loop_that_is_whole_has_none(shown):
    assert not has_gap(shown)
