"""No labelled answer is judged the opposite of its label, and few are inconclusive.

The first measurement of each set is in ``docs/error-rates.md``; here they only keep what was reached.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.corpora.grading import Batch, graded_together
from tests.corpora.manifest import ANSWERS, IDEAL, RATIONALIZING, SETS, Answer
from tests.sampling import sampled

DECIDED = {"right", "wrong"}

MOST_UNDECIDED = 0.06
"""Share of a set that may be inconclusive beyond what the manifest expects: that costs an answer, no
trust."""

EXACT = (IDEAL, "strange-right", "strange-wrong", "seen", "unseen")
"""Sets of which each answer is judged as labelled, or as the manifest expects."""


def tolerated(name: str) -> int:
    """How many answers of a set may come out neither as labelled nor as expected."""
    if name == RATIONALIZING:
        return len(SETS[name])  # Most hold no program, or one that is only not right.
    if name == "more-sessions":
        return 24  # A file that a command may have changed is unknown, and so is the program.
    return 0 if name in EXACT else max(3, int(MOST_UNDECIDED * len(SETS[name])))


@pytest.fixture(scope="module")
def batch(request: pytest.FixtureRequest) -> Iterator[Batch]:
    """All answers that the chosen tests of this file ask about, in the order of the tests."""
    asked: dict[str, Answer] = {}
    for item in request.session.items:
        if item.path == request.path:
            given = item.callspec.params
            for answer in (
                [given["answer"]] if "answer" in given else chosen(given["name"], request)
            ):
                asked[answer.name] = answer
    with graded_together(list(asked.values())) as running:
        yield running


def chosen(name: str, request: pytest.FixtureRequest) -> list[Answer]:
    """The answers of a set that this run asks about."""
    return SETS[name] if request.config.getoption("--every") else asked_in_full(name)


def few(answers: list[Answer], size: int = 6) -> list[Any]:
    """Some run always, more in ``make test-full``, the rest in ``make test-every``."""
    kept = {answer.name for name in SETS for answer in asked_in_full(name)}
    return sampled(
        answers, size, named=lambda answer: answer.name, seldom=lambda a: a.name not in kept
    )


def asked_in_full(name: str) -> list[Answer]:
    """Every second answer of a set, or all of one that is judged as labelled to the last."""
    return SETS[name] if name in EXACT else SETS[name][::2]


@pytest.mark.parametrize("answer", few(ANSWERS))
def test_no_answer_is_judged_the_opposite_of_its_label(batch, answer):
    """Where the manifest expects something else, that is no surprise either."""
    found = batch.verdict(answer)

    assert found["code"] not in DECIDED - {answer.label, answer.expected}, found


@pytest.mark.parametrize("answer", few([a for a in ANSWERS if a.fails], 2))
def test_a_convincing_fault_is_wrong_for_the_fault_that_it_has(batch, answer):
    """The property that names it is among those that fail."""
    assert answer.fails in batch.verdict(answer)["failed"]


@pytest.mark.full
@pytest.mark.parametrize("name", SETS)
def test_few_answers_of_a_set_are_inconclusive(batch, name, request):
    """Beyond those that the manifest expects to be."""
    asked = chosen(name, request)
    codes = {a.name: (a.label, a.expected, batch.verdict(a)["code"]) for a in asked}
    other = {a: code for a, (*accepted, code) in codes.items() if code not in accepted}

    assert len(other) <= tolerated(name), other
