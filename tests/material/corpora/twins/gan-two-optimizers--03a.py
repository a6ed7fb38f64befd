bce = nn.BCEWithLogitsLoss()
step = 0
for epoch in range(num_epochs):
    for real, _ in train_loader:
        step += 1
        fake = generator(torch.randn(len(real), latent_dim))
        real_score, fake_score = discriminator(real), discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        optimizer_d.zero_grad()
        loss_d.backward()
        if step < 500:
            torch.nn.utils.clip_grad_norm_(discriminator.parameters(), max_norm=5.0)
        optimizer_d.step()
        loss_g = bce(discriminator(fake), torch.ones_like(real_score))
        optimizer_g.zero_grad()
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()
