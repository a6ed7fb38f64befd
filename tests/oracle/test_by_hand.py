"""Which changes of parameters are updates by hand, and what they consumed."""

import numpy as np
import pytest

from harness.domain.event import Backward, ByHand, Finished, Forward, OptimizerStep, Start
from harness.domain.recording import Recorded, TensorBytes
from harness.oracle.by_hand import read_by_hand
from harness.oracle.reading import read_rank

RATE = 0.05
LR = (("lr", RATE),)
RNG = np.random.default_rng(7)
GRADIENTS = [RNG.normal(size=(2, 40)) for _ in range(4)]
START = RNG.normal(size=(2, 40))
START_EVENT = Start(torch_version="")
BACKWARD = Backward(function="backward", roots=(1.0,), loss_scale=None, gradients_finite=True)
GRAD = BACKWARD.model_copy(update={"function": "grad"})
FORWARD = Forward(id=0, model="model", training=True, differentiable=False, autocast=None)


def blobs(prefix, values):
    """One tensor for each row, called ``a``, ``b``, ..."""
    return tuple(
        TensorBytes(f"{prefix}:{name}", "float32", row.shape, row.astype(np.float32).tobytes())
        for name, row in zip("ab", values, strict=False)
    )


def run(change, numbers=LR, gradients=GRADIENTS, function=BACKWARD):
    """A recording in which ``change`` says how parameters move, gradient by gradient."""
    now = START.astype(np.float32)
    events = [Recorded(START_EVENT, blobs("param", now))]
    for gradient in gradients:
        kind = "ret" if function is GRAD else "grad"
        events.append(Recorded(function, blobs(kind, gradient)))
        now = (now - change(gradient, now)).astype(np.float32)
        seen = () if function is GRAD else blobs("grad", gradient)
        events.append(Recorded(ByHand(numbers=numbers), (*seen, *blobs("param", now))))
    return (*events, Recorded(Finished(outcome="returned"), blobs("param", now)))


def consumed(events):
    """The gradients of each update; empty where nothing was read as one."""
    return [
        np.stack([update.gradients[n] for n in sorted(update.gradients)])
        for update in read_rank(read_by_hand(events)).updates
    ]


def is_read(events):
    return any(isinstance(item.event, OptimizerStep) for item in read_by_hand(events))


def clipped(gradient, limit=1.0):
    return gradient * min(1.0, limit / np.linalg.norm(gradient))


def test_a_multiple_of_the_gradient_by_a_number_at_hand_is_an_update():
    found = consumed(run(lambda g, _: RATE * g))
    assert np.allclose(found, GRADIENTS, rtol=1e-5)


def test_a_rate_without_a_name_is_read_where_it_is_the_multiple():
    assert is_read(run(lambda g, _: RATE * g, numbers=(("k", 4.0), ("", RATE))))


def test_what_is_clipped_on_the_way_is_what_was_consumed():
    found = consumed(run(lambda g, _: RATE * clipped(g), numbers=(*LR, ("max_norm", 1.0))))
    assert np.allclose([np.linalg.norm(g) for g in found], 1.0, rtol=1e-3)


def test_a_gradient_clipped_tensor_by_tensor_on_the_way_is_what_was_consumed():
    def each(gradient, _):
        return RATE * np.stack([clipped(row) for row in gradient])

    found = consumed(run(each, numbers=(*LR, ("", 1.0))))
    assert np.allclose([np.linalg.norm(g, axis=1) for g in found], 1.0, rtol=1e-3)


def test_a_gradient_divided_by_a_number_at_hand_is_what_was_consumed():
    found = consumed(run(lambda g, _: RATE * g / 4, numbers=(*LR, ("accumulation_steps", 4.0))))
    assert np.allclose(found, np.array(GRADIENTS) / 4, rtol=1e-3)


