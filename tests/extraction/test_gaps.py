"""What an answer leaves out of a loop, ``...`` or "as before", stands in the posted one."""

import pytest

from harness.extraction.gaps import filled

POSTED = """\
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    loss = f(model(x), y)
    loss.backward()
    report(i)
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
"""
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
def test_a_gap_is_filled_with_what_the_posted_loop_has_there(gap):
    """A loop with a gap where the step belongs had been judged as one that never steps."""
    shown = full(gap, "loss.backward()", "clip_grad_norm_(model.parameters(), 0.5)", gap)
    wanted = full(
        "optimizer.zero_grad()", "loss = f(model(x), y)", "loss.backward()",
        "clip_grad_norm_(model.parameters(), 0.5)", "optimizer.step()",
    )  # fmt: skip

    assert filled(shown, POSTED) == wanted


def test_what_the_loop_shows_elsewhere_is_not_put_into_a_gap():
    """The report is called behind the clip now, and clearing has gone to the end."""
    shown = full(
        "...", "clip_grad_norm_(ps)", "report(i)", "optimizer.step()", "optimizer.zero_grad()"
    )

    assert filled(shown, POSTED) == full(
        "loss = f(model(x), y)", "loss.backward()", "clip_grad_norm_(ps)", "report(i)",
        "optimizer.step()", "optimizer.zero_grad()",
    )  # fmt: skip


def test_a_gap_in_a_branch_is_filled_from_that_branch():
    posted = "for x in loader:\n    f(x).backward()\n    if full():\n        opt.step()\n        opt.zero_grad()\n"
    shown = "for x in loader:\n    f(x).backward()\n    if full():\n        clip_grad_norm_(p)\n        ...\n"

    assert filled(shown, posted) == shown.replace("...", "opt.step()\n        opt.zero_grad()")


DIVIDED = """\
for x in loader:
    scaler.scale(f(x)).backward()
    for p in model.parameters():
        p.grad /= scaler.get_scale()
    clip_grad_norm_(ps)
    scaler.step(opt)
"""


def test_what_stands_deeper_in_the_loop_now_is_not_put_into_a_gap():
    """The division had been put back where it had been the fault."""
    divides = "for p in model.parameters():\n        {}p.grad /= scaler.get_scale()\n"
    shown = f"for x in loader:\n    ...\n    if full():\n        {divides.format('    ')}        scaler.step(opt)\n"

    assert (filled(shown, DIVIDED) or "").count("get_scale") == 1


def test_a_gap_beside_a_new_line_is_not_filled_with_what_that_line_may_replace():
    shown = (
        "for x in loader:\n    ...\n    scaler.unscale_(opt)\n    clip_grad_norm_(ps)\n    ...\n"
    )

    assert filled(shown, DIVIDED) is None


@pytest.mark.parametrize(
    "shown",
    [
        full("loss.backward()", "optimizer.step()"),
        full("loss.backward()", "# dots... they are everywhere, as before", "optimizer.step()"),
        "for x in another:\n    ...\n    loss.backward()\n",
        "def f():\n    ...\n",
    ],
    ids=["no gap", "a remark", "other data", "no loop"],
)
def test_a_block_without_a_gap_of_the_posted_loop_stays_as_it_is(shown):
    found = filled(shown, POSTED)
    assert found is None or "zero_grad" not in found.partition("loss.backward")[2]
