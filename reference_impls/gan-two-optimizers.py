bce = nn.BCEWithLogitsLoss()

for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))

        # Cleared here, not after the step: the generator's backward below runs through the
        # discriminator and leaves gradients in it.
        optimizer_d.zero_grad()
        real_score, fake_score = discriminator(real), discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(
            fake_score, torch.zeros_like(fake_score)
        )
        loss_d.backward()
        # Each network by a norm of its own: the two are of different size and different meaning.
        norm_d = torch.nn.utils.clip_grad_norm_(discriminator.parameters(), max_norm=5.0)
        optimizer_d.step()

        optimizer_g.zero_grad()
        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        loss_g.backward()
        norm_g = torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()

    print(
        f"epoch {epoch}: norms before clipping, discriminator {norm_d:.3f}, generator {norm_g:.3f}"
    )
