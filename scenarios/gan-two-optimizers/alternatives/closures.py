bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        z = torch.randn(len(real), latent_dim)
        def close_d():
            optimizer_d.zero_grad()
            r, f = discriminator(real), discriminator(generator(z).detach())
            loss = bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
            loss.backward()
            nn.utils.clip_grad_norm_(discriminator.parameters(), 5.0)
            return loss
        def close_g():
            optimizer_g.zero_grad()
            s = discriminator(generator(z))
            loss = bce(s, torch.ones_like(s))
            loss.backward()
            nn.utils.clip_grad_norm_(generator.parameters(), 5.0)
            return loss
        optimizer_d.step(close_d)
        optimizer_g.step(close_g)
