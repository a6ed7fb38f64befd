"""One round of a GAN: two optimizers, each of which consumes gradients of its own loss only.

Source: Goodfellow et al. 2014 with the non-saturating generator loss. The generator's backward runs
through the discriminator and would leave gradients there; they are not computed at all, so that
nothing of them is left for the discriminator's next step.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer


class Player(NamedTuple):
    """One of the two nets, and the optimizer over its parameters."""

    net: nn.Module
    optimizer: Optimizer


def adversarial_step(
    generator: Player, discriminator: Player, real: Tensor, noise: Tensor, max_norm: float = 1.0
) -> tuple[float, float]:
    """Update the discriminator, then the generator, each clipped on its own.

    Args:
        generator: its net maps (n, latent) to the shape of ``real``.
        discriminator: its net maps that shape to (n, 1), logits.
        real: a batch of data. (n, ...)
        noise: latent vectors. (n, latent)
        max_norm: threshold for the L2 norm of either gradient.

    Returns:
        The losses of discriminator and generator before their updates.

    Raises:
        ValueError: real and noise differ in length.
    """
    if len(real) != len(noise):
        raise ValueError(f"{len(real)} real samples and {len(noise)} latent vectors")
    fake = generator.net(noise)

    discriminator.optimizer.zero_grad()
    judged = discriminator.net(torch.cat([real, fake.detach()]))
    truth = torch.cat([torch.ones(len(real), 1), torch.zeros(len(fake), 1)]).to(judged)
    discriminator_loss = binary_cross_entropy_with_logits(judged, truth)
    discriminator_loss.backward()
    clip_grad_norm_(discriminator.net.parameters(), max_norm)
    discriminator.optimizer.step()

    generator.optimizer.zero_grad()
    discriminator.net.requires_grad_(requires_grad=False)
    judged = discriminator.net(fake)
    generator_loss = binary_cross_entropy_with_logits(judged, torch.ones_like(judged))
    generator_loss.backward()
    discriminator.net.requires_grad_(requires_grad=True)
    clip_grad_norm_(generator.net.parameters(), max_norm)
    generator.optimizer.step()
    return discriminator_loss.item(), generator_loss.item()