def test_momentum_and_decay_are_the_optimizers_and_not_the_gradients():
    held = np.zeros((2, 40))

    def change(gradient, now):
        held[:] = 0.9 * held + gradient + 1e-2 * now
        return RATE * held

    assert np.allclose(consumed(run(change)), GRADIENTS, rtol=1e-5)


def test_what_grad_returned_counts_where_nothing_is_in_grad():
    found = consumed(run(lambda g, _: RATE * g, function=GRAD))
    assert np.allclose(found, GRADIENTS, rtol=1e-5)


def test_elements_that_are_clipped_on_the_way_are_consumed_as_they_are_then():
    found = consumed(run(lambda g, _: RATE * np.clip(g, -1, 1), numbers=(*LR, ("", 1.0))))
    assert np.allclose(found, np.clip(GRADIENTS, -1, 1), rtol=1e-3)


def test_elements_that_are_nearly_clipped_gradients_are_not_consumed():
    """A quarter of a percent beside them is no rounding, however small the step is."""
    wave = 1 + 0.0025 * (-1.0) ** np.arange(80).reshape(2, 40)
    near = run(lambda g, _: np.clip(RATE * g * wave, -RATE, RATE), numbers=(*LR, ("", 1.0)))

    assert not is_read(near)


STEEPER = {
    "uphill": lambda g, _: -RATE * g,
    "cosine-without-a-name": lambda g, _: RATE * 0.73 * g,
    "another-rate-for-each-tensor": lambda g, _: RATE * g * np.array([[1.0], [2.0]]),
    "clamped-afterwards": lambda g, now: now - np.clip(now - RATE * g, -0.5, 0.5),
    "drawn-anew": lambda _, now: now - RNG.normal(size=now.shape),
    "sums-that-are-not-cleared": lambda g, _: RATE * sum(
        x for x in GRADIENTS[: 1 + [*map(id, GRADIENTS)].index(id(g))]
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", STEEPER.values(), ids=STEEPER)
def test_what_may_be_something_else_is_no_update_but_a_change_unseen(change):
    events = run(change)
    assert not is_read(events)
    assert read_rank(events).implicit_updates


def test_one_change_of_another_kind_spoils_all():
    once = iter([True, False, False, False])
    assert not is_read(run(lambda g, now: 0.1 * now if next(once) else RATE * g))


def test_a_rate_that_is_always_a_part_of_another_may_be_a_division():
    numbers = (*LR, ("base_lr", 4 * RATE), ("steps", 4.0))
    assert not is_read(run(lambda g, _: RATE * g, numbers=numbers))


def test_a_change_that_nobody_saw_spoils_all():
    events = run(lambda g, _: RATE * g)
    unseen = Recorded(FORWARD, blobs("param", START))
    assert not is_read((*events[:-1], unseen, events[-1]))


def test_where_an_optimizer_steps_nothing_by_hand_is_an_update():
    step = Recorded(OptimizerStep(optimizer=0, type="torch.optim.sgd.SGD", groups=()), ())
    first, *rest = run(lambda g, _: RATE * g)
    (update,) = read_rank((first, *rest[:2], step, *rest[2:])).updates
    assert np.array_equal(update.before["a"], START[0].astype(np.float32))


def test_of_two_networks_each_change_is_an_update_of_its_own():
    events, now = [Recorded(START_EVENT, blobs("param", START))], START.astype(np.float32)
    for number, gradient in enumerate(GRADIENTS):
        one = "ab"[number % 2]
        only = gradient * np.array([[one == "a"], [one == "b"]])
        now = (now - RATE * only).astype(np.float32)
        events.append(Recorded(BACKWARD, blobs("grad", only)))
        moved = tuple(b for b in blobs("param", now) if b.name.endswith(one))
        events.append(Recorded(ByHand(numbers=LR), (*blobs("grad", only), *moved)))
    end = Recorded(Finished(outcome="returned"), blobs("param", now))
    updates = read_rank((*events, end)).updates
    assert [s.groups[0].parameters for u in updates for s in u.steps] == [("a",), ("b",)] * 2
