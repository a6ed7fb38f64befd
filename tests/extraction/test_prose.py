"""Changes that are told in words alone are made where they are clear."""

import pytest

from harness.extraction.prose import told_in_words

POSTED = """\
for x, y in loader:
    opt.zero_grad()
    loss = f(model(x), y) / steps
    loss.backward()
    opt.step()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
STEP, CLIP = "    opt.step()\n", "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
CLIPPED = POSTED.replace(STEP + CLIP, CLIP + STEP)

TOLD = {
    "Move the last line up, above `opt.step()`.": CLIPPED,
    "You only have to move `clip_grad_norm_` directly before `opt.step()`.": CLIPPED,
    "Keep it, but move `clip_grad_norm_(...)` up, so that it sits between `loss.backward()` and "
    "`opt.step()`.": CLIPPED,
    "Change `/ steps` to `/ 4`.": POSTED.replace("/ steps", "/ 4"),
    "`f(model(x), y) / steps` \N{RIGHTWARDS ARROW} `f(model(x), y)`. That is all.": POSTED.replace(" / steps", ""),
    "Change `steps` to `n`. Nothing else.": POSTED.replace("steps", "n"),
    "Move `opt.zero_grad()` into the `for` loop, right above `loss.backward()`.": POSTED.replace(
        "    opt.zero_grad()\n", ""
    ).replace("    loss.back", "    opt.zero_grad()\n    loss.back"),
    "Use `scaler.step(opt)` instead of `opt.step()`.": POSTED.replace("opt.step()", "scaler.step(opt)"),
    "Take `/ steps` out of the loss.": POSTED.replace("/ steps", ""),
    "Delete `opt.zero_grad()`.": POSTED.replace("    opt.zero_grad()\n", ""),
    "Add `log(loss)` right after `loss.backward()`.": POSTED.replace("backward()\n", "backward()\n    log(loss)\n"),
    "Put `begin()` as the first line inside the `for` loop.": POSTED.replace("loader:\n", "loader:\n    begin()\n"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "wanted"), TOLD.items())
def test_a_change_that_is_told_is_made(words, wanted):
    assert told_in_words(POSTED, f"The clip comes too late. {words}") == wanted


UNCLEAR = {
    "an alternative": "Change `/ steps` to `/ 4`, or to `/ 8`.",
    "a condition": "If you accumulate, change `/ steps` to `/ 4`.",
    "what not to do": "Never change `/ steps` to `/ 4`.",
    "two places": "Change `model` to `net`.",
    "part of a name": "Call `a.model(x)` instead of `odel(x)`.",
    "a second change without code": "Change `/ steps` to `/ 4`. Then move the clip up by a line.",
    "a second change in the sentence": "Delete `opt.zero_grad()` and put it behind the step.",
    "something else with code": "Change `/ steps` to `/ 4`. Pass `foreach=True` to the clip.",
    "a name that goes": "Remove `model` from it.",
    "two things that go": "Delete `opt.zero_grad()` and `loss.backward()`.",
    "out of a block": "Take `opt.step()` out of the `if`.",
    "nothing": "The step comes before the clip, and `p.grad` is read by `opt.step()` alone.",
}


@pytest.mark.parametrize("words", UNCLEAR.values(), ids=UNCLEAR)
def test_words_that_are_not_one_clear_change_make_no_program(words):
    """A change that is made by half would be judged as the whole one."""
    assert told_in_words(POSTED, words) is None
