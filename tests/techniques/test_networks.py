"""Nets that need care: very deep ones, recurrent ones, two that train against each other."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from reference_impls.techniques.adversarial import Player, adversarial_step
from reference_impls.techniques.deep import Block, deep_network
from reference_impls.techniques.recurrent import train_sequence
from tests.techniques.nets import batch


def first_and_last(**measures):
    """Gradient norms of the first and the last matrix of 60 blocks."""
    torch.manual_seed(0)
    model, (x, y) = deep_network(4, 16, 60, 2, **measures), batch()
    nn.functional.mse_loss(model(x), y).backward()
    norms = [p.grad.norm().item() for p in model.parameters() if p.ndim > 1]
    return norms[0], norms[-1]


def test_a_deep_network_with_all_four_measures_feeds_its_first_layer():
    first, last = first_and_last()
    assert 0.01 < first / last < 100


def test_without_normalisation_and_residuals_the_same_depth_starves_it():
    """Signal and gradient both shrink with every block."""
    assert first_and_last(normalise=False, residual=False)[0] < 1e-6 * first_and_last()[0]


def test_the_identity_path_goes_around_the_branch():
    block, x = Block(4), torch.randn(3, 4)
    through = block(x)
    block.residual = False
    torch.testing.assert_close(through, x + block(x))


class Sequencer(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.lstm, self.head = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 1)

    def forward(self, x, state):
        hidden, state = self.lstm(x, state)
        return self.head(hidden), state


def test_a_long_sequence_is_trained_in_chunks_that_carry_the_state_on():
    """With the history kept, the second backward would run into a graph that is gone."""
    model, x = Sequencer(), torch.randn(2, 10, 3)
    states = []
    model.register_forward_pre_hook(lambda _, inputs: states.append(inputs[1]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    norms = train_sequence(model, optimizer, nn.MSELoss(), (x, torch.ones(2, 10, 1)), chunk=4)

    assert len(norms) == 3
    assert states[0] is None
    assert not any(s.requires_grad for state in states[1:] for s in state)
    assert all(s.abs().sum() > 0 for state in states[1:] for s in state)


def test_every_chunk_is_clipped_as_a_whole():
    model, x = Sequencer(), torch.randn(2, 8, 3)
    start = torch.cat([p.detach().flatten().clone() for p in model.parameters()])
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    norms = train_sequence(
        model, optimizer, nn.MSELoss(), (x, 1e3 * torch.ones(2, 8, 1)), chunk=8, max_norm=0.5
    )

    end = torch.cat([p.detach().flatten() for p in model.parameters()])
    assert norms[0] > 100
    assert (end - start).norm().item() == pytest.approx(0.5, rel=1e-3)


def test_a_chunk_has_at_least_one_step():
    with pytest.raises(ValueError, match="chunk 0"):
        train_sequence(Sequencer(), None, None, (torch.ones(1, 2, 3), torch.ones(1, 2, 1)), chunk=0)


def players():
    torch.manual_seed(0)
    nets = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 4)), nn.Linear(4, 1)
    return [Player(n, torch.optim.SGD(n.parameters(), lr=0.1)) for n in nets]


def test_the_discriminator_consumes_gradients_of_its_own_loss_only():
    """In every round: the generator's backward runs through it and must leave nothing there."""
    generator, discriminator = players()
    for _ in range(2):
        real, noise = torch.randn(5, 4), torch.randn(5, 2)
        net, fake = deepcopy(discriminator.net), generator.net(noise).detach()
        net.zero_grad()
        judged = net(torch.cat([real, fake]))
        truth = torch.cat([torch.ones(5, 1), torch.zeros(5, 1)])
        nn.functional.binary_cross_entropy_with_logits(judged, truth).backward()

        adversarial_step(generator, discriminator, real, noise, max_norm=1e9)

        for found, own in zip(discriminator.net.parameters(), net.parameters(), strict=True):
            torch.testing.assert_close(found.grad, own.grad)
    assert all(p.requires_grad for p in discriminator.net.parameters())


def test_both_players_move_and_a_mismatch_is_refused():
    generator, discriminator = players()
    before = [p.clone() for player in (generator, discriminator) for p in player.net.parameters()]
    losses = adversarial_step(generator, discriminator, torch.randn(5, 4), torch.randn(5, 2))
    after = [p for player in (generator, discriminator) for p in player.net.parameters()]
    assert all(loss > 0 for loss in losses)
    assert not any(torch.equal(a, b) for a, b in zip(after, before, strict=True))
    with pytest.raises(ValueError, match="5 real samples and 4"):
        adversarial_step(generator, discriminator, torch.randn(5, 4), torch.randn(4, 2))
