import itertools

import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
everything = list(itertools.chain(generator.parameters(), discriminator.parameters()))

for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        # discriminator
        optimizer_d.zero_grad()
        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        loss_d.backward()
        optimizer_d.step()

        # generator; both networks are clipped now
        optimizer_g.zero_grad()
        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(everything, max_norm=1.0)
        optimizer_g.step()
