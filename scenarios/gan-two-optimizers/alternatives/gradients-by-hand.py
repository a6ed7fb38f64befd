bce = nn.BCEWithLogitsLoss()
d_params, g_params = list(discriminator.parameters()), list(generator.parameters())
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        r, f = discriminator(real), discriminator(fake.detach())
        loss_d = bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))
        for p, g in zip(d_params, torch.autograd.grad(loss_d, d_params)):
            p.grad = g
        nn.utils.clip_grad_norm_(d_params, 5.0)
        optimizer_d.step()
        s = discriminator(fake)
        loss_g = bce(s, torch.ones_like(s))
        for p, g in zip(g_params, torch.autograd.grad(loss_g, g_params)):
            p.grad = g
        nn.utils.clip_grad_norm_(g_params, 5.0)
        optimizer_g.step()
