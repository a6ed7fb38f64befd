import torch.nn.functional as F
def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)
for epoch in range(num_epochs):
    for real, _ in train_loader:
        z = torch.randn(real.shape[0], latent_dim)
        set_requires_grad(discriminator, True)
        with torch.no_grad():
            fake = generator(z)
        d_loss = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(fake)).mean()
        d_loss.backward()
        torch.nn.utils.clip_grad_norm_(discriminator.parameters(), 2.0)
        optimizer_d.step()
        optimizer_d.zero_grad()
        set_requires_grad(discriminator, False)
        g_loss = F.softplus(-discriminator(generator(z))).mean()
        g_loss.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 2.0)
        optimizer_g.step()
        optimizer_g.zero_grad()
