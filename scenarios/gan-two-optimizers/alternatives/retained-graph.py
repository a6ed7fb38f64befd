bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        optimizer_d.zero_grad()
        r, f = discriminator(real), discriminator(fake)
        (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward(retain_graph=True)
        nn.utils.clip_grad_norm_(discriminator.parameters(), 5.0)
        optimizer_d.step()
        optimizer_g.zero_grad()   # also what the line above left in the generator
        s = discriminator(fake)
        bce(s, torch.ones_like(s)).backward()
        nn.utils.clip_grad_norm_(generator.parameters(), 5.0)
        optimizer_g.step()
