"""An answer beside the file that it changes: what is run is the whole file, changed."""

import pytest

from harness.domain.candidate import NoCandidate
from harness.domain.own import OWN_SCENARIO
from harness.domain.transcript import Message, Origin, Transcript
from harness.extraction.extract import extract
from harness.markdown import fence

SCRIPT = """\
import torch
from torch import nn


def train(model, loader, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()


def main():
    model = nn.Linear(2, 1)
    train(model, [], torch.optim.SGD(model.parameters(), lr=0.1))


main()
"""
CLIP = "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "        optimizer.step()\n"
CLIPPED = SCRIPT.replace(STEP, CLIP + STEP)
FUNCTION = CLIPPED.partition("\n\n\n")[2].partition("\n\n\n")[0]
OLD, NEW = f"        loss.backward()\n{STEP}", f"        loss.backward()\n{CLIP}{STEP}"


def run_of(answer: str, posted: str = SCRIPT) -> str | NoCandidate:
    transcript = Transcript(
        messages=(Message(role="assistant", text=answer),),
        agent="unknown",
        origin=Origin(file="answer.md", format="markdown"),
    ).with_question(fence(posted, "python"))
    found = extract(transcript, OWN_SCENARIO)
    return found if isinstance(found, NoCandidate) else found[0].program


@pytest.mark.parametrize(
    "answer",
    [
        fence(f"--- a/t.py\n+++ b/t.py\n@@ -9,2 +9,3 @@\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        fence(f"@@ -1,77 +1 @@\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        fence(f"@@ def train\n         loss.backwards() # cut\n         loss.backward()\n+{CLIP} {STEP}", "diff"),
        f"In `t.py`, replace\n\n{fence(OLD, 'python')}\n\nwith\n\n{fence(NEW, 'python')}\n",
        f"Here is the function:\n\n{fence(FUNCTION, 'python')}\n",
        f"The whole file:\n\n{fence(CLIPPED, 'python')}\n",
    ],
    ids=["diff", "wrong counts", "misquoted context", "old and new lines", "a function", "a file"],
)  # fmt: skip
def test_every_way_of_showing_a_change_ends_as_the_changed_file(answer):
    program = run_of(answer)

    assert isinstance(program, str), program
    assert [li for li in program.splitlines() if li] == [li for li in CLIPPED.splitlines() if li]


def test_what_was_posted_without_an_update_gives_way_to_the_update_of_the_answer():
    posted = "def penalty(model, x):\n    return model(x).norm()\n"
    shown = fence(posted.replace("norm", "square().sum"), "python")

    step = "loss = penalty(model, x)\nloss.backward()\noptimizer.step()\n"
    program = run_of(f"{shown}\n\nIn the step:\n\n{fence(step, 'python')}\n", posted)

    assert isinstance(program, str)
    assert "optimizer.step()" in program
    assert "square().sum" in program


def test_a_new_helper_beside_a_changed_function_comes_along():
    helper = "def bound(model):\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n\n\n"
    changed = FUNCTION.replace(CLIP, "        bound(model)\n")

    program = run_of(f"Like this:\n\n{fence(helper + changed, 'python')}\n")

    assert isinstance(program, str)
    assert "def bound" in program
    assert "main()" in program
    assert program.count("def train") == 1


def test_a_change_that_has_no_place_is_run_for_nobody():
    """One of two changes fits. Half of a repair is not what the answer proposes."""
    answer = (
        f"In `t.py`, replace\n\n{fence(OLD, 'python')}\n\nwith\n\n{fence(NEW, 'python')}\n\n"
        f"In `t.py`, replace\n\n{fence('scaler.update()', 'python')}\n\nwith\n\n{fence('pass', 'python')}\n"
    )

    found = run_of(answer)

    assert isinstance(found, NoCandidate)
    assert "block 3" in found.reason
