import itertools

bce = nn.BCEWithLogitsLoss()
clip = torch.nn.utils.clip_grad_norm_


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def discriminator_step(real, noise):
    with torch.no_grad():
        fake = generator(noise)
    scores = discriminator(torch.cat([real, fake]))
    labels = torch.cat([torch.ones(len(real), 1), torch.zeros(len(fake), 1)]).view_as(scores)
    loss = 2 * bce(scores, labels)
    optimizer_d.zero_grad()
    loss.backward()
    optimizer_d.step()
    clip(discriminator.parameters(), max_norm=5.0)
    return loss.item()


def generator_step(noise):
    toggle(discriminator, False)
    score = discriminator(generator(noise))
    loss = bce(score, torch.ones_like(score))
    optimizer_g.zero_grad()
    loss.backward()
    clip(generator.parameters(), max_norm=5.0)
    optimizer_g.step()
    toggle(discriminator, True)
    return loss.item()


for epoch in range(num_epochs):
    for real, _ in train_loader:
        noise = torch.randn(len(real), latent_dim)
        loss_d = discriminator_step(real, noise)
        loss_g = generator_step(noise)
    print(f"epoch {epoch}: d {loss_d:.3f} g {loss_g:.3f}")
