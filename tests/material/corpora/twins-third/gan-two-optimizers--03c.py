bce = nn.BCEWithLogitsLoss()
nets = {"d": (discriminator, optimizer_d), "g": (generator, optimizer_g)}


def loss_for(turn, real, fake):
    if turn == "d":
        r, f = discriminator(real), discriminator(fake.detach())
        return bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
    s = discriminator(fake)
    return bce(s, torch.ones_like(s))


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        for turn, (net, opt) in nets.items():
            opt.zero_grad()
            loss_for(turn, real, fake).backward()
            nn.utils.clip_grad_norm_(list(net.parameters())[:2], max_norm=5.0)
            opt.step()
