"""Whose learning rate a program trains with."""

from types import SimpleNamespace

import pytest

from harness.domain.event import ParameterGroup
from harness.oracle.learning import foreign_rate

OURS = SimpleNamespace(workload=SimpleNamespace(parameters=SimpleNamespace(learning_rate=0.2)))


def stepped(*rates):
    """A run of one update a rate."""
    groups = [ParameterGroup(parameters=("w",), numbers={"lr": r}, flags={}) for r in rates]
    steps = [SimpleNamespace(groups=(group,)) for group in groups]
    return SimpleNamespace(updates=[SimpleNamespace(steps=[step]) for step in steps])


@pytest.mark.parametrize("rates", [(6e-4,), (0.0, 3e-4, 6e-4)])
def test_a_rate_for_a_large_model_is_somebody_elses(rates):
    """Six ten-thousandths under Adam are nothing under our SGD, and no fault of the loop."""
    assert foreign_rate(stepped(*rates), OURS)


@pytest.mark.parametrize("rates", [(0.2,), (0.02, 6e-4), (0.0,), ()])
def test_a_rate_near_ours_or_none_at_all_has_to_teach(rates):
    """Ten times smaller is still meant for this model; 0 was never meant for any."""
    assert not foreign_rate(stepped(*rates), OURS)
