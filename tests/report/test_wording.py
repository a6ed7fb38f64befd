"""Sentences of properties in an author's words."""

import pytest

from harness.report.wording import plainly


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("It moved 2 in as-it-is, update 0 (as-computed).", "It moved 2 in its first update."),
        (
            "In loud, update 6 it consumed 1.",
            "On large gradients, in its seventh update it consumed 1.",
        ),
        (
            "In 15 loud windows clipping had acted.",
            "In 15 windows on large gradients clipping had acted.",
        ),
        (
            "In quiet, update 10, rank 1 nothing.",
            "On small gradients, in its 11th update, rank 1 nothing.",
        ),
        ("In as-it-is none of 14 updates had one.", "As it stands none of 14 updates had one."),
        ("Line 3 prints quiet, not loud.", "Line 3 prints quiet, not loud."),
    ],
)
def test_executions_and_updates_are_told_in_words(said, plain):
    assert plainly(said) == plain
