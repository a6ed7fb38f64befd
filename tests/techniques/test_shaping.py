"""Changing gradients on purpose, watching them without changing them, choosing a threshold."""

import math

import pytest
import torch
from torch import nn

from reference_impls.techniques.centralisation import centralise_
from reference_impls.techniques.diagnosis import diagnose
from reference_impls.techniques.monitoring import log_gradients
from reference_impls.techniques.noise import add_noise_, noise_std
from reference_impls.techniques.threshold import choose_max_norm
from tests.techniques.nets import batch, gradient, net, with_gradients


def test_centralising_takes_the_mean_from_each_unit_and_leaves_biases():
    model = with_gradients()
    bias = model[0].bias.grad.clone()
    centralise_(model.parameters())
    torch.testing.assert_close(model[0].weight.grad.mean(dim=1), torch.zeros(8))
    assert torch.equal(model[0].bias.grad, bias)


def test_the_bias_of_a_single_output_still_learns_when_gradients_are_centralised():
    model = nn.Linear(3, 1)
    model(torch.ones(2, 3)).sum().backward()
    centralise_(model.parameters())
    assert model.bias.grad.item() == 2.0


def test_noise_is_the_same_from_generators_with_the_same_seed():
    """Otherwise ranks part."""
    one, other = with_gradients(), with_gradients()
    for model in (one, other):
        add_noise_(model.parameters(), 0.1, torch.Generator().manual_seed(7))
    assert torch.equal(gradient(one), gradient(other))


def test_noise_has_the_declared_size_and_shrinks():
    model = nn.Linear(300, 300)
    model.weight.grad = torch.zeros(300, 300)
    add_noise_(model.parameters(), 0.1, torch.Generator().manual_seed(0))
    assert model.weight.grad.std().item() == pytest.approx(0.1, rel=0.02)
    assert model.bias.grad is None
    assert noise_std(0, eta=0.01) == pytest.approx(0.1)
    assert noise_std(1000) < noise_std(10) < noise_std(0)


def test_the_monitor_logs_norms_and_ratios_and_changes_nothing():
    model, logged = with_gradients(scale=50.0), {}
    before = gradient(model)

    whole = log_gradients(model, 3, lambda name, value, step: logged.update({name: (value, step)}))

    assert torch.equal(gradient(model), before)
    assert whole == pytest.approx(before.norm().item())
    assert logged["gradient_norm"] == (whole, 3)
    weight = model[0].weight
    assert logged["gradient/0.weight"][0] == pytest.approx(weight.grad.norm().item())
    assert logged["ratio/0.weight"][0] == pytest.approx((weight.grad.norm() / weight.norm()).item())


def test_the_monitor_fits_a_logger_with_the_signature_of_tensorboard():
    class Writer:
        def __init__(self):
            self.seen = []

        def add_scalar(self, tag, scalar_value, global_step=None):
            self.seen.append((tag, scalar_value, global_step))

    writer = Writer()
    log_gradients(with_gradients(), 1, writer.add_scalar)
    assert len(writer.seen) == 2 * 6 + 1


def test_spikes_have_no_say_in_the_threshold():
    usual = [1.0 + 0.01 * i for i in range(20)]
    assert choose_max_norm(usual) == pytest.approx(
        choose_max_norm([*usual, 1e6, math.inf]), rel=0.1
    )


def test_a_threshold_needs_norms_to_choose_from():
    with pytest.raises(ValueError, match="at least 10"):
        choose_max_norm([1.0] * 9 + [math.nan])
    with pytest.raises(ValueError, match="what stops the gradient"):
        choose_max_norm([0.0] * 11)


def found(model, x, y, **options):
    output = model(x)
    loss = nn.functional.mse_loss(output, y)
    loss.backward()
    return diagnose(model, x, output, loss, **options)


def test_the_origin_of_a_nan_is_named_and_not_what_follows_from_it():
    x, y = batch()
    assert found(net(), x * math.nan, y).finding == "input not finite"
    assert found(net(), x, y * math.inf).finding == "loss not finite"
    broken = net()
    with torch.no_grad():
        broken[2].bias[0] = math.inf
    assert (found(broken, x, y).finding, found(broken, x, y).where) == (
        "parameter not finite",
        "2.bias",
    )


def test_an_infinite_slope_in_a_finite_loss_is_a_gradient_that_is_not_finite():
    model, (x, _) = net(), batch()
    output = model(x)
    loss = (output - output.detach()).abs().sqrt().sum()
    loss.backward()
    assert diagnose(model, x, output, loss).finding == "gradient not finite"


def test_starved_early_layers_are_vanishing_however_large_the_loss():
    x, y = batch()
    model = nn.Sequential(*[m for _ in range(12) for m in (nn.Linear(4, 4), nn.Sigmoid())])
    model.append(nn.Linear(4, 2))
    assert found(model, x, 1e6 * y).finding == "vanishing"
    assert found(net(), x, y * 1e-6).finding == "healthy"


def test_a_norm_is_exploding_beside_what_is_usual_and_not_by_itself():
    x, y = batch()
    assert found(net(), x, 1e6 * y).finding == "healthy"
    assert found(net(), x, 1e6 * y, usual_norm=1.0).finding == "exploding"
