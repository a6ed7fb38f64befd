"""Sentences of properties in an author's words."""

import pytest

from harness.report.wording import placed, plainly


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
            "On small gradients, in its 11th update on rank 1 nothing.",
        ),
        ("In as-it-is none of 14 updates had one.", "As it stands none of 14 updates had one."),
        (
            "In deep, update 2 it consumed 8.",
            'In the execution "deep", in its third update it consumed 8.',
        ),
        (
            "It stepped: in own-data, update 0 it consumed 8.",
            'It stepped: in the execution "own-data", in its first update it consumed 8.',
        ),
        ("In spoiled one batch is bad.", "With one bad batch one batch is bad."),
        (
            "In graded, update 1 it acted.",
            "On gradients of all sizes, in its second update it acted.",
        ),
        ("Line 3 prints quiet, not loud.", "Line 3 prints quiet, not loud."),
    ],
)
def test_executions_and_updates_are_told_in_words(said, plain):
    assert plainly(said) == plain


@pytest.mark.parametrize(
    ("where", "plain"),
    [
        ("loud, update 2", "on large gradients, in its third update"),
        ("as-it-is, update 2", "in its third update"),
        ("deep, update 0, rank 1", 'in the execution "deep", in its first update on rank 1'),
        ("quiet, rank 1", "on small gradients, rank 1"),
        ("quiet", "on small gradients"),
        ("as-it-is", "as it stands"),
        ("deep", 'in the execution "deep"'),
        ("loud, fewest", "on large gradients, fewest"),
        ("", ""),
    ],
)
def test_the_place_of_a_figure_is_told_in_the_same_words(where, plain):
    assert placed(where) == plain
