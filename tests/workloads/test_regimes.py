"""What scenarios say that their probes lift is what the workloads really do."""

import math
from statistics import median

import pytest
import torch

from harness.domain.injection import Injection
from harness.domain.workload import WorkloadSpec
from harness.workloads import build
from tests.bank import BANK
from tests.workloads.training import mean_loss, train

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 5))]
SCENARIOS = {s.id: s for s in BANK.scenarios}


def of(scenario: str, probe: str, seed: int, **overrides) -> WorkloadSpec:
    """The workload of a probe of the bank."""
    found = SCENARIOS[scenario]
    chosen = next(p for p in found.probes if p.name == probe)
    return found.workload_of(chosen, seed).with_parameters(overrides)


def injected(scenario: str, probe: str) -> Injection:
    """What a probe of the bank does to gradients."""
    return next(p.injection for p in SCENARIOS[scenario].probes if p.name == probe)


def trained(
    scenario: str, probe: str, seed: int, *, window: int = 1, max_norm: float = 1.0, **overrides
):
    """The plain loop under a probe of the bank."""
    return train(
        of(scenario, probe, seed, epochs=1, **overrides),
        max_norm=max_norm,
        window=window,
        factor=injected(scenario, probe).factor,
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", ["all-three-techniques", "ddp-accumulation-no-sync"])
def test_quiet_windows_lie_far_below_the_threshold_and_loud_ones_far_above(scenario, seed):
    """Clipping at 1 has to leave all quiet windows alone and to act on all loud ones."""
    quiet = trained(scenario, "quiet", seed, window=4)
    loud = trained(scenario, "loud", seed, window=4)
    assert max(quiet.norms) < 0.5
    assert min(loud.norms) > 2.0
    assert quiet.ratio < 0.9
    assert loud.ratio < 0.9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", ["all-three-techniques", "amp-optimizer-step"])
def test_only_chosen_batches_overflow_in_float16(scenario, seed):
    """At the scale that a scaler then begins with, no other micro-batch is skipped."""
    loud, overflow = (injected(scenario, probe) for probe in ("loud", "overflow"))
    workload = build(of(scenario, "overflow", seed))
    model, found = workload.model(), []
    scale = 65536.0 / loud.scale_divisor
    for number, batch in enumerate(workload.batches(0)):
        one = overflow.of_pass(number, 0)
        with torch.autocast("cpu", torch.float16):
            output = model(batch.inputs)
            loss = workload.criterion()(output, batch.target)
        output.register_hook(lambda g, one=one: g * (one.times if one else 1.0))
        (scale * overflow.factor * loss).backward()
        found.append(all(p.grad.isfinite().all() for p in model.parameters()))
        model.zero_grad()
    assert [i for i, finite in enumerate(found) if not finite] == [o.at for o in overflow.passes]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_healthy_and_the_vanishing_gradient_have_the_same_size(seed):
    """1e-7 both; one learns and is even over layers, the other starves its first layer."""
    name = "small-gradients-still-learning"
    healthy, vanishing = (
        trained(name, probe, seed, max_norm=math.inf) for probe in ("healthy", "vanishing")
    )
    assert all(2e-8 < n < 1e-6 for n in healthy.norms + vanishing.norms)
    assert healthy.ratio < 0.6 < vanishing.ratio
    assert first_over_last(healthy.by_part) > 0.1
    assert first_over_last(vanishing.by_part) < 1e-4


def first_over_last(parts: list[dict[str, float]]) -> float:
    """Gradient norm of the first layer over that of the last, at the first step."""
    norms = list(parts[0].values())
    return norms[0] / norms[-1]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_deep_network_explodes_unclipped_and_learns_clipped(seed):
    """Not finite within two passes; with any accepted threshold it is finite and learns."""
    spec = of("paper-without-clipping", "deep", seed)
    norms = train(spec).norms
    assert not all(map(math.isfinite, norms[: 2 * spec.parameters.batches]))
    for max_norm in (1.0, 5.0, 10.0):
        log = train(spec, max_norm=max_norm)
        assert log.finite
        assert log.ratio < 0.8
        assert sum(n > 20.0 for n in log.norms) >= 1


@pytest.mark.parametrize("seed", SEEDS)
def test_the_transformer_spikes_and_only_clipping_saves_it(seed):
    """Each fourth norm is 40 times the median or more; unclipped the loss explodes."""
    spec = of("conflicting-advice", "spiking", seed, epochs=1)
    clipped, raw = train(spec, max_norm=1.0), train(spec)
    spikes = clipped.norms[3::4]
    assert min(spikes) > 40 * median(clipped.norms)
    assert not raw.finite or raw.after > 100 * raw.before
    assert clipped.finite


@pytest.mark.parametrize("seed", SEEDS)
def test_the_cnn_stays_far_below_the_threshold(seed):
    """Norms of 0.05 to 0.55: 1.0 changes nothing, bit for bit, and 0.01 would clip each update."""
    spec = of("conflicting-advice", "stable", seed, epochs=1)
    raw, clipped = train(spec), train(spec, max_norm=1.0)
    assert 0.05 < min(raw.norms) <= max(raw.norms) < 0.55
    assert raw.ratio < SCENARIOS["conflicting-advice"].expectations.loss_falls_to
    assert all(
        torch.equal(a, b)
        for a, b in zip(raw.model.parameters(), clipped.model.parameters(), strict=True)
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_backbone_is_quiet_and_the_head_is_loud(seed):
    """Norms are where the message says: backbone near 0.01 to 0.05, head near 5 to 15."""
    log = train(of("parameter-groups", "usual", seed, epochs=1))
    assert all(0.01 < part["backbone"] < 0.06 for part in log.by_part)
    assert all(3.0 < part["head"] < 15.0 for part in log.by_part)


@pytest.mark.parametrize("seed", SEEDS)
def test_lightning_meets_a_quiet_and_a_loud_regime(seed):
    """At the learning rate of the posted module."""
    quiet = trained("lightning-clipping", "quiet", seed, learning_rate=0.05)
    loud = trained("lightning-clipping", "loud", seed, learning_rate=0.05)
    assert max(quiet.norms) < 0.5
    assert sum(n > 2.0 for n in loud.norms) > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_the_custom_loss_is_sound_until_predictions_reach_zero(seed):
    """Predictions are positive before the adverse batches, exactly 0 and negative in each of them."""
    spec = of("nan-after-clipping", "adverse", seed, epochs=1)
    log, workload = train(spec, max_norm=1.0), build(spec)
    first = spec.parameters.adverse_from
    assert all(map(math.isfinite, log.losses[:first]))
    assert all(map(math.isnan, log.losses[first:]))
    model = train(spec.with_parameters({"adverse": False}), max_norm=1.0).model
    for index, batch in enumerate(workload.batches(0)):
        output = model(batch.inputs)
        assert (output == 0).any() == (output < 0).any() == (index >= first)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_custom_loss_learns_quietly_where_predictions_are_positive(seed):
    """Most norms of the quiet probe lie below half the threshold and none reaches it."""
    log = train(of("nan-after-clipping", "quiet", seed, epochs=1))
    assert max(log.norms) < 1.0
    assert sum(n < 0.5 for n in log.norms) > 10
    assert log.ratio < 0.9


def test_padding_carries_no_weight_and_looks_like_data():
    """32, 58 and 45 of 64 rows count; changing the others changes no loss."""
    workload = build(of("padding-and-accumulation", "unequal", 0))
    batches = workload.batches(0)
    assert [int(b.weights.sum()) for b in batches[:4]] == [32, 58, 45, 32]
    assert all(len(b.samples) == 64 for b in batches)
    assert all(0.5 < b.inputs[b.weights == 0].std() < 1.5 for b in batches)
    before = mean_loss(workload, workload.model())
    losses = workload.criterion()(
        workload.model()(batches[0].inputs + 9.0 * (1 - batches[0].weights)[:, None]),
        batches[0].target,
        batches[0].mask,
    )
    plain = workload.criterion()(
        workload.model()(batches[0].inputs), batches[0].target, batches[0].mask
    )
    assert losses == plain
    assert before > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_both_networks_of_the_gan_are_loud_in_one_probe_and_calm_in_the_other(seed):
    """Above twice the largest accepted threshold but for a window or two, and below half the least."""
    low, high = SCENARIOS["gan-two-optimizers"].expectations.max_norm_between
    loud, quiet = (
        norms_of_both(
            of("gan-two-optimizers", probe, seed), injected("gan-two-optimizers", probe).factor
        )
        for probe in ("loud", "quiet")
    )
    assert all(sum(n > 2 * high for n in part) >= len(part) - 2 for part in loud)
    assert all(max(part) < low / 2 for part in quiet)


def norms_of_both(spec: WorkloadSpec, factor: float) -> tuple[list[float], list[float]]:
    """Gradient norms of discriminator and generator, batch by batch, clipped at 5."""
    torch.manual_seed(0)
    workload = build(spec)
    generator, discriminator = (workload.model().get_submodule(p) for p in workload.parts())
    loss, norms = workload.criterion(), ([], [])
    optimizers = [workload.optimizer(net.parameters()) for net in (discriminator, generator)]
    for batch in workload.batches(0):
        fake = generator(torch.randn(len(batch.inputs), spec.parameters.latent))
        real_part = loss(discriminator(batch.inputs), batch.target)
        judged = discriminator(fake.detach())
        of_fakes = loss(judged, torch.zeros_like(judged))
        step(optimizers[0], factor * (real_part + of_fakes), norms[0])
        step(optimizers[1], factor * loss(discriminator(fake), batch.target), norms[1])
    return norms


def step(optimizer: torch.optim.Optimizer, loss: torch.Tensor, norms: list[float]) -> None:
    """One clipped update; its norm before clipping goes to ``norms``."""
    optimizer.zero_grad()
    loss.backward()
    held = optimizer.param_groups[0]["params"]
    norms.append(torch.nn.utils.clip_grad_norm_(held, 5.0).item())
    optimizer.step()
