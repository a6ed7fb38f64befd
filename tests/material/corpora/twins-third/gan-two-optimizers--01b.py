from dataclasses import dataclass

bce = nn.BCEWithLogitsLoss()


@dataclass
class Player:
    net: nn.Module
    optimizer: torch.optim.Optimizer
    max_norm: float = 5.0

    def update(self, loss):
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), self.max_norm)
        self.optimizer.step()


def against(score, label):
    return bce(score, torch.full_like(score, float(label)))


d = Player(generator, optimizer_d)
g = Player(generator, optimizer_g)
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = generator(torch.randn(real.size(0), latent_dim))
        d.update(against(discriminator(real), 1) + against(discriminator(fake.detach()), 0))
        g.update(against(discriminator(fake), 1))
