import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
MAX_NORM = 5.0


def update(net, optimizer, loss):
    """Gradients of `loss` for `net` alone; the other network is not written to."""
    params = list(net.parameters())
    for p, g in zip(params, torch.autograd.grad(loss, params)):
        p.grad = g
    torch.nn.utils.clip_grad_norm_(params, MAX_NORM)
    optimizer.step()


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        update(
            discriminator,
            optimizer_d,
            bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score)),
        )

        score = discriminator(fake)
        update(generator, optimizer_g, bce(score, torch.ones_like(score)))
