"""What the tape knows of parameters and their gradients, number by number."""

import math

import pytest
import torch
from torch import nn

from harness.sandbox.recorder.tape import Tape, as_blob

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class Nowhere:
    def send(self, *_: object) -> None: ...


def tape_of(model: nn.Module) -> Tape:
    """A tape that has written all parameters once."""
    tape = Tape(Nowhere())
    tape.register("", model.named_parameters())
    list(tape.values())
    return tape


@pytest.fixture(params=TYPES, ids=str)
def model(request) -> nn.Linear:
    return nn.Linear(2, 2).to(request.param)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_one_entry_that_is_not_finite_is_found_in_every_element_type(model, bad):
    tape = tape_of(model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    assert tape.finite_gradients()
    model.weight.grad[1, 1] = bad
    assert not tape.finite_gradients()


def test_finite_entries_whose_sum_is_not_are_finite():
    model = nn.Linear(2, 2).half()
    tape = tape_of(model)
    model.weight.grad = torch.full_like(model.weight, 60000.0)
    assert tape.finite_gradients()


def test_a_gradient_with_a_graph_of_its_own_is_looked_at():
    model = nn.Linear(2, 1)
    tape = tape_of(model)
    model.weight.grad = 2 * model.weight
    assert model.weight.grad.requires_grad
    assert tape.finite_gradients()


def test_the_gradient_of_an_embedding_that_holds_some_rows_only_is_looked_at():
    model = nn.Embedding(4, 2, sparse=True)
    tape = tape_of(model)
    model(torch.tensor([1])).sum().backward()
    assert model.weight.grad.is_sparse
    assert [blob[2] for blob in tape.gradients()] == [(4, 2)]


def test_a_parameter_has_changed_when_a_bit_of_it_has(model):
    tape = tape_of(model)
    assert not tape.has_changed()
    model.weight.data[0, 0] += 1.0  # `.data` counts no version
    assert tape.changed_unseen() == ["weight"]
    list(tape.values(["weight"]))
    assert not tape.has_changed()


def test_a_parameter_that_was_ruined_before_has_not_changed(model):
    """A diverged model would be written at every forward: NaN is no number's equal."""
    model.weight.data[0, 0] = math.nan
    tape = tape_of(model)
    assert not tape.has_changed()


def test_rows_of_a_transposed_tensor_are_written_row_by_row():
    name, dtype, shape, raw = as_blob("x", torch.arange(6.0).reshape(2, 3).T)
    assert (name, dtype, shape) == ("x", "float32", (3, 2))
    assert torch.frombuffer(bytearray(raw), dtype=torch.float32).tolist() == [0, 3, 1, 4, 2, 5]
