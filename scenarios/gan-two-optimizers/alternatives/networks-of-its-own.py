import torch
from torch import nn
class Generator(nn.Module):
    def __init__(self, latent_dim=32, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, out))
    def forward(self, z):
        return self.net(z)
class Discriminator(nn.Module):
    def __init__(self, inp=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inp, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    def forward(self, x):
        return self.net(x)
G, D = Generator(), Discriminator()
opt_G = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
for epoch in range(num_epochs):
    for real, _ in train_loader:
        b = real.size(0)
        fake = G(torch.randn(b, 32))
        opt_D.zero_grad()
        loss_D = bce(D(real), torch.ones(b, 1)) + bce(D(fake.detach()), torch.zeros(b, 1))
        loss_D.backward()
        torch.nn.utils.clip_grad_norm_(D.parameters(), 5.0)
        opt_D.step()
        opt_G.zero_grad()
        loss_G = bce(D(fake), torch.ones(b, 1))
        loss_G.backward()
        torch.nn.utils.clip_grad_norm_(G.parameters(), 5.0)
        opt_G.step()
