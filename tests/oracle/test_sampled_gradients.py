"""Gradients of which a record holds a few elements and the norm of the whole."""

import numpy as np

from harness.domain.event import OptimizerStep, ParameterGroup, Start
from harness.domain.recording import Recorded, TensorBytes
from harness.oracle.reading import read_rank

START = Start(torch_version="", sampled=True)
GROUP = ParameterGroup(parameters=("w",), numbers={"lr": 0.1}, flags={})
STEP = OptimizerStep(optimizer=0, type="torch.optim.sgd.SGD", groups=(GROUP,))


def consumed(*gradients):
    """What each step consumed: the whole's norm comes first, then the elements."""
    events = [Recorded(START, ())]
    for values in gradients:
        array = np.array(values, dtype=np.float32)
        tensor = TensorBytes("grad:w", "float32", array.shape, array.tobytes())
        events.append(Recorded(STEP, (tensor,)))
    return [list(update.gradients["w"]) for update in read_rank(tuple(events)).updates]


def test_a_sample_is_as_long_as_the_first_whole_gradient_that_it_stands_for():
    assert consumed((10.0, 3.0, 4.0), (1.0, 0.3, 0.4))[0] == [6.0, 8.0]


def test_later_samples_are_scaled_as_the_first_one_was():
    """Their own norm may be another part of the whole's."""
    assert consumed((10.0, 3.0, 4.0), (99.0, 6.0, 8.0))[1] == [12.0, 16.0]


def test_elements_that_are_all_zero_tell_no_scale():
    """The whole has a norm all the same, and dividing by theirs would be infinite."""
    assert consumed((5.0, 0.0, 0.0), (10.0, 3.0, 4.0)) == [[0.0, 0.0], [6.0, 8.0]]
