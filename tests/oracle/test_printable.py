"""What a diagnostic could truthfully have printed."""

from types import SimpleNamespace

import numpy as np

from harness.oracle.gradient import Gradient
from harness.oracle.printable import printable_norms

GRADIENT = {"0.weight": np.array([3.0, -4.0]), "0.bias": np.array([12.0])}


def norms(*windows, still_open=()):
    """The norms of a run whose backwards, window by window, give ``GRADIENT`` so many times."""

    def gradient(times):
        scaled = {name: times * part for name, part in GRADIENT.items()}
        return SimpleNamespace(gradient=Gradient.of(scaled))

    updates = [SimpleNamespace(flows=times) for times in windows]
    run = SimpleNamespace(updates=updates, open_flows=still_open)
    return printable_norms(run, SimpleNamespace(flow=gradient))


def test_a_moment_is_each_backward_and_each_window_as_far_as_it_had_come():
    """Also of a window that no update has closed; gradients of different windows are no sum."""
    found = norms([1.0, 2.0], [5.0], still_open=[7.0, 11.0])

    assert [norm / 12.0 for norm in found["0.bias"]] == [1, 2, 3, 5, 7, 11, 18]


def test_norms_are_those_of_parameters_and_layers():
    assert norms([1.0]) == {"0.weight": (5.0,), "0.bias": (12.0,), "0.*": (13.0,)}
