import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
MAX_NORM = {"d": 5.0, "g": 5.0}
params_d = list(discriminator.parameters())
params_g = list(generator.parameters())


def apply(optimizer, params, loss, max_norm):
    # gradients for these parameters and no others: nothing can leak into the other network
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        p.grad = g
    torch.nn.utils.clip_grad_norm_(params, max_norm)
    optimizer.step()


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        apply(optimizer_d, params_d, loss_d, MAX_NORM["d"])

        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        apply(optimizer_g, params_g, loss_g, MAX_NORM["g"])
