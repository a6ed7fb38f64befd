"""Every spelling of a loop binds in every form, under every set of names, with every shape of batch."""

import itertools

import pytest

from tests.sandbox.binding.spellings import SPELLINGS
from tests.sandbox.binding.variants import FORMS, NAMES, SHAPES, formed, named, shaped

NO_TARGET_AHEAD = {"islice", "next", "window-sum"}
"""Loops that look ahead: a free ``target`` could not belong to the batch in hand."""


def programs():
    """All spellings in all forms and names; shapes take turns, so that each meets each form and name."""
    for number, spelling in enumerate(SPELLINGS):
        for turn, (form, names) in enumerate(itertools.product(FORMS, NAMES)):
            shape = SHAPES[(number + turn) % len(SHAPES)]
            if shape == "free-target" and spelling.name in NO_TARGET_AHEAD:
                shape = "dict"
            yield pytest.param(
                spelling, form, names, shape, id=f"{spelling.name}-{form}-{names}-{shape}"
            )


@pytest.mark.parametrize(("spelling", "form", "names", "shape"), [*programs()])
def test_runs_to_the_end_with_the_expected_steps(run, spelling, form, names, shape):
    """Whatever it is wrapped in and called, a loop makes the optimizer steps that it says."""
    body = spelling.body if shape == "tuple" else shaped(spelling.body, shape)

    ran = run(named(formed(body, form), names))

    assert ran.outcome == "ran"
    assert ran.steps == spelling.steps


def test_names_change_nothing(run):
    """Weights after training are the same whatever things are called."""
    spelling = next(s for s in SPELLINGS if s.name == "accumulate-tail")

    weights = [run(named(formed(spelling.body, "function"), names)).weights for names in NAMES]

    assert weights[0]  # a program that does not run has none
    assert weights[0] == weights[1] == weights[2]


def test_shapes_change_nothing(run):
    """Weights after training are the same whatever a batch looks like."""
    spelling = next(s for s in SPELLINGS if s.name == "clip")

    weights = [run(shaped(spelling.body, shape)).weights for shape in SHAPES]

    assert weights[0]
    assert all(w == weights[0] for w in weights)
