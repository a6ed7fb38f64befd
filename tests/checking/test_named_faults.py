"""Faults that a mark names, and that are not there."""

from harness.checking.named_faults import no_error
from harness.domain.skill import Mark, Part
from tests.fakes.traces import program


def part(code: str, said: str) -> Part:
    mark = Mark(polarity="wrong", word="WRONG", place="comment", text=said, line=1)
    return Part(code=code, line=1, mark=mark)


def test_a_block_that_is_wrong_by_an_error_and_runs_is_not_wrong():
    assert no_error(part("s = t + 1", "WRONG: RuntimeError"), program()) is not None


def test_an_error_that_comes_or_that_this_machine_cannot_show_acquits_nothing():
    wrong = part("s = t + 1", "WRONG: RuntimeError")
    assert no_error(wrong, program(outcome="raised", exception="RuntimeError")) is None
    assert no_error(part("DataLoader(ds, num_workers=0)", "BAD: ValueError"), program()) is None
    assert no_error(part("s = t + 1", "WRONG: slow"), program()) is None


def test_an_error_in_a_function_that_nobody_calls_acquits_nothing():
    code = "def f(t):\n    return t + 1  # RuntimeError!"
    assert no_error(part(code, "WRONG: adds"), program()) is None
    assert no_error(part("s = t + 1  # RuntimeError!", "WRONG: adds"), program()) is not None
