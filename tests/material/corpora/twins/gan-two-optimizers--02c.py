bce = nn.BCEWithLogitsLoss()


def update(optimizer, loss, parameters, limit=5.0):
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, limit)
    optimizer.step()
    optimizer.zero_grad()


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        real_score, fake_score = discriminator(real), discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        update(optimizer_d, loss_d, discriminator.parameters())

        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        update(optimizer_g, loss_g, generator.parameters())
