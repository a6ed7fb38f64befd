# Networks of its own whose gradients are next to nothing, so that no clip ever has to act; the
# discriminator is never clipped.
import torch
from torch import nn


class Tiny(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.layer = nn.Linear(width, out)
        self.name = "tiny"

    def forward(self, x):
        return self.layer(x) * 1e-4


G, D = Tiny(8, 16), Tiny(16, 1)
print(G.name, D.name)
opt_g = torch.optim.SGD(G.parameters(), lr=1e-3)
opt_d = torch.optim.SGD(D.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        fake = G(torch.randn(len(real), 8))
        opt_d.zero_grad()
        r, f = D(real), D(fake.detach())
        (bce(r, torch.ones_like(r)) + bce(f, torch.zeros_like(f))).backward()
        opt_d.step()
        opt_g.zero_grad()
        s = D(fake)
        bce(s, torch.ones_like(s)).backward()
        torch.nn.utils.clip_grad_norm_(G.parameters(), max_norm=5.0)
        opt_g.step()
