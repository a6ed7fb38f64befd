import math

from tests.fakes.traces import probe, program, trace, update
from tests.properties.verdicts import on

ID = "params-stay-finite"


def test_finite_parameters_after_every_update_pass():
    """All probes count."""
    verdict = on(ID, trace(probe("a", update(0)), probe("b", update(0), update(1))))
    assert verdict.outcome == "pass"
    assert "3 updates" in verdict.sentence


def test_the_first_update_after_which_they_are_not_fails():
    """With the norm that did it."""
    broken = update(1, consumed_norm=math.inf, consumed_finite=False, parameters_finite=False)
    verdict = on(ID, trace(probe("deep", update(0), broken)))
    assert verdict.outcome == "fail"
    assert "update 1" in verdict.sentence
    assert "inf" in verdict.sentence


def test_parameters_that_were_not_finite_fail_even_if_the_program_was_killed_later():
    """What was recorded before a timeout stands."""
    killed = program("not-completed", message="timeout")
    seen = probe("deep", update(0, parameters_finite=False), program=killed)
    assert on(ID, trace(seen)).outcome == "fail"


def test_without_an_update_it_is_inconclusive():
    """Nothing moved, nothing shown."""
    assert on(ID, trace(probe())).outcome == "inconclusive"
