"""What was recomputed once is not recomputed again, and nothing else is taken for it."""

from dataclasses import replace

import numpy as np
import pytest

from harness.domain.workload import WorkloadSpec
from harness.oracle.facts import Flow, ForwardPass
from harness.oracle.recent import RecentValues, digest
from harness.oracle.replay import Replay

SPEC = WorkloadSpec(name="mlp", parameters={})


def flow_of(replay: Replay, *, seed: int = 0) -> Flow:
    """A backward of the first batch of a workload."""
    batch = replay.batches[0]
    parameters = {n: p.detach().numpy().copy() for n, p in replay.model.named_parameters()}
    output = replay.model(batch.inputs.double()).detach().numpy().astype(np.float32)
    received = np.random.default_rng(seed).normal(size=output.shape)
    passed = ForwardPass(
        seed, "model", (batch.inputs.numpy(),), (output,), parameters, None, 0, None
    )
    return Flow(passed, {0: received})


def test_the_same_flow_of_another_program_is_recomputed_once() -> None:
    """The gradient is the one that was found before, and what stands beside it is the new flow."""
    replay = Replay(SPEC, 0)
    first = replay.flow(flow_of(replay))
    again = flow_of(replay)
    second = replay.flow(again)

    assert second.gradient is first.gradient
    assert second.flow is again


def with_other_parameters(flow: Flow) -> Flow:
    """One weight is another."""
    name, *_ = flow.forward.parameters
    other = flow.forward.parameters | {name: flow.forward.parameters[name] + 1e-6}
    return replace(flow, forward=replace(flow.forward, parameters=other))


@pytest.mark.parametrize(
    "changed",
    [
        with_other_parameters,
        lambda flow: replace(flow, gradients={0: flow.gradients[0] * 1.0001}),
        lambda flow: replace(flow, loss_scale=2.0),
        lambda flow: replace(flow, forward=replace(flow.forward, autocast="float16")),
        lambda flow: replace(
            flow, forward=replace(flow.forward, outputs=(flow.forward.outputs[0] + 1e-6,))
        ),
        lambda flow: replace(
            flow, forward=replace(flow.forward, inputs=(flow.forward.inputs[0][::-1].copy(),))
        ),
    ],
    ids=["parameters", "received", "scale", "autocast", "outputs", "inputs"],
)
def test_a_flow_that_differs_in_anything_is_recomputed(changed) -> None:
    """Whatever enters a result is in its key."""
    replay = Replay(SPEC, 0)
    first = replay.flow(flow_of(replay, seed=1))
    second = replay.flow(changed(flow_of(replay, seed=1)))

    assert second.gradient is not first.gradient


def test_another_workload_has_results_of_its_own() -> None:
    """The same numbers in a workload with another seed are another question."""
    replay, other = Replay(SPEC, 0), Replay(SPEC.model_copy(update={"seed": SPEC.seed + 1}), 0)
    flow = flow_of(replay, seed=2)

    assert other.flow(flow).gradient is not replay.flow(flow).gradient


def test_what_was_not_asked_for_longest_makes_room() -> None:
    """Sizes are counted in bytes, and a value that is kept again counts once."""
    recent = RecentValues[str](100)
    recent.keep(b"a", "first", 40)
    recent.keep(b"b", "second", 40)
    recent.keep(b"b", "second", 40)
    assert recent.get(b"a") == "first"

    recent.keep(b"c", "third", 40)

    assert (recent.get(b"a"), recent.get(b"b"), recent.get(b"c")) == ("first", None, "third")


def test_types_and_shapes_are_part_of_a_digest() -> None:
    """Equal bytes are not equal arrays."""
    row = np.zeros(4, dtype=np.float32)

    assert digest(b"", [row]) != digest(b"", [row.reshape(2, 2)])
    assert digest(b"", [row]) != digest(b"", [row.view(np.int32)])
    assert digest(b"", [row]) == digest(b"", [row.copy()])
