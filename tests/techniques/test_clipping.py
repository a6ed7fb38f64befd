"""Bounding gradients: as a whole, by element, by layer, by group, and beside the weights."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity

from reference_impls.techniques.adaptive_clipping import adaptive_clip_, unit_norms
from reference_impls.techniques.group_clipping import clip_per_group_
from reference_impls.techniques.layer_clipping import clip_per_layer_
from reference_impls.techniques.norm_clipping import clip_by_norm_
from reference_impls.techniques.value_clipping import clip_by_value_
from tests.techniques.nets import gradient, net, with_gradients


def test_clipping_by_norm_keeps_the_direction_and_returns_the_norm_before():
    model = with_gradients(scale=100.0)
    before = gradient(model)

    norm = clip_by_norm_(model.parameters(), max_norm=1.0)

    assert norm == pytest.approx(before.norm().item())
    torch.testing.assert_close(gradient(model), before / before.norm())


def test_clipping_by_norm_leaves_small_gradients_alone_to_the_bit():
    model = with_gradients(scale=1e-3)
    before = gradient(model)
    clip_by_norm_(model.parameters(), max_norm=1.0)
    assert torch.equal(gradient(model), before)


@pytest.mark.parametrize("clip", [clip_by_norm_, clip_by_value_])
def test_an_iterator_that_was_used_up_is_no_silent_clip(clip):
    """torch itself returns 0 and clips nothing."""
    parameters = iter(with_gradients().parameters())
    list(parameters)
    with pytest.raises(ValueError, match="no parameter has a gradient"):
        clip(parameters, 1.0)


def test_clipping_by_value_turns_the_gradient_and_says_how_much_it_cut():
    model = with_gradients(scale=100.0)
    before = gradient(model)

    cut = clip_by_value_(model.parameters(), limit=1.0)

    assert cut == pytest.approx((before.abs() > 1.0).float().mean().item())
    assert gradient(model).abs().max() == 1.0
    assert cosine_similarity(gradient(model), before, dim=0) < 0.99


def test_each_layer_is_bounded_with_weight_and_bias_together():
    model = with_gradients(scale=100.0)
    norms = clip_per_layer_(model, max_norm=1.0)
    assert list(norms) == ["0", "2", "4"]
    for layer in (model[0], model[2], model[4]):
        assert gradient(layer).norm() == pytest.approx(1.0, abs=1e-5)


def test_nested_modules_are_clipped_once_and_layers_of_any_kind_are_covered():
    """A loop over modules that takes all their parameters would scale inner ones again."""
    model = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), nn.Linear(4, 2))
    (100.0 * model(torch.randn(5, 4)).square().mean()).backward()
    assert list(clip_per_layer_(model, max_norm=0.5)) == ["0.0", "0.1", "1"]
    assert all(gradient(model.get_submodule(n)).norm() <= 0.501 for n in ("0.0", "0.1", "1"))


def test_a_loud_group_takes_nothing_from_a_quiet_one():
    model = with_gradients(scale=100.0)
    quiet = gradient(model[0])
    optimizer = torch.optim.SGD(
        [{"params": model[0].parameters()}, {"params": model[2:].parameters(), "max_norm": 1.0}]
    )

    norms = clip_per_group_(optimizer)

    assert torch.equal(gradient(model[0]), quiet)
    assert gradient(model[2:]).norm() == pytest.approx(1.0, abs=1e-5)
    assert norms[1] > 1.0


def test_adaptive_clipping_bounds_each_unit_by_its_own_weights():
    model = with_gradients(scale=1e4)
    assert adaptive_clip_(model.parameters(), factor=0.01) == 8 + 1 + 8 + 1 + 2 + 1
    for p in model.parameters():
        ratio = unit_norms(p.grad) / unit_norms(p).clamp(min=1e-3)
        assert ratio.max() <= 0.01 * (1 + 1e-5)


def test_parameters_that_start_at_zero_still_learn_under_adaptive_clipping():
    model = net()
    nn.init.zeros_(model[4].weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    nn.functional.mse_loss(model(torch.ones(3, 4)), torch.ones(3, 2)).backward()

    adaptive_clip_(model.parameters(), factor=0.01, floor=1e-3)
    optimizer.step()

    assert model[4].weight.abs().sum() > 0


def test_adaptive_clipping_leaves_small_gradients_and_zero_gradients_alone():
    """A gradient of zero must not become NaN."""
    model = with_gradients(scale=1e-6)
    model[0].weight.grad.zero_()
    before = gradient(model)
    assert adaptive_clip_(model.parameters()) == 0
    assert torch.equal(gradient(model), before)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: clip_by_norm_(m.parameters(), 0.0),
        lambda m: clip_by_value_(m.parameters(), -1.0),
        lambda m: clip_per_layer_(m, 0.0),
        lambda m: clip_per_group_(torch.optim.SGD([{"params": m.parameters(), "max_norm": 0.0}])),
        lambda m: adaptive_clip_(m.parameters(), factor=0.0),
    ],
    ids=["norm", "value", "layer", "group", "adaptive"],
)
def test_a_threshold_that_is_not_positive_is_refused(call):
    with pytest.raises(ValueError, match="must be positive"):
        call(with_gradients())
