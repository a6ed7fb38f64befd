"""What every workload promises to the program that trains on it and to the oracle."""

import copy
import math

import pytest
import torch

from harness.domain.workload import DECLARED, WORKLOADS
from harness.workloads import BUILDERS, build
from harness.workloads.positive_loss import COVERED
from tests.sampling import sampled
from tests.workloads.training import loss_of, spec, train

NAMES = tuple(BUILDERS)


def test_every_declared_workload_can_be_built():
    """The names that scenarios may use have a builder here, or came with one."""
    assert set(BUILDERS) == set(WORKLOADS) - set(DECLARED)


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_builds_the_same_workload_bit_for_bit(name):
    """Built twice, with the global random state moved in between, model and data are equal."""
    one, model, batches = build(spec(name)), build(spec(name)).model(), build(spec(name)).batches(0)
    torch.manual_seed(99)
    torch.randn(7)
    again = one.batches(0)
    assert all(
        torch.equal(a, b) for a, b in zip(model.parameters(), one.model().parameters(), strict=True)
    )
    for a, b in zip(batches, again, strict=True):
        assert torch.equal(a.inputs, b.inputs)
        assert torch.equal(a.target, b.target)
        assert a.samples == b.samples


def test_batches_have_the_sizes_that_are_named_over_and_over():
    named = spec("mlp").with_parameters({"sizes": (5, 2, 7), "batches": 5})

    assert [len(batch.samples) for batch in build(named).batches(0)] == [5, 2, 7, 5, 2]


@pytest.mark.parametrize("name", NAMES)
def test_building_leaves_the_global_random_state_alone(name):
    """A program's own random numbers do not depend on what the harness built before."""
    before = torch.get_rng_state()
    workload = build(spec(name))
    workload.model()
    workload.batches(0)
    for extra in workload.extra_names().values():
        if getattr(extra, "__name__", "") == "<lambda>":
            extra()
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", NAMES)
def test_seeds_and_ranks_differ(name):
    """Another seed is another model and other data; another rank has other data in equal sizes."""
    base, other = build(spec(name, world_size=2)), build(spec(name, seed=1, world_size=2))
    assert not torch.equal(next(base.model().parameters()), next(other.model().parameters()))
    for a, b in ((base.batches(0), other.batches(0)), (base.batches(0), base.batches(1))):
        assert [x.inputs.shape for x in a] == [x.inputs.shape for x in b]
        assert not any(torch.equal(x.inputs, y.inputs) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_recognisable_by_its_content(name):
    """No two rows of a rank's data are equal, padding included."""
    rows = torch.cat([b.inputs.flatten(1) for b in build(spec(name)).batches(0)])
    assert len(torch.unique(rows, dim=0)) == len(rows)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("positive-loss", {"adverse": True, "adverse_from": 0}),
        ("transformer", {"spike_every": 1}),
        ("transformer", {"batches": 60, "batch_size": 30, "vocabulary": 12}),
    ],
)
def test_rows_stay_recognisable_where_the_data_is_extreme(name, parameters):
    """Rows without exposure, spiking sequences and large data sets have no duplicates either."""
    rows = torch.cat([b.inputs for b in build(spec(name, **parameters)).batches(0)])
    assert len(torch.unique(rows, dim=0)) == len(rows)


def test_a_sequence_is_recognisable_by_its_first_tokens():
    """A program may cut sequences short; what is left still says which one it was."""
    prefixes = torch.cat([b.inputs[:, :3] for b in build(spec("transformer")).batches(0)])
    assert len(torch.unique(prefixes, dim=0)) == len(prefixes)


STATELESS = [name for name in NAMES if not build(spec(name)).carries_state]
"""A state that is carried on fits batches of one size only."""


@pytest.mark.parametrize("name", STATELESS)
def test_neighbouring_batches_differ_in_what_they_weigh(name):
    """A mean of means is not the mean, because micro-batches of a window hold different counts."""
    workload = build(spec(name))
    weights = [b.weights.sum().item() for b in workload.batches(0)]
    assert len(weights) == 14
    assert len(set(weights[:3])) == 3


@pytest.mark.parametrize("name", sampled(NAMES, 3))
def test_sample_losses_average_to_the_criterion(name):
    """The oracle's objective and the loss that programs are given are the same function."""
    workload = build(spec(name))
    model = workload.model().double()
    for batch in workload.batches(0):
        x = batch.inputs.double() if batch.inputs.is_floating_point() else batch.inputs
        each = workload.sample_losses(model(x), batch)
        weights = batch.weights.double()
        y = batch.target.double() if batch.target.is_floating_point() else batch.target
        extra = () if batch.mask is None else (batch.mask,)
        mean = workload.criterion()(model(x), y, *extra)
        assert each.shape == (len(batch.samples),)
        torch.testing.assert_close((each * weights).sum() / weights.sum(), mean)


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_is_left_without_a_gradient(name):
    """Every parameter matters, or absent gradients could not be told from lost ones."""
    workload = build(spec(name))
    model = workload.model()
    loss_of(workload, model, workload.batches(0)[0]).backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_the_output_depends_on_the_row_alone(name):
    """No dropout, no batch statistics: a row's output is the same alone and in company."""
    workload = build(spec(name))
    model = workload.model()
    x = workload.batches(0)[0].inputs
    torch.testing.assert_close(model(x)[:1], model(x[:1]), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model(x), copy.deepcopy(model)(x), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
@pytest.mark.parametrize("name", NAMES)
def test_the_model_runs_in_another_precision(name, dtype):
    """``model.double()`` for the oracle, ``model.half()`` for programs that post it."""
    workload = build(spec(name))
    x = workload.batches(0)[0].inputs
    output = workload.model().to(dtype)(x.to(dtype) if x.is_floating_point() else x)
    assert output.dtype == dtype
    output.float().sum().backward()


@pytest.mark.parametrize("name", sampled(NAMES, 1))
def test_training_on_the_defaults_learns(name):
    """With its own learning rate a workload's loss falls, clipped where it would explode."""
    log = train(
        spec(name, learning_rate=0.02, depth=20) if name == "deep-residual" else spec(name),
        max_norm=1.0,
    )
    assert log.finite
    assert log.ratio < 0.95


def test_two_batches_are_poisoned_and_no_other():
    """One whose loss is NaN whatever a program makes of the output, and a later one whose NaN a program
    can cover up.
    """
    workload = build(spec("positive-loss", poison_at=3))
    model = workload.model()

    losses = [loss_of(workload, model, b).item() for b in workload.batches(0)]
    targets = [bool(b.target.isnan().any()) for b in workload.batches(0)]

    assert [at for at, loss in enumerate(losses) if math.isnan(loss)] == [3, 3 + COVERED]
    assert [at for at, bad in enumerate(targets) if bad] == [3]


def test_heads_that_do_not_divide_the_width_are_refused():
    """A scenario hears of it when it is read, not when torch reshapes."""
    with pytest.raises(ValueError, match="3 heads do not divide a width of 16"):
        spec("transformer", heads=3)
