"""0.5 or 0.1 would not have helped. Two things:

* gradients leak: the generator's backward goes through the discriminator and leaves something there, which must not be
  in the discriminator's update. Zero both at the start of a round.
* the discriminator, the one that jumps, was not clipped at all. Each network gets a clip of its own.
"""
import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
MAX_NORM = 5.0


def discriminator_loss(real, fake):
    real_score, fake_score = discriminator(real), discriminator(fake.detach())
    return bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))


def generator_loss(fake):
    score = discriminator(fake)
    return bce(score, torch.ones_like(score))


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        # both networks start the round clean
        optimizer_d.zero_grad()
        optimizer_g.zero_grad()

        loss_d = discriminator_loss(real, fake)
        loss_d.backward()
        loss_g = generator_loss(fake)
        loss_g.backward()

        for network, optimizer in ((discriminator, optimizer_d), (generator, optimizer_g)):
            torch.nn.utils.clip_grad_norm_(network.parameters(), max_norm=MAX_NORM)
            optimizer.step()
    print(f"epoch {epoch}: D {loss_d.item():.3f}  G {loss_g.item():.3f}")
