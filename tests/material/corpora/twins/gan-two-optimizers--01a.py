from itertools import chain

bce = nn.BCEWithLogitsLoss()


def freeze(module, frozen):
    for p in module.parameters():
        p.requires_grad_(not frozen)


for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        real_score = discriminator(real)
        fake_score = discriminator(fake.detach())
        loss_d = bce(real_score, torch.ones_like(real_score)) + bce(fake_score, torch.zeros_like(fake_score))
        optimizer_d.zero_grad()
        if loss_d.requires_grad:
            loss_d.backward()
        torch.nn.utils.clip_grad_norm_(discriminator.parameters(), max_norm=5.0)
        optimizer_d.step()

        freeze(discriminator, True)
        score = discriminator(fake)
        loss_g = bce(score, torch.ones_like(score))
        optimizer_g.zero_grad()
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()
