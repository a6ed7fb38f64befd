from harness.domain.scenario import Probe
from harness.sandbox.executor import limits_of


def test_a_program_may_take_twenty_times_as_long_as_the_reference():
    """Wall clock, with processor time to match."""
    limits = limits_of(Probe(name="slow", lifts="", reference_seconds=2.0))
    assert limits.wall_seconds == 40.0
    assert limits.cpu_seconds == 80


def test_a_program_has_ten_seconds_whatever_the_reference_takes():
    """A quick reference is no reason to hurry anybody."""
    for probe in (Probe(name="a", lifts=""), Probe(name="b", lifts="", reference_seconds=0.1)):
        assert limits_of(probe).wall_seconds == 10.0
