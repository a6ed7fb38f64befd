"""A block that the words after it take back is not the proposal."""

import pytest

from harness.extraction.retractions import replaced_by_the_next, takes_back
from tests.extraction.test_extract import LOOP, OTHER, block, chosen

TAKEN_BACK = [
    "Wait, that still clips the scaled gradients.",
    "Hmm, actually no: the gradients have just been cleared.",
    "Scratch that, this normalises every tensor.",
    "Actually, wait. You want the weights bounded as well.",
    "But wait - the last window is short.",
    "Oops: the step comes first here.",
    "Correction: `unscale_` is missing.",
    "Sorry, that divides twice.",
    "This is wrong: nothing is left to clip.",
    "What I wrote is not quite right.",
    "Actually, that's still too early.",
    "No, that doesn't clip the head.",
    "But I would not: the schedule is then too long.",
    "EDIT 2: a colleague pointed out that this clips after the step.",
    "Moment, das ist falsch.",
    "Attendez, il n'y a pas encore de gradients.",
]


@pytest.mark.parametrize("after", TAKEN_BACK)
def test_what_is_taken_back_gives_way_to_what_comes_instead(after):
    """A loop that the answer corrected a line later had been judged as its proposal."""
    assert chosen(block(LOOP, "Like this:") + f"{after} Correct version:\n" + block(OTHER)) == [[1]]


KEPT = [
    "Wait for the first epoch to finish before you look at the curve.",
    "Actually, this is all you need.",
    "No, this isn't wrong, only slow.",
    "This is wrong only if you also use DDP.",
    "That is the whole change.",
    "No, you need not give up mixed precision.",
    "Hold on to the returned norm, it is worth a plot.",
    "Wait, is that not what you had? It is right: the order differs.",
    "Ignore the warning about the scheduler.",
    "Let me explain why.",
    "Correct order: backward, clip, step.",
    "Wait, is that enough? Yes, it is.",
    "Moment, reicht das? Ja.",
    "which clips once per update.",
    "which breaks nothing. I use the second.",
    "Update: this works on 2.3 as well.",
    "Update: there was a bug in torch 2.1, you may have met it.",
    "Das ist nicht schlimm.",
    "I would use this one.",
]


@pytest.mark.parametrize("after", KEPT)
def test_words_that_only_sound_like_it_take_nothing_back(after):
    assert not takes_back(after)
    assert chosen(block(LOOP, "Like this:") + f"{after}\n" + block(OTHER, "Or:")) == [[0], [1]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Replace", "with"),
        ("Replace these two lines:", "with this:"),
        ("In your loop, change", "to"),
        ("Change this:", "to this:"),
        ("Instead of", "write"),
        ("So swap", "for"),
        ("Find this line:", "and replace it with:"),
    ],
)
def test_old_lines_are_no_part_of_what_replaces_them(old, new):
    """Both were joined to one program, which went back through its graph twice."""
    assert replaced_by_the_next(old, new)
    assert chosen(block("(loss / n).backward()\n", old) + block("loss.backward()\n", new)) == [[1]]


@pytest.mark.parametrize(
    ("lead", "next_lead"),
    [
        ("Replace the loop with", "Then run it with"),
        ("Change these two lines:", "Here is the whole file:"),
        ("Swap the last two lines:", "and it trains."),
        ("Do not change the loader:", "with workers:"),
    ],
)
def test_lines_that_are_the_new_ones_already_are_kept(lead, next_lead):
    assert not replaced_by_the_next(lead, next_lead)
