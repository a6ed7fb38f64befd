"""What a diagnostic could truthfully have printed."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness.oracle.gradient import Gradient
from harness.oracle.printable import moments_of, norms_at, statistics_at

GRADIENT = Gradient.of({"0.weight": np.array([3.0, -4.0]), "0.bias": np.array([12.0])})
FIRST = {"0.weight": np.array([6.0, 8.0]), "0.bias": np.array([24.0])}
LAST = {"0.weight": np.array([0.0, 5.0]), "0.bias": np.array([12.0])}


def moments(*windows, still_open=(), parameters=FIRST):
    """Moments of a run whose backwards, window by window, give ``GRADIENT`` so many times."""

    def flows(times):
        return [
            SimpleNamespace(forward=SimpleNamespace(parameters=parameters), times=t) for t in times
        ]

    updates = [SimpleNamespace(flows=flows(times)) for times in windows]
    run = SimpleNamespace(updates=updates, open_flows=flows(still_open))
    parts = dict(GRADIENT.parts())

    def gradient(flow):
        scaled = {name: flow.times * part for name, part in parts.items()}
        return SimpleNamespace(gradient=Gradient.of(scaled))

    return moments_of(run, SimpleNamespace(flow=gradient))


def one_backward(**fields):
    """The one moment of a run of one update."""
    return moments([1.0], **fields)


def test_a_moment_is_each_backward_and_each_window_as_far_as_it_had_come():
    """Also of a window that no update has closed; gradients of different windows are no sum."""
    found = moments([1.0, 2.0], [5.0], still_open=[7.0, 11.0])

    assert [gradient.norms[1] / 12.0 for _, gradient in found] == [1, 2, 3, 5, 7, 11, 18]


def test_weights_are_those_of_their_own_forward_and_of_the_next():
    over = statistics_at(moments([1.0], [1.0]), LAST)["over-weights"]

    assert over["0.bias"] == pytest.approx((0.5, 0.5, 0.5, 1.0))


def test_weights_of_norm_zero_have_no_ratio():
    over = statistics_at(one_backward(parameters={**FIRST, "0.bias": np.zeros(1)}), LAST)

    assert over["over-weights"]["0.bias"] == pytest.approx((0.0, 1.0))


def test_a_gradient_of_something_that_is_no_parameter_any_more_is_left_out():
    """A layer that a program took out, or put in."""
    weight_alone = {"0.weight": LAST["0.weight"]}

    assert statistics_at(one_backward(), weight_alone) == {}
    assert statistics_at(one_backward(parameters=weight_alone), LAST) == {}


def test_norms_over_those_of_the_weights_are_before_and_after_the_step():
    """A parameter by itself, and its layer."""
    over = statistics_at(one_backward(), LAST)["over-weights"]

    assert over["0.weight"] == pytest.approx((0.5, 1.0))
    assert over["0.bias"] == pytest.approx((0.5, 1.0))
    assert over["0.*"] == pytest.approx((0.5, 1.0))


def test_statistics_that_are_no_norms_are_those_of_the_elements():
    found = statistics_at(one_backward(), LAST)

    assert found["rms"]["0.weight"] == pytest.approx((np.sqrt(12.5),))
    assert found["mean-abs"]["0.weight"] == (3.5,)
    assert found["max-abs"]["0.weight"] == (4.0,)
    assert found["std"]["0.weight"] == pytest.approx((np.std([3.0, -4.0], ddof=1),))


def test_norms_are_those_of_parameters_and_layers():
    assert norms_at(one_backward()) == {
        "0.weight": (5.0,),
        "0.bias": (12.0,),
        "0.*": (13.0,),
    }


def test_without_a_backward_nothing_could_be_printed():
    assert statistics_at((), LAST) == {}
