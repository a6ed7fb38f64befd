"""Faults that a mark names, and that are not there."""

from harness.checking.named_faults import acquittal, no_error
from harness.checking.running import BlockRun
from harness.domain.own import OwnSettings
from harness.domain.skill import Mark, Part
from harness.domain.verdict import passed
from tests.fakes.traces import backward, probe, program, rank, trace


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
    assert no_error(part("s = t + 1", "Error: a shape that is wrong"), program()) is None


def test_an_error_in_a_function_that_nobody_calls_acquits_nothing():
    code = "def f(t):\n    return t + 1  # RuntimeError!"
    assert no_error(part(code, "WRONG: adds"), program()) is None
    assert no_error(part("s = t + 1  # RuntimeError!", "WRONG: adds"), program()) is not None


def test_gradients_that_are_said_to_be_nan_and_are_numbers_acquit():
    mark = part("loss.backward()", "BAD: the gradients are NaN, since it runs outside")
    seen = [
        BlockRun(trace(probe("as-it-is", ranks=[went])), (), OwnSettings(micro_batches=1))
        for went in (rank((), backwards=(backward(finite=fine),)) for fine in (True, False))
    ]
    assert [acquittal(mark, one) is not None for one in seen] == [True, False]


def test_an_error_that_is_said_to_come_up_elsewhere_acquits_nothing():
    later = part("loader = prepare(loader)", "BAD: crashes with TypeError in concatenate")
    assert no_error(later, program()) is None
    assert no_error(part("s = concatenate(t)", "BAD: TypeError in concatenate"), program())


def test_gradients_that_we_clear_acquit_nobody_of_not_clearing():
    mark = part("loss.backward()\noptimizer.step()", "BAD: never zeroed")
    verdict = passed("gradients-start-fresh", "Nothing was left.")
    found = [
        acquittal(mark, BlockRun(trace(one), (verdict,), OwnSettings(micro_batches=1)))
        for one in (
            probe("as-it-is", program=program(bound=(note,)))
            for note in ("", "with zero_grad before each")
        )
    ]
    assert [one is not None for one in found] == [True, False]
