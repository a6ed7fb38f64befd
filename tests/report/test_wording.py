"""Sentences of properties in an author's words."""

import pytest

from harness.domain.stored import StoredAnswer
from harness.domain.wording import placed, plainly
from harness.report.answers import render_answer, render_line
from harness.report.console import plain_text
from harness.report.html import render_page
from harness.report.junit import render_junit
from harness.report.markdown import render_markdown
from tests.report.sides import answer, report, side


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


PAGES = {
    "grade": lambda one: plain_text(render_answer(one.answer, verbose=False, show_program=False)),
    "grade --verbose": lambda one: plain_text(
        render_answer(one.answer, verbose=True, show_program=False)
    ),
    "html": lambda one: render_page(report(side("run", one))),
    "junit": lambda one: render_junit(report(side("run", one))),
    "markdown": lambda one: render_markdown(report(side("run", one))),
}


def undecided(reason: str) -> StoredAnswer:
    """An inconclusive answer with the reason for that."""
    stored = answer("inconclusive")
    (one,) = stored.answer.alternatives
    told = one.model_copy(update={"grade": one.grade.model_copy(update={"reason": reason})})
    graded = stored.answer.model_copy(update={"alternatives": (told,)})
    return stored.model_copy(update={"answer": graded})


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "stored", [answer("wrong"), undecided("clip-global-norm: In loud, update 0 it is not.")]
)
def test_every_output_for_people_places_what_was_seen_in_the_same_words(name, stored):
    page = PAGES[name](stored)

    assert "n large gradients, in its first update" in page
    assert "loud, update 0" not in page


def test_reasons_are_sentences_for_people_in_python_and_in_json_as_well():
    """They told `In loud, update 0`, which is the name of an execution and a count from 0."""
    wrong = answer("wrong").answer

    assert "n large gradients, in its first update" in wrong.reasons[0]
    assert "n large gradients, in its first update" in render_line(wrong)
