"""What a message asks for in words, and what it does not."""

import pytest

from harness.extraction.wishes import wishes_of

ASKS = {
    "each_target": [
        "I want the gradient of the mean over all label tokens of the eight micro-batches.",
        "Each real token of the window should count the same.",
        "Every token must weigh equally, whichever rank holds it.",
        "It has to be the sum of the token losses / number of target tokens on all ranks.",
        "Rows of different lengths, accumulated, should be exactly the same as one big batch.",
        "I need a global token-mean.",
    ],
    "whole_norm": [
        "Please clip by the global norm, at 2.",
        "I would like global grad norm clipping.",
        "I need to clip the joint norm of both towers.",
        "Limit the global gradient norm to 1.0.",
    ],
    "no_clip": [
        "I want to log the norm, no clipping please.",
        "I don't want to clip, I only want to see the norm.",
        "How do I log the norm? Only logging, my training should stay exactly the same.",
        "I want to plot the norm without changing the updates.",
    ],
    "rest_used": [
        "Make sure that the last few batches are used as well.",
        "There are 1030 rows and I don't want to drop any.",
        "I do want every sample to contribute in every epoch.",
    ],
    "rest_is_mean": [
        "The left over batches should be an update, with the mean over those batches.",
        "The last window should be a proper mean of what it holds.",
    ],
}


@pytest.mark.parametrize(("wish", "said"), [(w, s) for w, texts in ASKS.items() for s in texts])
def test_what_is_asked_for_is_read(wish, said):
    """Whatever else a sentence asks for by the way."""
    assert getattr(wishes_of(said), wish)


@pytest.mark.parametrize(
    "said",
    [
        "How do I accumulate over 8 micro-batches? Labels are -100 on padding.",
        "The mean over tokens is what cross_entropy gives me.",
        "Keep the rest as it is, and keep it short please.",
        "There is no clipping yet; please add it.",
        "The global clip hides small layers. Clip each parameter tensor separately by global norm 1.",
        "len(loader) is a multiple of 4, the last window is a proper mean.",
        "The last window gets a bit less weight, that is fine.",
        "Drop the incomplete window at the end.",
        "Every batch is used for an update, and every epoch has 60 of them.",
        "Adaptive clipping instead of the clip by the global norm.",
        "Should I clip by the global norm or by value?",
    ],
)
def test_what_is_not_asked_for_is_not_read(said):
    assert not any(wishes_of(said).model_dump().values())


def test_code_of_a_message_asks_for_nothing():
    said = "Why is this slow?\n\n```python\n# mean over all tokens, clip by the global norm\n```\n"

    assert not any(wishes_of(said).model_dump().values())


def test_a_clip_that_is_there_is_no_change_of_training():
    asked = (
        "Log the norm without changing the training:\n\n```python\nclip_grad_norm_(p, 1.0)\n```\n"
    )
    assert not wishes_of(asked).no_clip
