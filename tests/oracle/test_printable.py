"""What a diagnostic could truthfully have printed."""

from types import SimpleNamespace

import numpy as np
import pytest

from harness.oracle.gradient import Gradient
from harness.oracle.printable import moments_of, norms_at, statistics_at

GRADIENT = Gradient.of({"0.weight": np.array([3.0, -4.0]), "0.bias": np.array([12.0])})
FIRST = {"0.weight": np.array([6.0, 8.0]), "0.bias": np.array([24.0])}
LAST = {"0.weight": np.array([0.0, 5.0]), "0.bias": np.array([12.0])}


def one_backward():
    """The one moment of a run of one update."""
    flow = SimpleNamespace(forward=SimpleNamespace(parameters=FIRST))
    run = SimpleNamespace(updates=[SimpleNamespace(flows=[flow])], open_flows=[])
    return moments_of(run, SimpleNamespace(flow=lambda _: SimpleNamespace(gradient=GRADIENT)))


def test_norms_over_those_of_the_weights_are_before_and_after_the_step():
    """A parameter by itself, and its layer."""
    over = statistics_at(one_backward(), LAST)["over-weights"]

    assert over["0.weight"] == pytest.approx((0.5, 1.0))
    assert over["0.bias"] == pytest.approx((0.5, 1.0))
    assert over["0.*"] == pytest.approx((0.5, 1.0))


def test_other_statistics_are_of_the_elements():
    found = statistics_at(one_backward(), LAST)

    assert found["rms"]["0.weight"] == pytest.approx((np.sqrt(12.5),))
    assert found["mean-abs"]["0.weight"] == (3.5,)
    assert found["max-abs"]["0.weight"] == (4.0,)
    assert found["std"]["0.weight"] == pytest.approx((np.std([3.0, -4.0], ddof=1),))


def test_norms_are_those_of_parameters_and_layers():
    assert norms_at(one_backward()) == {
        "0.weight": (5.0,), "0.bias": (12.0,), "0.*": (13.0,),
    }  # fmt: skip


def test_without_a_backward_nothing_could_be_printed():
    assert statistics_at((), LAST) == {}
