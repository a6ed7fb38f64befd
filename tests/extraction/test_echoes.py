"""A block that repeats the posted loop is no proposal beside another one."""

import pytest

from harness.extraction.pieces import echoes

POSTED = """\
steps = 4
optimizer.zero_grad()
for i, (x, y) in enumerate(loader):
    loss = f(model(x), y)
    loss.backward()
    for p in model.parameters():
        p.grad /= steps
    if (i + 1) % steps == 0:
        optimizer.step()
        optimizer.zero_grad()
    print(i, loss.item())
"""

ECHOES = {
    "word for word": POSTED,
    "without its setting": POSTED.replace("steps = 4\n", ""),
    "without clearing before the loop": POSTED.replace("optimizer.zero_grad()\nfor", "for"),
    "without what it prints": POSTED.replace("    print(i, loss.item())\n", ""),
    "with comments and an import": "import torch\n" + POSTED.replace("/= steps", "/= steps  # !"),
    "cut off before the update": POSTED.partition("    if")[0],
}


@pytest.mark.parametrize("code", ECHOES.values(), ids=ECHOES)
def test_the_posted_loop_is_known_again_with_lines_left_out_that_change_nothing(code):
    """It had been judged beside the loop that was proposed, for it lacked a line of its settings."""
    assert echoes(POSTED, code)


PROPOSALS = {
    "the fault taken out": POSTED.replace("    for p in model.parameters():\n        p.grad /= steps\n", ""),
    "another divisor": POSTED.replace("/= steps", "/= 4"),
    "another order": POSTED.replace(
        "        optimizer.step()\n        optimizer.zero_grad()",
        "        optimizer.zero_grad()\n        optimizer.step()",
    ),
    "a step that is not cleared after": POSTED.replace("step()\n        optimizer.zero_grad()", "step()"),
    "cut off, and a line left out above": POSTED.replace(
        "    for p in model.parameters():\n        p.grad /= steps\n", ""
    ).partition("        optimizer.step")[0] + "        optimizer.update()\n",
    "lines without a loop": "loss.backward()\noptimizer.step()\n",
}  # fmt: skip


@pytest.mark.parametrize("code", PROPOSALS.values(), ids=PROPOSALS)
def test_a_loop_that_lacks_a_line_which_trains_is_a_proposal(code):
    """The line that is gone may be the fault."""
    assert not echoes(POSTED, code)
