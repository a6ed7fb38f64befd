"""From which backward on a window holds gradients, by what each one left in ``.grad``."""

from itertools import accumulate

import numpy as np
import pytest

from harness.oracle.diagnostics import cleared_before
from harness.oracle.facts import Flow, ForwardPass
from harness.oracle.gradient import Gradient
from harness.oracle.replayed import Replayed

ADDED = [np.array([3.0, 1.0]), np.array([-1.0, 2.0]), np.array([0.5, 0.5])]


def window(left):
    """One backward after the other, each of which left this in ``.grad``."""
    forwards = (ForwardPass(n, "model", (), (), {}, None, n, (0, n)) for n in range(len(left)))
    return [
        Replayed(
            Flow(forward, {}, left={"w": kept}, backward=n),
            (n,),
            1,
            Gradient.of({"w": added}),
            own=None,
            weight=None,
            objective_error=None,
        )
        for n, (forward, added, kept) in enumerate(zip(forwards, ADDED, left, strict=True))
    ]


@pytest.mark.parametrize("cleared", [0, 1, 2])
def test_a_backward_that_left_what_it_added_started_from_cleared_gradients(cleared):
    kept = [*ADDED[:cleared], *accumulate(ADDED[cleared:])]

    assert cleared_before(window(kept)) == cleared


def test_where_something_older_lay_under_each_backward_nothing_was_cleared():
    assert cleared_before(window([9.0 + kept for kept in accumulate(ADDED)])) is None
