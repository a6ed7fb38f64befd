"""A whole loop that an answer offers is a program, whatever words lead to it."""

import pytest

from tests.extraction.test_extract import block, chosen

CLIPS = """\
for x, y in loader:
    opt.zero_grad()
    loss = f(x, y)
    loss.backward()
    clip_grad_norm_(params, 1.0)
    opt.step()
"""
LATE = """\
for x, y in loader:
    opt.zero_grad()
    loss = f(x, y)
    loss.backward()
    opt.step()
    clip_grad_norm_(params, 1.0)
    print(loss.item())
"""

OFFERS = {
    "from now on": "Test with five batches, then run this one from now on:",
    "what is kept": "After the test, this is what I would keep:",
    "how it reads": "Check that your loop now reads like this:",
    "the finished one": "Here is your finished training file, in which you can inspect the loss too:",
}
"""Words of a measurement that announce none."""


@pytest.mark.parametrize("lead", OFFERS.values(), ids=OFFERS)
def test_a_loop_that_is_to_be_run_is_no_diagnostic(lead):
    assert chosen(block(CLIPS, "Clip first:") + block(LATE, lead)) == [[0], [1]]


DIAGNOSTICS = {
    "check": "Check in the log which step it is:",
    "check for a week": "Use this check from now on whenever the loss jumps:",
    "the profile": "For the memory profile run ten steps:",
    "to profile": "Run it once to profile the clip:",
    "debugging": "The debug output is printed by this one:",
    "what is run": "To measure the cost, here is what I would run:",
    "what is kept in view": "Measure first; what you should keep an eye on is printed:",
    "not yet": "Before it is ready for production, verify the norms:",
    "whether": "Check whether the loop looks like yours:",
    "a final check": "The final check, in which every norm is printed:",
    "to be convinced": "Before I say what to change, convince yourself that nothing is clipped:",
    "a test": "Test the corrected loop on one batch:",
}
"""What stays left out: to run it is a step towards knowing something."""


@pytest.mark.parametrize("lead", DIAGNOSTICS.values(), ids=DIAGNOSTICS)
def test_a_loop_that_measures_is_left_out(lead):
    assert chosen(block(CLIPS, "Clip first:") + block(LATE, lead)) == [[0]]


EXTRAS = [
    "Optional: progress on the screen.",
    "## Bonus: with progress",
    "Nice to have, a printout:",
]


@pytest.mark.parametrize("said", EXTRAS)
def test_an_extra_that_is_the_same_loop_over_again_is_a_program(said):
    """Whoever wants the printout takes all of it."""
    assert chosen(block(CLIPS) + block(LATE, said)) == [[0], [1]]
    assert chosen(block(LATE) + block(CLIPS + "    print(loss.item())\n", said)) == [[0], [1]]


OTHER_EXTRAS = {
    "divides": ("## Going further: accumulate", CLIPS.replace("f(x, y)", "f(x, y) / n")),
    "has a scheduler": ("Optional:", CLIPS + "    scheduler.step()\n"),
    "clips otherwise": ("Bonus:", CLIPS.replace("norm_(params, 1.0)", "value_(params, 0.1)")),
    "leaves the clip out": ("Optionally:", CLIPS.replace("    clip_grad_norm_(params, 1.0)\n", "")),
    "shows the old order": ("Optional: run the old order for ten steps.", LATE),
    "is held against it": ("Bonus, to convince your colleague by the difference:", LATE),
    "is for another setting": ("Optional, if you train under DDP:", LATE),
    "looks at something": ("Optional: measure the norms after the step.", LATE),
    "is a fragment": ("Optional:", "loss.backward()\nopt.step()\nclip_grad_norm_(params, 1.0)\n"),
}


@pytest.mark.parametrize(("said", "code"), OTHER_EXTRAS.values(), ids=OTHER_EXTRAS)
def test_an_extra_that_is_something_else_is_left_out(said, code):
    """The question was not about it, and running it here could call a right answer wrong."""
    assert chosen(block(CLIPS, "Clip first:") + block(code, said)) == [[0]]


LABELS = [
    "# Before: the clip stays after the step",
    "# Before (your loop, unchanged)",
    "# Before: clips too late",
    "# Original: the model loop as it is",
    "# BEFORE THE FIX",
    "# BEFORE (too late)",
    "# WRONG: the optimizer stays as it is",
]


@pytest.mark.parametrize("comment", LABELS)
def test_a_comment_that_says_what_was_is_a_label(comment):
    assert chosen(block(f"{comment}\n{LATE}") + block(CLIPS)) == [[1]]


REMEDIES = [
    "## Avoiding the mistake",
    "## Preventing this pitfall",
    "**The loop without the mistake**",
]


@pytest.mark.parametrize("heading", REMEDIES)
def test_a_heading_that_takes_a_mistake_away_does_not_call_the_loop_one(heading):
    assert chosen(block(LATE, heading) + block(CLIPS, "## In short")) == [[0], [1]]


@pytest.mark.parametrize(
    "heading",
    ["## Common mistakes to avoid", "## The mistake", "## Avoid the late clip", "## Pitfalls"],
)
def test_a_heading_that_names_a_mistake_calls_the_loop_one(heading):
    assert chosen(block(LATE, heading) + block(CLIPS, "## In short")) == [[1]]


CHOSEN = ["**Use this one:**", "Use this one:", "This is the loop to use:", "## The version to run"]


@pytest.mark.parametrize("said", CHOSEN)
def test_a_loop_that_is_labelled_as_the_one_to_use_is_the_one_that_is_judged(said):
    """Whatever stands below, or above."""
    assert chosen(block(LATE, said) + block(CLIPS, "It came from this one.")) == [[0]]
    assert chosen(block(CLIPS, "In our trainer it looks like so.") + block(LATE, said)) == [[1]]
    assert chosen(block("# USE THIS ONE\n" + LATE) + block("# for reference\n" + CLIPS)) == [[0]]
