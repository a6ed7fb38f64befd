"""What moves parameters between two updates: what programs honestly do is told from what they hide."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.domain.event import Backward, Finished, Start
from harness.oracle.between import unfollowed
from harness.oracle.facts import Array, Consumed, ForwardPass, Parameters, RankRun

UPDATES = 5
END = Finished(outcome="returned")
NUMBERS = np.random.default_rng(0)


def drawn(*shape: int) -> Array:
    return NUMBERS.standard_normal(shape).astype(np.float32)


def a_run(**at: Callable[[Parameters, list[Parameters]], Parameters]) -> RankRun:
    """Five updates; after the one that a name says (``after_2``), something changes the parameters."""
    now: Parameters = {"weight": drawn(8, 5), "bias": drawn(8), "scale": drawn(1) + 2.0}
    states, updates = [now], []
    for index in range(UPDATES):
        gradients = {name: drawn(*p.shape) for name, p in now.items()}
        after = {name: p - np.float32(0.05) * gradients[name] for name, p in now.items()}
        updates.append(an_update(gradients, now, after, index))
        states.append(after)
        change = at.get(f"after_{index}")
        now = after if change is None else {**after, **change(after, states)}
        states.append(now)
    return RankRun((END,), states[0], now, {}, updates, [], 0, sampled=False)


def an_update(gradients: Parameters, before: Parameters, after: Parameters, at: int) -> Consumed:
    return Consumed([], gradients, [], before, after, skipped=False, position=at, loss_scale=1.0)


def rows_of_norm_one(weight: Array) -> Array:
    return weight / np.linalg.norm(weight, axis=1, keepdims=True)


def kept_digits(weight: Array) -> Array:
    return (weight.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


HONEST: dict[str, Callable[[Parameters, list[Parameters]], Parameters]] = {
    "a checkpoint": lambda now, states: states[2],
    "the weights at the start": lambda now, states: states[0],
    "an average of all": lambda now, states: {
        n: np.mean([s[n] for s in states], axis=0, dtype=np.float32) for n in now
    },
    "a moving average": lambda now, states: {
        n: np.float32(0.9) * states[0][n] + np.float32(0.1) * now[n] for n in now
    },
    "a bound": lambda now, states: {"weight": now["weight"].clip(-0.2, 0.2)},
    "a bound on one number": lambda now, states: {
        "scale": (now["scale"] + states[-3]["scale"]) / np.float32(2)
    },
    "a decay": lambda now, states: {n: now[n] * np.float32(0.99) for n in ("weight", "bias")},
    "rows of norm one": lambda now, states: {"weight": rows_of_norm_one(now["weight"])},
    "columns of norm one": lambda now, states: {"weight": rows_of_norm_one(now["weight"].T).T},
    "centred weights": lambda now, states: {"weight": now["weight"] - now["weight"].mean()},
    "a mask": lambda now, states: {"weight": now["weight"] * (np.arange(5) % 2)},
    "fewer digits": lambda now, states: {"weight": kept_digits(now["weight"])},
}  # fmt: skip

HIDDEN: dict[str, Callable[[Parameters, list[Parameters]], Parameters]] = {
    "noise on all": lambda now, states: {
        n: p + np.float32(1e-3) * drawn(*p.shape) for n, p in now.items()
    },
    "noise on one": lambda now, states: {"bias": now["bias"] + np.float32(1e-4) * drawn(8)},
    "one element": lambda now, states: {"weight": now["weight"] + np.float32(0.1) * np.eye(8, 5)},
    "the other sign": lambda now, states: {"weight": -now["weight"]},
    "a state with noise": lambda now, states: {"weight": states[0]["weight"] + drawn(8, 5)},
    "a bound with noise": lambda now, states: {
        "weight": now["weight"].clip(-0.2, 0.2) + np.float32(1e-2) * drawn(8, 5)
    },
    "a number that has no bound": lambda now, states: {"scale": now["scale"] + np.float32(1)},
    "the last update once more": lambda now, states: {n: 2 * now[n] - states[-2][n] for n in now},
}


@pytest.mark.parametrize("change", HONEST.values(), ids=HONEST)
def test_what_programs_are_known_to_do_to_weights_is_followed(change):
    assert unfollowed(a_run(after_3=change, after_4=change)) == ()


@pytest.mark.parametrize("change", HIDDEN.values(), ids=HIDDEN)
def test_what_else_moves_weights_is_told_even_once_with_its_place_and_size(change):
    (found,) = unfollowed(a_run(after_3=change))

    assert found.after == 3
    assert found.by > 1e-5


def test_what_is_trained_after_the_last_update_is_told_as_well():
    (found,) = unfollowed(a_run(after_4=HIDDEN["noise on all"]))

    assert found.after == UPDATES - 1


@pytest.mark.parametrize("how", [{"outcome": "raised"}, {"outcome": "exited", "broken_off": True}])
def test_a_program_that_was_cut_off_may_have_been_in_the_midst_of_an_update(how):
    run = a_run(after_4=HIDDEN["noise on all"])

    assert unfollowed(replace(run, events=(END.model_copy(update=how),))) == ()


def test_weights_are_made_until_the_first_backward_and_trained_from_there_on():
    """An initialisation may put anything in; what moves between a backward and an update trains."""
    run = a_run()
    made = {name: drawn(*p.shape) for name, p in run.initial.items()}
    backward = Backward.model_construct(function="grad")
    events = (Start.model_construct(), backward, END)

    def begun_at(parameters: Parameters) -> RankRun:
        forwards = {0: ForwardPass(0, "model", (), (), parameters, None, position=0, batch=None)}
        return RankRun(events, made, run.final, forwards, run.updates, [], 0, sampled=False)

    assert unfollowed(begun_at(run.initial)) == ()
    assert [found.after for found in unfollowed(begun_at(made))] == [-1]


def test_parameters_that_nothing_trains_may_be_moved_by_anything():
    """A target network follows another one."""
    run = a_run(after_2=HIDDEN["noise on one"])
    for update in run.updates:
        update.gradients.pop("bias")

    assert unfollowed(run) == ()
