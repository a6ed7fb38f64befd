"""For pytest: the fixtures ``grader`` and ``grade``, found through the entry point ``pytest11``.

::

    def test_our_trainer_accumulates_as_it_should(grade):
        assert grade(Path("train.py")).code == "right"
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from harness.domain.answer import AnswerGrade
    from harness.interface import Grader


@pytest.fixture(scope="session")
def grader() -> Iterator["Grader"]:
    """One warm ``harness.Grader`` for the whole session."""
    from harness.interface import Grader  # here: most sessions of pytest never ask for it

    with Grader() as opened:
        yield opened


@pytest.fixture
def grade(grader: "Grader") -> "Callable[..., AnswerGrade]":
    """``grade(path_or_text, scenario=None)``: one answer, graded. See ``harness.Grader.grade``."""

    def graded(given: Any, scenario: str | None = None) -> "AnswerGrade":
        return grader.grade(given, scenario)

    return graded
