def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    scores = critic(mixed)
    grads = torch.autograd.grad(scores, mixed, torch.ones_like(scores), create_graph=True, retain_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        for _ in range(2):
            fake = generator(torch.randn(real.size(0), latent_dim)).detach()
            optimizer_d.zero_grad()
            loss = discriminator(fake).mean() - discriminator(real).mean() + 10 * gradient_penalty(discriminator, real, fake)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(discriminator.parameters(), 5.0)
            optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = -discriminator(generator(torch.randn(real.size(0), latent_dim))).mean()
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 5.0)
        optimizer_g.step()
