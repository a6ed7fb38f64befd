# Each network: clear right before its own backward, clip its own gradient, step.
# The generator's pass freezes the discriminator, so that it leaves nothing behind there.
from contextlib import contextmanager

bce = nn.BCEWithLogitsLoss()
MAX_NORM = {"discriminator": 5.0, "generator": 5.0}


@contextmanager
def frozen(network):
    network.requires_grad_(False)
    try:
        yield
    finally:
        network.requires_grad_(True)


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        optimizer_d.zero_grad()
        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        loss_d.backward()
        torch.nn.utils.clip_grad_norm_(discriminator.parameters(), MAX_NORM["discriminator"])
        optimizer_d.step()

        optimizer_g.zero_grad()
        with frozen(discriminator):
            score = discriminator(fake)
            loss_g = bce(score, torch.ones_like(score))
            loss_g.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), MAX_NORM["generator"])
        optimizer_g.step()
