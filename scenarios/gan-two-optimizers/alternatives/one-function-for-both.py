def clipped_step(loss, net, optimizer, max_norm=5.0):
    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), max_norm)
    optimizer.step()
    return norm
bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        rs, fs = discriminator(real), discriminator(fake.detach())
        d_norm = clipped_step(bce(rs, torch.ones_like(rs)) + bce(fs, torch.zeros_like(fs)), discriminator, optimizer_d)
        gs = discriminator(fake)
        g_norm = clipped_step(bce(gs, torch.ones_like(gs)), generator, optimizer_g)
