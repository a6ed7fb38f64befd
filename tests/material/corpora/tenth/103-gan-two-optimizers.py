import torch
from torch import nn

bce = nn.BCEWithLogitsLoss()
max_norm = 5.0


def update(net, optimizer, loss):
    """Gradients for this network alone: backward(inputs=...) leaves the other one untouched."""
    optimizer.zero_grad()
    params = list(net.parameters())
    loss.backward(inputs=params)
    norm = nn.utils.clip_grad_norm_(params, max_norm)
    optimizer.step()
    return norm


for epoch in range(num_epochs):
    for real, _ in train_loader:
        noise = torch.randn(len(real), latent_dim)
        fake = generator(noise)

        on_real, on_fake = discriminator(real), discriminator(fake.detach())
        norm_d = update(
            discriminator,
            optimizer_d,
            bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake)),
        )
        score = discriminator(fake)
        norm_g = update(generator, optimizer_g, bce(score, torch.ones_like(score)))
    print(f"epoch {epoch}: d {norm_d:.3f} g {norm_g:.3f}")
