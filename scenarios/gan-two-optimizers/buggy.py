bce = nn.BCEWithLogitsLoss()

for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        # discriminator
        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        loss_d.backward()
        optimizer_d.step()
        optimizer_d.zero_grad()

        # generator
        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()
        optimizer_g.zero_grad()
